// The real Ostler, in a home of its own, with one app.
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { KernelClient } from "../dist/index.js";
import { MANIFEST } from "./fake-kernel.mjs";

const run = promisify(execFile);
const FIXTURE = fileURLToPath(new URL("fixture-app.mjs", import.meta.url));
const PATIENCE = 30_000;

export const BINARY = process.env.OSTLER_BIN;

export class RealOstler {
  folder = mkdtempSync(join(tmpdir(), "ostler-sdk-"));
  home = join(this.folder, "h");
  env = { ...process.env, OSTLER_HOME: this.home, OSTLER_WAIT_MS: "50" };
  operator = new KernelClient({ socket: join(this.home, "kernel.sock") });

  /** The keys of the unit besides its manifest. */
  declare(kind, more = "") {
    mkdirSync(join(this.folder, "app"), { recursive: true });
    const manifest = { ...MANIFEST, command: [process.execPath, FIXTURE, kind] };
    writeFileSync(join(this.folder, "app", "openclawos.manifest.json"), JSON.stringify(manifest));
    writeFileSync(join(this.folder, "ostler.toml"), `[units.a]\nmanifest = "app"\n${more}\n`);
  }

  async call(...words) {
    const { stdout } = await run(BINARY, words, { cwd: this.folder, env: this.env });
    return stdout;
  }

  async up(kind, more) {
    this.declare(kind, more);
    await this.call("up");
    await this.operator.connect();
  }

  info() {
    return this.operator.request("apps.info", { packageId: MANIFEST.id });
  }

  /** Asks until it is so. */
  async until(what, look) {
    const end = Date.now() + PATIENCE;
    for (;;) {
      const found = await look();
      if (found) return found;
      if (Date.now() > end) throw new Error(`waited without success: ${what}`);
      await delay(10);
    }
  }

  log() {
    return this.call("logs", "a");
  }

  async killSupervisor() {
    const { supervisorPid } = JSON.parse(await this.call("status", "--json"));
    process.kill(supervisorPid, "SIGKILL");
  }

  async stop() {
    await this.operator.close();
    await this.call("--no-start", "stop").catch(() => {});
    rmSync(this.folder, { recursive: true });
  }
}
