const FIRST = 100;
const LONGEST = 5_000;

/** How long to wait before the next attempt: 100 ms, twice as long each time, at most 5 s. */
export class Backoff {
  #next = FIRST;

  next(): number {
    const delay = this.#next;
    this.#next = Math.min(delay * 2, LONGEST);
    return delay;
  }

  /** After a connection that lasted, the delay begins at its minimum again. */
  settle(lastedMs: number): void {
    if (lastedMs > LONGEST) this.#next = FIRST;
  }
}
