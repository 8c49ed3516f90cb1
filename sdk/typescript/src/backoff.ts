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

  /** A connection that lasted was a good one: the next loss is a new story. */
  settle(lastedMs: number): void {
    if (lastedMs > LONGEST) this.#next = FIRST;
  }
}
