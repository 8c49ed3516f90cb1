import { EventEmitter, once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const MANIFEST = { id: "@test/app", type: "app", protocol: { version: "1.0" } };

/**
 * Just enough of Ostler for tests. Each request is answered by what `answers` has for its method: a function
 * whose result is the answer, which throws an error with a `code` to refuse, or returns `SILENT`.
 */
export class FakeKernel extends EventEmitter {
  static SILENT = Symbol("silent");

  token = "token-1";
  interval = 30_000;
  requests = [];
  clients = new Set();
  answers = {
    "app.register": () => ({
      appId: MANIFEST.id,
      token: this.token,
      protocolVersion: "1.0",
      heartbeatInterval: this.interval,
    }),
    "app.ready": (request) => this.#known(request, { ok: true }),
    "app.heartbeat": (request) => this.#known(request, { ok: true, serverTime: Date.now() }),
    "app.shutdown": (request) => this.#known(request, { ok: true }),
    "config.get": (request) => this.#known(request, { config: {}, version: 1 }),
  };

  static async start() {
    const kernel = new FakeKernel();
    kernel.folder = mkdtempSync(join(tmpdir(), "ostler-sdk-"));
    kernel.path = join(kernel.folder, "socket");
    await kernel.listen();
    return kernel;
  }

  async listen() {
    this.server = createServer((socket) => this.#accept(socket));
    this.server.listen(this.path);
    await once(this.server, "listening");
  }

  /** Ends the server and each connection, as when Ostler dies. */
  async die() {
    const closed = new Promise((resolve) => this.server.close(resolve));
    for (const client of this.clients) client.destroy();
    await closed;
  }

  async stop() {
    if (this.server.listening) await this.die();
    rmSync(this.folder, { recursive: true });
  }

  /** The next request with that method that was not returned yet. */
  async next(method) {
    for (;;) {
      const at = this.requests.findIndex((request) => request.method === method);
      if (at >= 0) return this.requests.splice(at, 1)[0];
      await once(this, "request");
    }
  }

  event(event, payload) {
    const line = JSON.stringify({ id: "e", type: "event", timestamp: 0, event, payload });
    for (const client of this.clients) client.write(`${line}\n`);
  }

  drop() {
    for (const client of this.clients) client.destroy();
  }

  #known(request, result) {
    if (request.token !== this.token) throw refusal("UNAUTHORIZED");
    return result;
  }

  #accept(socket) {
    this.clients.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => {
      this.clients.delete(socket);
      this.emit("gone");
    });
    let rest = "";
    socket.setEncoding("utf8");
    socket.on("data", (chunk) => {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop();
      for (const line of lines) this.#answer(socket, JSON.parse(line));
    });
    this.emit("connection", socket);
  }

  #answer(socket, request) {
    const response = { id: "r", type: "response", timestamp: 0, requestId: request.id };
    try {
      const answer = this.answers[request.method];
      if (!answer) throw refusal("METHOD_NOT_FOUND");
      const result = answer(request, socket);
      if (result !== FakeKernel.SILENT) {
        socket.write(`${JSON.stringify({ ...response, success: true, result })}\n`);
      }
    } catch (error) {
      const { code, message, details } = error;
      const refused = { ...response, success: false, error: { code, message, details } };
      socket.write(`${JSON.stringify(refused)}\n`);
    }
    this.requests.push({ ...request, socket });
    this.emit("request");
  }
}

export function refusal(code, details) {
  return Object.assign(new Error(`refused with ${code}`), { code, details });
}
