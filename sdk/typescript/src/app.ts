import type { Configuration } from "./answers.js";
import { KernelClient } from "./client.js";
import { loadManifest, type Manifest } from "./environment.js";
import { KernelError, messageOf } from "./errors.js";
import { Heart } from "./heart.js";
import { outputLog, type Log } from "./log.js";
import type { StatusReport } from "./pulse.js";
import { StopRequest, type Stop } from "./stop.js";
import type { Params } from "./wire.js";

/**
 * A program that Ostler runs as an app. Subclasses say how to set it up and how to take it down; `run()`
 * does the rest, from the registration to the exit code.
 */
export abstract class OpenClawApp {
  /** How long `teardown` may take when a signal, and not Ostler, asks for the end. */
  protected readonly shutdownTimeout: number = 5_000;
  protected readonly log: Log = outputLog;

  readonly #source: Manifest | string | undefined;
  readonly #stop = new StopRequest();
  #client: KernelClient | undefined;
  #configuration: Configuration = { config: {}, version: undefined };
  #setup: "not begun" | "begun" | "done" = "not begun";

  /** The manifest or its path; by default `openclawos.manifest.json` in the working directory. */
  constructor(manifest?: Manifest | string) {
    this.#source = manifest;
  }

  /** Gets everything ready. The app counts as ready when it is done. */
  protected async setup(): Promise<void> {}

  /** Cleans up; the process exits when it is done. */
  protected async teardown(): Promise<void> {}

  /** The configuration has changed; `config` already is the new one. */
  protected onConfig(_config: Params, _version: unknown): void | Promise<void> {}

  /** The app's configuration, from before `setup` on. */
  get config(): Params {
    return this.#configuration.config;
  }

  /** The connection to Ostler, from before `setup` on. */
  protected get kernel(): KernelClient {
    if (this.#client) return this.#client;
    throw new KernelError("CLOSED", "the app does not run yet: run() comes first");
  }

  /** Declares that the app may be silent for that long. Await it before you block; 0 takes it back. */
  async busyFor(ms: number): Promise<void> {
    await this.kernel.heartbeat({ busyFor: ms });
  }

  /** Reports the app's status, now and with each further heartbeat. */
  async status(report: StatusReport): Promise<void> {
    await this.kernel.heartbeat({ status: report });
  }

  /** Ends the app, in the same way as a stop request does. */
  stop(reason: string): void {
    this.#stop.ask({ reason, timeout: this.shutdownTimeout, ownWill: true });
  }

  /** Runs the app until a stop request, and then exits: with 0, or 1 if anything failed. */
  async run(): Promise<void> {
    // Without a connection nothing else may keep the process alive.
    const alive = setInterval(() => {}, 0x7fffffff);
    let code = 1;
    try {
      await this.#live();
      code = 0;
    } catch (error) {
      const stack = error instanceof Error && !(error instanceof KernelError) && error.stack;
      this.log.error(stack || messageOf(error));
    }
    clearInterval(alive);
    process.exit(code);
  }

  async #live(): Promise<void> {
    const client = new KernelClient();
    const manifest = loadManifest(this.#source);
    const heart = new Heart(client, (message) => this.log.warn(message));
    this.#client = client;
    this.#listen(client);
    try {
      const started = this.#start(client, manifest);
      const stop = await Promise.race([this.#stop.asked, started.then(() => this.#stop.asked)]);
      await this.#finish(client, stop, started);
    } finally {
      heart.stop();
      await client.close();
    }
  }

  #listen(client: KernelClient): void {
    client.on("shutdown", ({ timeout = this.shutdownTimeout, reason = "shutdown" }) => {
      this.#stop.ask({ reason, timeout, ownWill: false });
    });
    this.#stop.onSignals(() => this.shutdownTimeout);
    client.on("config", (configuration) => this.#configure(configuration));
    client.on("resumed", () => {
      this.log.warn("connected to Ostler again");
      void this.#catchUp(client);
    });
    client.on("disconnected", () => this.log.warn("the connection to Ostler was lost; reconnecting"));
    client.on("superseded", () => this.log.warn("another connection of this app has taken over"));
    client.on("warning", (message) => this.log.warn(message));
  }

  async #start(client: KernelClient, manifest: Manifest): Promise<void> {
    await client.connect();
    await client.register(manifest);
    this.#configuration = await configOf(client);
    if (this.#stop.isAsked) return;
    this.#setup = "begun";
    await this.setup();
    this.#setup = "done";
    if (!this.#stop.isAsked) await client.ready();
  }

  async #finish(client: KernelClient, stop: Stop, started: Promise<void>): Promise<void> {
    if (this.#setup === "not begun") {
      // There is nothing to clean up, and the result of the start has no effect any more.
      started.catch(() => {});
      return;
    }
    if (stop.ownWill) {
      const { reason, timeout } = stop;
      client.shutdownNotice({ reason, timeout }).catch(() => {});
    }
    // The process is killed at the timeout: shortly before, it can still report why.
    const timeout = stop.timeout * 0.95;
    await within(timeout, async () => {
      await started;
      await this.teardown();
    });
  }

  /** A change while the connection was lost was not reported. */
  async #catchUp(client: KernelClient): Promise<void> {
    try {
      this.#configure(await configOf(client));
    } catch (error) {
      this.log.warn(`could not get the configuration: ${messageOf(error)}`);
    }
  }

  #configure(configuration: Configuration): void {
    if (configuration.version === this.#configuration.version) return;
    this.#configuration = configuration;
    const { config, version } = configuration;
    Promise.resolve()
      .then(() => this.onConfig(config, version))
      .catch((error: unknown) => this.log.error(`onConfig failed: ${messageOf(error)}`));
  }
}

/** An app that has no configuration has an empty one. */
async function configOf(client: KernelClient): Promise<Configuration> {
  try {
    return await client.config();
  } catch (error) {
    const none = ["NOT_FOUND", "METHOD_NOT_FOUND"];
    if (!(error instanceof KernelError && none.includes(error.code))) throw error;
    return { config: {}, version: undefined };
  }
}

async function within(ms: number, work: () => Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const what = `the app was not down within ${Math.round(ms)} ms`;
    timer = setTimeout(() => reject(new KernelError("TIMEOUT", what)), ms);
  });
  await Promise.race([work(), late]).finally(() => clearTimeout(timer));
}
