import assert from "node:assert/strict";
import { test } from "node:test";
import { Backoff } from "../dist/backoff.js";
import { Pulse } from "../dist/pulse.js";
import { decode, encode, LineSplitter, MAX_LINE } from "../dist/wire.js";

test("a character torn apart between chunks is whole again", () => {
  const bytes = Buffer.from('{"a":"grün 🐎"}\n{"b":1}\n{"c"');
  const splitter = new LineSplitter();
  const lines = [...bytes].flatMap((byte) => splitter.push(Buffer.from([byte])));
  assert.deepEqual(lines.map(String), ['{"a":"grün 🐎"}', '{"b":1}']);
});

test("several lines in one chunk keep their order", () => {
  const lines = new LineSplitter().push(Buffer.from("1\n2\n\n3\n4"));
  assert.deepEqual(lines.map(String), ["1", "2", "", "3"]);
});

test("a peer that never ends its line is given up", () => {
  const splitter = new LineSplitter();
  const mebibyte = Buffer.alloc(1024 * 1024, "x");
  for (let n = 0; n < 16; n++) splitter.push(mebibyte);
  assert.throws(() => splitter.push(mebibyte), { code: "BAD_ANSWER" });
});

test("the longest line is let through and one byte more is not", () => {
  const bare = encode("1", "m", { text: "" }).length;
  assert.equal(encode("1", "m", { text: "x".repeat(MAX_LINE - bare) }).length, MAX_LINE);
  assert.throws(() => encode("1", "m", { text: "x".repeat(MAX_LINE - bare + 1) }), {
    code: "LINE_TOO_LONG",
    message: /262145 bytes; at most 262144/,
  });
});

test("what is no message is none", () => {
  for (const line of ["", "{", "null", "[]", "7", '{"type":"response"}', '{"type":"event"}', "\xff"]) {
    assert.equal(decode(Buffer.from(line, "latin1")), undefined, line);
  }
});

test("an error without a code is an internal one", () => {
  const message = decode(Buffer.from('{"type":"response","requestId":"1","success":false}'));
  assert.equal(message.error.code, "INTERNAL_ERROR");
});

test("the backoff goes from 100 ms to 5 s and begins again after a connection that lasted", () => {
  const backoff = new Backoff();
  const delays = Array.from({ length: 8 }, () => backoff.next());
  assert.deepEqual(delays, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
  backoff.settle(10);
  assert.equal(backoff.next(), 5000);
  backoff.settle(60_000);
  assert.equal(backoff.next(), 100);
});

test("a busy declaration is repeated until it is over or taken back", () => {
  const pulse = new Pulse();
  pulse.busyFor(60_000);
  const { busyFor } = pulse.params();
  assert.ok(busyFor > 59_000 && busyFor <= 60_000);
  pulse.report({ status: "degraded" });
  assert.ok(pulse.params().busyFor > 59_000);
  pulse.busyFor(0);
  assert.deepEqual(pulse.params(), { status: { status: "degraded" } });
  for (const ms of [-1, NaN, 3_600_001]) assert.throws(() => pulse.busyFor(ms), RangeError);
});
