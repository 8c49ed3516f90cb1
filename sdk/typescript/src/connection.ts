import { createConnection, type Socket } from "node:net";
import { KernelError } from "./errors.js";
import { decode, LineSplitter, type Event, type Response } from "./wire.js";

const CLOSE_TIMEOUT = 1_000;

export interface Handlers {
  message(message: Response | Event): void;
  /** A line that is no message. */
  garbage(line: Buffer): void;
  closed(): void;
}

/** One connection, from its opening to its end. It knows lines, and nothing of what they mean. */
export class Connection {
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  static open(path: string, timeout: number, handlers: Handlers): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = createConnection(path);
      const refuse = (why: string) => {
        socket.destroy();
        reject(new KernelError("CONNECT_FAILED", `could not connect to ${path}: ${why}`));
      };
      const timer = setTimeout(refuse, timeout, `no answer within ${Math.round(timeout)} ms`);
      socket.once("error", (error) => refuse(error.message));
      socket.once("close", () => clearTimeout(timer));
      socket.once("connect", () => {
        clearTimeout(timer);
        socket.removeAllListeners("error");
        receive(socket, handlers);
        resolve(new Connection(socket));
      });
    });
  }

  send(line: Buffer): void {
    this.#socket.write(line);
  }

  /** What was sent before still arrives, if the other side reads it soon. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#socket.destroyed) return resolve();
      const timer = setTimeout(() => this.#socket.destroy(), CLOSE_TIMEOUT);
      this.#socket.once("close", () => (clearTimeout(timer), resolve()));
      this.#socket.end(() => this.#socket.destroy());
    });
  }

  destroy(): void {
    this.#socket.destroy();
  }
}

function receive(socket: Socket, handlers: Handlers): void {
  const splitter = new LineSplitter();
  socket.on("data", (chunk) => {
    let lines: Buffer[];
    try {
      lines = splitter.push(chunk);
    } catch {
      socket.destroy();
      return;
    }
    for (const line of lines) {
      const message = decode(line);
      if (message) handlers.message(message);
      else handlers.garbage(line);
    }
  });
  // An error is always followed by "close", which is all that matters here.
  socket.on("error", () => {});
  socket.once("close", () => handlers.closed());
}
