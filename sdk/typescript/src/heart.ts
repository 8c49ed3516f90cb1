import type { KernelClient } from "./client.js";
import { messageOf } from "./errors.js";

/** Sends heartbeats at the interval Ostler asks for, and follows when it asks for another. */
export class Heart {
  readonly #client: KernelClient;
  readonly #warn: (message: string) => void;
  #timer: NodeJS.Timeout | undefined;
  #beating = false;

  constructor(client: KernelClient, warn: (message: string) => void) {
    this.#client = client;
    this.#warn = warn;
    client.on("registered", ({ heartbeatInterval }) => this.#start(heartbeatInterval));
    client.on("superseded", () => this.stop());
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #start(interval: number): void {
    this.stop();
    this.#timer = setInterval(() => void this.#beat(), interval);
  }

  async #beat(): Promise<void> {
    // While a connection is lost one waiting heartbeat is enough.
    if (this.#beating) return;
    this.#beating = true;
    try {
      await this.#client.heartbeat();
    } catch (error) {
      this.#warn(`a heartbeat failed: ${messageOf(error)}`);
    } finally {
      this.#beating = false;
    }
  }
}
