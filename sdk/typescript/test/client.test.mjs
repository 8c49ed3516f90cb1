import assert from "node:assert/strict";
import { once } from "node:events";
import { afterEach, beforeEach, describe, test } from "node:test";
import { KernelClient } from "../dist/index.js";
import { FakeKernel, MANIFEST, refusal } from "./fake-kernel.mjs";

const { SILENT } = FakeKernel;

describe("the client", { timeout: 20_000 }, () => {
  let kernel;
  let client;

  beforeEach(async () => {
    kernel = await FakeKernel.start();
    client = new KernelClient({ socket: kernel.path, secret: "s3cret" });
  });

  afterEach(async () => {
    await client.close();
    await kernel.stop();
  });

  async function registered() {
    await client.connect();
    return client.register(MANIFEST);
  }

  test("registers with the secret and only the requested fields of the manifest", async () => {
    await client.connect();
    const registration = await client.register({ ...MANIFEST, main: "index.mjs" });
    assert.equal(registration.token, "token-1");
    assert.equal(registration.heartbeatInterval, 30_000);
    const { params, token, type } = await kernel.next("app.register");
    assert.deepEqual(params, { manifest: MANIFEST, secret: "s3cret" });
    assert.equal(token, undefined);
    assert.equal(type, "request");
  });

  test("carries the token in each later call", async () => {
    await registered();
    await client.ready({ port: 1 });
    await client.shutdownNotice({ reason: "done" });
    assert.deepEqual(await client.config(), { config: {}, version: 1 });
    const ready = await kernel.next("app.ready");
    assert.equal(ready.token, "token-1");
    assert.deepEqual(ready.params, { metadata: { port: 1 } });
    assert.deepEqual((await kernel.next("app.shutdown")).params, { reason: "done" });
  });

  test("rejects with the code, message and details of a refusal", async () => {
    kernel.answers["x.y"] = () => {
      throw refusal("FORBIDDEN", { why: "not yours" });
    };
    await client.connect();
    await assert.rejects(client.request("x.y"), {
      name: "KernelError",
      code: "FORBIDDEN",
      message: "x.y: refused with FORBIDDEN",
      details: { why: "not yours" },
    });
  });

  test("gives up a call that is not answered, and ignores the late answer", async () => {
    let late;
    kernel.answers["x.slow"] = (request, socket) => {
      late = () => socket.write(`{"type":"response","requestId":"${request.id}","success":true}\n`);
      return SILENT;
    };
    kernel.answers["x.fast"] = () => "fast";
    await client.connect();
    await assert.rejects(client.request("x.slow", {}, { timeout: 20 }), { code: "TIMEOUT" });
    late();
    assert.equal(await client.request("x.fast"), "fast");
  });

  test("matches answers that come in another order", async () => {
    const waiting = [];
    kernel.answers["x.n"] = (request) => {
      waiting.push(request);
      return SILENT;
    };
    await client.connect();
    const calls = [1, 2, 3].map((n) => client.request("x.n", { n }));
    for (let n = 0; n < 3; n++) await kernel.next("x.n");
    const [socket] = kernel.clients;
    for (const { id, params } of waiting.reverse()) {
      const answer = { type: "response", requestId: id, success: true, result: params.n };
      socket.write(`${JSON.stringify(answer)}\n`);
    }
    assert.deepEqual(await Promise.all(calls), [1, 2, 3]);
  });

  test("lives on when Ostler sends garbage", async () => {
    await registered();
    const warned = once(client, "warning");
    const [socket] = kernel.clients;
    socket.write(Buffer.concat([Buffer.from('\n{"type":\n[1]\n'), Buffer.from([0xff, 0xfe, 10])]));
    assert.match((await warned)[0], /no message/);
    await client.heartbeat();
  });

  test("reports a refusal that belongs to no call", async () => {
    await client.connect();
    const warned = once(client, "warning");
    const [socket] = kernel.clients.size ? kernel.clients : await once(kernel, "connection");
    const error = { code: "CONFLICT", message: "too many connections" };
    socket.write(`${JSON.stringify({ type: "response", requestId: "", success: false, error })}\n`);
    assert.match((await warned)[0], /too many connections \(CONFLICT\)/);
  });

  test("refuses a line that is too long, and only that", async () => {
    await registered();
    const text = "x".repeat(256 * 1024);
    await assert.rejects(client.request("x.big", { text }), { code: "LINE_TOO_LONG" });
    await client.heartbeat();
  });

  test("resumes with the token on a new connection", async () => {
    await registered();
    await client.heartbeat({ status: { status: "degraded" }, busyFor: 60_000 });
    await kernel.next("app.heartbeat");
    const resumed = once(client, "resumed");
    kernel.drop();
    await resumed;
    const { params, token } = await kernel.next("app.heartbeat");
    assert.equal(token, "token-1");
    assert.deepEqual(params.status, { status: "degraded" });
    assert.ok(params.busyFor > 50_000, "the busy declaration is not taken back");
    assert.equal(kernel.requests.filter(({ method }) => method === "app.register").length, 1);
  });

  test("registers again, and is ready again, when the token is unknown", async () => {
    await registered();
    await client.ready({ port: 1 });
    await kernel.next("app.register");
    await kernel.next("app.ready");
    const resumed = once(client, "resumed");
    await kernel.die();
    kernel.token = "token-2";
    await kernel.listen();
    await resumed;
    await kernel.next("app.register");
    const ready = await kernel.next("app.ready");
    assert.equal(ready.token, "token-2");
    assert.deepEqual(ready.params, { metadata: { port: 1 } });
    await client.config();
  });

  test("registers again when a heartbeat finds the token forgotten", async () => {
    await registered();
    await kernel.next("app.register");
    kernel.token = "token-2";
    await client.heartbeat();
    await kernel.next("app.register");
    await client.config();
  });

  test("survives a connection that is lost in the middle of a line", async () => {
    kernel.answers["app.heartbeat"] = (request, socket) => {
      kernel.answers["app.heartbeat"] = () => ({ ok: true, serverTime: 5 });
      socket.end('{"type":"response","requestId":"');
      return SILENT;
    };
    await registered();
    assert.deepEqual(await client.heartbeat(), { ok: true, serverTime: 5 });
  });

  test("sends again what is idempotent, and only that", async () => {
    let first = true;
    kernel.answers["app.ready"] = () => (first ? SILENT : { ok: true });
    kernel.answers["x.once"] = () => SILENT;
    await registered();
    const ready = client.ready();
    const other = client.request("x.once");
    await kernel.next("x.once");
    first = false;
    kernel.drop();
    await assert.rejects(other, { code: "CONNECTION_LOST", message: /may have been done/ });
    await ready;
    assert.ok(kernel.requests.every(({ method }) => method !== "x.once"));
  });

  test("sends a registration again that was never answered", async () => {
    const answer = kernel.answers["app.register"];
    kernel.answers["app.register"] = (request, socket) => {
      kernel.answers["app.register"] = answer;
      socket.destroy();
      return SILENT;
    };
    assert.equal((await registered()).token, "token-1");
  });

  test("keeps calls made without a connection until there is one", async () => {
    kernel.answers["x.once"] = () => "done";
    await registered();
    const disconnected = once(client, "disconnected");
    await kernel.die();
    await disconnected;
    const call = client.request("x.once");
    await kernel.listen();
    assert.equal(await call, "done");
  });

  test("retries when resuming is refused", async () => {
    await registered();
    let refusals = 2;
    const beat = kernel.answers["app.heartbeat"];
    kernel.answers["app.heartbeat"] = (request) => {
      if (refusals-- > 0) throw refusal("INTERNAL_ERROR");
      return beat(request);
    };
    const warnings = [];
    client.on("warning", (message) => warnings.push(message));
    const resumed = once(client, "resumed");
    kernel.drop();
    await resumed;
    assert.equal(warnings.length, 1, "the same reason is reported once");
  });

  test("gives up a connection on which resuming is not answered", async () => {
    await client.close();
    client = new KernelClient({ socket: kernel.path, requestTimeout: 400 });
    await registered();
    const beat = kernel.answers["app.heartbeat"];
    kernel.answers["app.heartbeat"] = () => {
      kernel.answers["app.heartbeat"] = beat;
      return SILENT;
    };
    const warned = once(client, "warning");
    const resumed = once(client, "resumed");
    kernel.drop();
    assert.match((await warned)[0], /app\.heartbeat was not answered within 400 ms \(TIMEOUT\)/);
    await resumed;
    await client.config();
  });

  test("does not reconnect once it is superseded", async () => {
    kernel.answers["x.wait"] = () => SILENT;
    await registered();
    const call = client.request("x.wait");
    await kernel.next("x.wait");
    const gone = once(kernel, "gone");
    const superseded = once(client, "superseded");
    let connections = 0;
    kernel.on("connection", () => connections++);
    kernel.event("superseded", {});
    await assert.rejects(call, { code: "SUPERSEDED" });
    await Promise.all([superseded, gone]);
    await assert.rejects(client.heartbeat(), { code: "CLOSED" });
    assert.equal(connections, 0);
  });

  test("emits the events that it receives", async () => {
    await registered();
    const received = [];
    for (const name of ["shutdown", "config"]) client.on(name, (payload) => received.push(payload));
    const last = new Promise((resolve) => client.on("event", (name) => name === "news" && resolve()));
    kernel.event("shutdown", { timeout: 7, reason: "stop" });
    kernel.event("config", { config: { a: "ä" }, version: 2 });
    kernel.event("news", {});
    await last;
    assert.deepEqual(received, [
      { timeout: 7, reason: "stop" },
      { config: { a: "ä" }, version: 2 },
    ]);
  });

  test("waits a little for an Ostler that is about to come", async () => {
    await kernel.die();
    const connected = client.connect();
    await kernel.listen();
    await connected;
  });

  test("names the socket that it could not connect to", async () => {
    const path = `${kernel.path}.none`;
    const lonely = new KernelClient({ socket: path, connectTimeout: 50 });
    await assert.rejects(lonely.connect(), { code: "CONNECT_FAILED", message: /socket\.none.*ENOENT/ });
  });

  test("refuses what is open when it is closed, and ends a reconnection", async () => {
    await registered();
    const disconnected = once(client, "disconnected");
    await kernel.die();
    await disconnected;
    const call = client.request("x.never");
    await Promise.all([assert.rejects(call, { code: "CLOSED" }), client.close()]);
  });
});
