import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { FakeKernel, MANIFEST } from "./fake-kernel.mjs";

const FIXTURE = fileURLToPath(new URL("fixture-app.mjs", import.meta.url));

describe("an app", { timeout: 30_000 }, () => {
  let kernel;
  let child;
  let output;

  beforeEach(async () => {
    kernel = await FakeKernel.start();
  });

  afterEach(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill("SIGKILL");
      await once(child, "close");
    }
    await kernel.stop();
  });

  function start(kind, env = { OPENCLAWOS_SOCKET: kernel.path }) {
    output = "";
    child = spawn(process.execPath, [FIXTURE, kind], {
      cwd: kernel.folder,
      env: { PATH: process.env.PATH, ...env },
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8");
      stream.on("data", (text) => {
        output += text;
        child.emit("said");
      });
    }
  }

  async function said(text) {
    while (!output.includes(text)) await once(child, "said");
  }

  async function exitCode() {
    const [code] = await once(child, "close");
    return code;
  }

  test("is registered, set up, ready, and torn down on request", async () => {
    start("plain", { OPENCLAWOS_KERNEL_SOCKET: kernel.path, OPENCLAWOS_LAUNCH_SECRET: "s3cret" });
    assert.equal((await kernel.next("app.register")).params.secret, "s3cret");
    await kernel.next("app.ready");
    kernel.event("shutdown", { timeout: 5000, reason: "stop" });
    assert.equal(await exitCode(), 0);
    assert.equal(output, "setup {}\nteardown\n");
    assert.ok(kernel.requests.every(({ method }) => method !== "app.shutdown"));
  });

  test("reads its manifest from the working directory", async () => {
    writeFileSync(join(kernel.folder, "openclawos.manifest.json"), JSON.stringify(MANIFEST));
    start("noManifest");
    assert.deepEqual((await kernel.next("app.register")).params.manifest, MANIFEST);
  });

  test("fails without a manifest", async () => {
    start("noManifest");
    assert.equal(await exitCode(), 1);
    assert.match(output, /openclawos\.manifest\.json.*BAD_MANIFEST/);
  });

  test("names the remedy when Ostler does not run it", async () => {
    start("plain", {});
    assert.equal(await exitCode(), 1);
    assert.match(output, /OPENCLAWOS_SOCKET is not set.*ostler up/);
  });

  for (const signal of ["SIGTERM", "SIGINT"]) {
    test(`is taken down by ${signal}, and reports it to Ostler`, async () => {
      start("plain");
      await kernel.next("app.ready");
      child.kill(signal);
      assert.equal(await exitCode(), 0);
      assert.match(output, /teardown/);
      assert.equal((await kernel.next("app.shutdown")).params.reason, signal);
    });
  }

  test("fails when it cannot be set up, and never was ready", async () => {
    start("badSetup");
    assert.equal(await exitCode(), 1);
    assert.match(output, /no database/);
    assert.ok(kernel.requests.every(({ method }) => method !== "app.ready"));
  });

  test("fails when it cannot be taken down", async () => {
    start("badTeardown");
    await kernel.next("app.ready");
    kernel.event("shutdown", { timeout: 5000, reason: "stop" });
    assert.equal(await exitCode(), 1);
    assert.match(output, /cannot flush/);
  });

  test("fails when it is not taken down in time", async () => {
    start("slowTeardown");
    await kernel.next("app.ready");
    kernel.event("shutdown", { timeout: 100, reason: "stop" });
    assert.equal(await exitCode(), 1);
    assert.match(output, /not down within 95 ms/);
  });

  test("that is stopped during setup finishes it first, and is not ready", async () => {
    start("slowSetup");
    await said("setup begins");
    kernel.event("shutdown", { timeout: 20_000, reason: "stop" });
    kernel.event("config", { config: { seen: true }, version: 2 });
    await said('config {"seen":true}');
    child.kill("SIGUSR2");
    assert.equal(await exitCode(), 0);
    assert.match(output, /setup ends\nteardown/);
    assert.ok(kernel.requests.every(({ method }) => method !== "app.ready"));
  });

  test("can exit by itself, and reports its status", async () => {
    start("ownWill");
    assert.equal(await exitCode(), 0);
    assert.ok((await kernel.next("app.heartbeat")).params.busyFor > 0);
    const { params } = await kernel.next("app.heartbeat");
    assert.deepEqual(params.status, { status: "degraded", queue: 3 });
    assert.equal((await kernel.next("app.shutdown")).params.reason, "all done");
  });

  test("sends heartbeats by itself, at the interval it was given", async () => {
    kernel.interval = 20;
    start("plain");
    for (let n = 0; n < 3; n++) {
      const { params } = await kernel.next("app.heartbeat");
      assert.deepEqual(params, { status: { status: "healthy" } });
    }
  });

  test("takes the interval from its environment where the answer has none", async () => {
    kernel.interval = undefined;
    start("plain", { OPENCLAWOS_SOCKET: kernel.path, OSTLER_HEARTBEAT_MS: "20" });
    await kernel.next("app.heartbeat");
  });

  test("outlives Ostler, and learns what changed meanwhile", async () => {
    start("plain");
    await kernel.next("app.ready");
    await kernel.die();
    await said("was lost");
    kernel.token = "token-2";
    kernel.answers["config.get"] = () => ({ config: { level: 2 }, version: 2 });
    await kernel.listen();
    await kernel.next("app.ready");
    await said('config {"level":2} 2');
    kernel.event("shutdown", { timeout: 5000, reason: "stop" });
    assert.equal(await exitCode(), 0);
  });

  test("is not ended by a configuration it cannot use", async () => {
    start("badConfig");
    await kernel.next("app.ready");
    kernel.event("config", { config: {}, version: 2 });
    await said("cannot use it");
    kernel.event("shutdown", { timeout: 5000, reason: "stop" });
    assert.equal(await exitCode(), 0);
  });

  test("works on when it is superseded, until a signal ends it", async () => {
    start("plain");
    await kernel.next("app.ready");
    const gone = once(kernel, "gone");
    kernel.event("superseded", {});
    await Promise.all([gone, said("taken over")]);
    child.kill("SIGTERM");
    assert.equal(await exitCode(), 0);
    assert.match(output, /teardown/);
  });

  test("needs no class", async () => {
    start("hooks");
    await kernel.next("app.ready");
    kernel.event("shutdown", { timeout: 5000, reason: "stop" });
    assert.equal(await exitCode(), 0);
    assert.equal(output, "setup\nteardown\n");
  });
});
