import { KernelError } from "./errors.js";
import type { Params, Response } from "./wire.js";

export interface Call {
  readonly id: string;
  readonly method: string;
  readonly params: Params;
  /** Whether it does no harm to be sent twice. */
  readonly idempotent: boolean;
  /** It is part of resuming: it does not wait for the resumption, and does not survive its connection. */
  readonly urgent: boolean;
  sent: boolean;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** The calls that have no answer yet, in the order they were made. */
export class Calls {
  readonly #open = new Map<string, Call>();
  #made = 0;

  make(
    method: string,
    params: Params,
    options: { idempotent: boolean; urgent: boolean; timeout: number },
  ): { call: Call; answer: Promise<unknown> } {
    const id = String(++this.#made);
    let call!: Call;
    const answer = new Promise<unknown>((resolve, reject) => {
      const late = `${method} was not answered within ${options.timeout} ms`;
      const timer = setTimeout(() => call.reject(new KernelError("TIMEOUT", late)), options.timeout);
      const settle = () => {
        clearTimeout(timer);
        this.#open.delete(id);
      };
      call = {
        id,
        method,
        params,
        idempotent: options.idempotent,
        urgent: options.urgent,
        sent: false,
        resolve: (result) => (settle(), resolve(result)),
        reject: (error) => (settle(), reject(error)),
      };
    });
    this.#open.set(id, call);
    return { call, answer };
  }

  /** An answer to a call that has timed out is dropped. */
  answer(response: Response): void {
    const call = this.#open.get(response.requestId);
    if (!call) return;
    if (response.success) return call.resolve(response.result);
    const { code, message, details } = response.error!;
    call.reject(new KernelError(code, `${call.method}: ${message}`, details));
  }

  unsent(): Call[] {
    return [...this.#open.values()].filter((call) => !call.sent);
  }

  /** The connection is gone: what may be sent again waits for the next one. */
  lost(): void {
    for (const call of this.#open.values()) {
      if (call.sent && (call.urgent || !call.idempotent)) {
        const what = `the connection was lost before ${call.method} was answered; it may have been done`;
        call.reject(new KernelError("CONNECTION_LOST", what));
      }
      call.sent = false;
    }
  }

  refuse(code: string, why: string): void {
    for (const call of this.#open.values()) {
      call.reject(new KernelError(code, `${call.method}: ${why}`));
    }
  }
}
