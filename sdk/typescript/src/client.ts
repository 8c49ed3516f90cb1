import { EventEmitter } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { configurationOf, registrationOf, type Configuration, type Registration } from "./answers.js";
import { Backoff } from "./backoff.js";
import { Calls, type Call } from "./calls.js";
import { Connection } from "./connection.js";
import { launchSecret, socketPath, type Manifest } from "./environment.js";
import { isForgotten, KernelError, messageOf } from "./errors.js";
import { Pulse, type HeartbeatReport } from "./pulse.js";
import { encode, type Event, type Params, type Response } from "./wire.js";

export interface ClientOptions {
  /** By default what `OPENCLAWOS_SOCKET` says. */
  socket?: string;
  /** By default what `OPENCLAWOS_LAUNCH_SECRET` says. */
  secret?: string;
  connectTimeout?: number;
  requestTimeout?: number;
}

export interface Shutdown {
  timeout: number | undefined;
  reason: string | undefined;
}

export interface ClientEvents {
  shutdown: [Shutdown];
  config: [Configuration];
  superseded: [];
  /** Every event, also one this version has no name for. */
  event: [name: string, payload: Params];
  registered: [Registration];
  disconnected: [];
  resumed: [];
  warning: [message: string];
}

/** They change nothing when they are done twice, and so may be sent again on the next connection. */
const IDEMPOTENT = new Set(["app.register", "app.ready", "app.heartbeat", "config.get"]);

/**
 * An app's side of the socket.
 *
 *   idle ── connect() ──▶ open ◀──────── resumed ────────┐
 *                          └── lost ──▶ reconnecting ────┘      any ── close(), superseded ──▶ closed
 *
 * While it reconnects, calls wait. The first thing on a new connection is a heartbeat with the token: it
 * proves the token and makes this the connection that gets the events. Where the token is no longer known
 * the app is registered again, and reported ready again if it was.
 */
export class KernelClient extends EventEmitter<ClientEvents> {
  readonly #socket: string;
  readonly #secret: string | undefined;
  readonly #connectTimeout: number;
  readonly #requestTimeout: number;

  #phase: "idle" | "open" | "reconnecting" | "closed" = "idle";
  #connection: Connection | undefined;
  #openSince = 0;
  readonly #calls = new Calls();
  readonly #backoff = new Backoff();
  readonly #closing = new AbortController();

  readonly #pulse = new Pulse();
  #manifest: Manifest | undefined;
  #token: string | undefined;
  #readiness: Params | undefined;

  constructor(options: ClientOptions = {}) {
    super();
    this.#socket = options.socket ?? socketPath();
    this.#secret = options.secret ?? launchSecret();
    this.#connectTimeout = options.connectTimeout ?? 5_000;
    this.#requestTimeout = options.requestTimeout ?? 30_000;
  }

  /** Tries until the connect timeout is over, since Ostler may be in the middle of its own restart. */
  async connect(): Promise<void> {
    if (this.#phase !== "idle") throw new KernelError("CONFLICT", "connect() was called before");
    const end = performance.now() + this.#connectTimeout;
    const backoff = new Backoff();
    for (;;) {
      try {
        await this.#dial(end - performance.now());
        break;
      } catch (error) {
        const delay = backoff.next();
        if (this.#isClosed() || performance.now() + delay >= end) throw error;
        await this.#pause(delay);
      }
    }
    this.#open();
  }

  async register(manifest: Manifest): Promise<Registration> {
    const registration = await this.#register(manifest, false);
    this.#manifest = manifest;
    return registration;
  }

  async ready(metadata?: Params): Promise<void> {
    const params = metadata ? { metadata } : {};
    await this.request("app.ready", params);
    this.#readiness = params;
  }

  /** What the report leaves out is repeated from the last one, with what is left of its busy time. */
  async heartbeat(report: HeartbeatReport = {}): Promise<{ serverTime: number }> {
    if (report.status) this.#pulse.report(report.status);
    if (report.busyFor !== undefined) this.#pulse.busyFor(report.busyFor);
    return (await this.#beat(false)) as { serverTime: number };
  }

  /** Announces that the app will exit by itself. */
  async shutdownNotice(notice: { reason?: string; timeout?: number } = {}): Promise<void> {
    await this.request("app.shutdown", { ...notice });
  }

  async config(): Promise<Configuration> {
    return configurationOf(await this.request("config.get"));
  }

  /** Any method. A call that is `idempotent` is sent again when its connection is lost. */
  request(
    method: string,
    params: Params = {},
    options: { timeout?: number; idempotent?: boolean } = {},
  ): Promise<unknown> {
    return this.#call(method, params, false, options);
  }

  /** What was sent before still arrives; what has no answer yet is refused. */
  async close(): Promise<void> {
    await this.#end("CLOSED", "the client was closed");
  }

  #call(
    method: string,
    params: Params,
    urgent: boolean,
    options: { timeout?: number; idempotent?: boolean } = {},
  ): Promise<unknown> {
    if (this.#phase === "idle" || this.#isClosed()) {
      const why = this.#phase === "idle" ? "connect() comes first" : "the client is closed";
      return Promise.reject(new KernelError("CLOSED", `${method}: ${why}`));
    }
    const { call, answer } = this.#calls.make(method, params, {
      urgent,
      idempotent: options.idempotent ?? IDEMPOTENT.has(method),
      timeout: options.timeout ?? this.#requestTimeout,
    });
    if (urgent || this.#phase === "open") this.#send(call);
    return answer;
  }

  #send(call: Call): void {
    if (!this.#connection) {
      if (call.urgent) call.reject(new KernelError("CONNECTION_LOST", "the connection was lost"));
      return;
    }
    try {
      this.#connection.send(encode(call.id, call.method, call.params, this.#token));
      call.sent = true;
    } catch (error) {
      call.reject(error);
    }
  }

  async #register(manifest: Manifest, urgent: boolean): Promise<Registration> {
    const { id, type, protocol } = manifest;
    const params = { manifest: { id, type, protocol }, secret: this.#secret };
    const registration = registrationOf(await this.#call("app.register", params, urgent));
    this.#token = registration.token;
    this.emit("registered", registration);
    return registration;
  }

  async #beat(urgent: boolean): Promise<unknown> {
    try {
      return await this.#call("app.heartbeat", this.#pulse.params(), urgent);
    } catch (error) {
      if (!this.#manifest || !isForgotten(error)) throw error;
    }
    await this.#register(this.#manifest, urgent);
    if (this.#readiness) await this.#call("app.ready", this.#readiness, urgent);
    return this.#call("app.heartbeat", this.#pulse.params(), urgent);
  }

  async #dial(timeout: number): Promise<void> {
    const connection: Connection = await Connection.open(this.#socket, timeout, {
      message: (message) => this.#receive(message),
      garbage: (line) => this.emit("warning", `Ostler sent no message, but ${excerpt(line)}`),
      closed: () => this.#lost(connection),
    });
    if (this.#isClosed()) {
      connection.destroy();
      throw new KernelError("CLOSED", "the client was closed");
    }
    this.#connection = connection;
  }

  #open(): void {
    this.#phase = "open";
    this.#openSince = performance.now();
    for (const call of this.#calls.unsent()) this.#send(call);
  }

  #lost(connection: Connection): void {
    if (connection !== this.#connection) return;
    this.#connection = undefined;
    this.#calls.lost();
    if (this.#phase !== "open") return;
    this.#phase = "reconnecting";
    this.#backoff.settle(performance.now() - this.#openSince);
    this.emit("disconnected");
    void this.#reconnect();
  }

  async #reconnect(): Promise<void> {
    let reported = "";
    for (;;) {
      await this.#pause(this.#backoff.next());
      if (this.#isClosed()) return;
      try {
        await this.#dial(this.#connectTimeout);
        if (this.#manifest) await this.#beat(true);
      } catch (error) {
        if (this.#isClosed()) return;
        this.#drop();
        const why = messageOf(error);
        if (why !== reported) this.emit("warning", `could not reconnect yet: ${why}`);
        reported = why;
        continue;
      }
      if (!this.#connection) continue;
      this.#open();
      this.emit("resumed");
      return;
    }
  }

  /** The calls of a connection that we give up end as if it had been lost. */
  #drop(): void {
    this.#connection?.destroy();
    this.#connection = undefined;
    this.#calls.lost();
  }

  #receive(message: Response | Event): void {
    if (message.type === "event") return this.#tell(message);
    if (message.requestId === "" && message.error) {
      this.emit("warning", `Ostler refused: ${message.error.message} (${message.error.code})`);
    }
    this.#calls.answer(message);
  }

  #tell({ event, payload }: Event): void {
    this.emit("event", event, payload);
    if (event === "shutdown") {
      this.emit("shutdown", {
        timeout: typeof payload.timeout === "number" ? payload.timeout : undefined,
        reason: typeof payload.reason === "string" ? payload.reason : undefined,
      });
    } else if (event === "config") {
      this.emit("config", configurationOf(payload));
    } else if (event === "superseded") {
      void this.#end("SUPERSEDED", "another connection of this app has taken over");
      this.emit("superseded");
    }
  }

  async #end(code: string, why: string): Promise<void> {
    if (this.#isClosed()) return;
    this.#phase = "closed";
    this.#closing.abort();
    const connection = this.#connection;
    this.#connection = undefined;
    this.#calls.refuse(code, why);
    await connection?.close();
  }

  #isClosed(): boolean {
    return this.#phase === "closed";
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#closing.signal }).catch(() => {});
  }
}

function excerpt(line: Buffer): string {
  return JSON.stringify(line.subarray(0, 80).toString("utf8"));
}
