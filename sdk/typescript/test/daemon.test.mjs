// Against the real Ostler: OSTLER_BIN=target/debug/ostler npm test
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { BINARY, RealOstler } from "./real-ostler.mjs";

const skip = BINARY ? false : "OSTLER_BIN names no Ostler to test against";
const BEATS = 'heartbeat = { interval = "100ms", timeout = "10s", misses = 100 }';

describe("an app under the real Ostler", { skip, timeout: 120_000 }, () => {
  let ostler;

  beforeEach(() => {
    ostler = new RealOstler();
  });

  afterEach(() => ostler.stop());

  test("is set up, ready, beats, and is taken down", async () => {
    await ostler.up("plain", `${BEATS}\nconfig = { level = 1 }`);
    const info = await ostler.info();
    assert.equal(info.state, "ready");
    const first = await ostler.until("a heartbeat", async () => (await ostler.info()).lastHeartbeat);
    await ostler.until("another", async () => (await ostler.info()).lastHeartbeat > first);
    assert.deepEqual((await ostler.info()).health, { status: "healthy" });
    await ostler.call("stop", "a");
    assert.equal((await ostler.info()).state, "stopped");
    assert.equal(await ostler.log(), 'setup {"level":1}\nteardown\n');
  });

  test("gets changes of its configuration", async () => {
    await ostler.up("plain", `${BEATS}\nconfig = { level = 1 }`);
    const { pid } = await ostler.info();
    ostler.declare("plain", `${BEATS}\nconfig = { level = 2 }`);
    await ostler.call("reload");
    await ostler.until("the news", async () => (await ostler.log()).includes('config {"level":2}'));
    assert.equal((await ostler.info()).pid, pid);
  });

  test("reconnects when the supervisor is killed, and is not restarted", async () => {
    await ostler.up("plain", BEATS);
    const { pid } = await ostler.info();
    const before = Date.now();
    await ostler.killSupervisor();
    await ostler.until("a heartbeat", async () => {
      const { lastHeartbeat } = await ostler.info().catch(() => ({}));
      return lastHeartbeat > before;
    });
    const info = await ostler.info();
    assert.deepEqual([info.pid, info.restartCount, info.state], [pid, 0, "ready"]);
    await ostler.call("stop", "a");
    assert.match(await ostler.log(), /teardown/);
  });

  test("ends by its own will, and Ostler knows why", async () => {
    ostler.declare("ownWill", `${BEATS}\nrestart = { when = "on-failure" }`);
    await ostler.call("up", "--no-wait");
    await ostler.operator.connect();
    await ostler.until("its end", async () => (await ostler.call("why", "a")).includes("all done"));
    await ostler.until("its end", async () => (await ostler.info()).pid === null);
    assert.equal((await ostler.info()).state, "stopped");
  });

  test("that cannot be set up fails with its exit code", async () => {
    const once = 'restart = { limit = { count = 1, window = "1m" } }';
    await assert.rejects(ostler.up("badSetup", `${BEATS}\n${once}`));
    await ostler.operator.connect();
    const info = await ostler.info();
    assert.equal(info.state, "error");
    assert.match(info.lastError, /exit 1/);
    assert.match(await ostler.log(), /no database/);
  });
});
