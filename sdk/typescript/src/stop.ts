/** Why an app ends, and how long it has for it. */
export interface Stop {
  reason: string;
  timeout: number;
  /** Whether Ostler does not know of it yet. */
  ownWill: boolean;
}

/** The first request to stop decides; Ostler may well send both an event and a signal. */
export class StopRequest {
  readonly asked: Promise<Stop>;
  isAsked = false;
  #resolve!: (stop: Stop) => void;

  constructor() {
    this.asked = new Promise((resolve) => (this.#resolve = resolve));
  }

  ask(stop: Stop): void {
    this.isAsked = true;
    this.#resolve(stop);
  }

  onSignals(timeout: () => number): void {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.on(signal, () => this.ask({ reason: signal, timeout: timeout(), ownWill: true }));
    }
  }
}
