import type { Params } from "./wire.js";

export interface StatusReport {
  status: "healthy" | "degraded" | "unhealthy";
  [detail: string]: unknown;
}

export interface HeartbeatReport {
  status?: StatusReport;
  /** How many ms from now the app may be silent; 0 takes it back. */
  busyFor?: number;
}

/** Ostler takes no longer declaration. */
export const LONGEST_BUSY = 60 * 60 * 1000;

/**
 * The content of the next heartbeat. A heartbeat without a busy declaration takes the last one back, so each of
 * ours repeats what is left of it. The rest is measured on a monotonic clock.
 */
export class Pulse {
  #status: StatusReport = { status: "healthy" };
  #busyUntil = 0;

  report(status: StatusReport): void {
    this.#status = status;
  }

  busyFor(ms: number): void {
    if (!(ms >= 0 && ms <= LONGEST_BUSY)) {
      throw new RangeError(`busy for ${ms} ms: it may be 0 to ${LONGEST_BUSY} (one hour) at a time`);
    }
    this.#busyUntil = performance.now() + ms;
  }

  params(): Params {
    const busyFor = Math.ceil(this.#busyUntil - performance.now());
    return busyFor > 0 ? { status: this.#status, busyFor } : { status: this.#status };
  }
}
