import { KernelError } from "./errors.js";

export const PROTOCOL_VERSION = "1.0";

/** Ostler refuses a longer line, its end included. */
export const MAX_LINE = 256 * 1024;

/** No answer is this long; without a bound a broken peer could fill the memory. */
const MAX_INCOMING = 16 * 1024 * 1024;

export type Params = Record<string, unknown>;

export interface Response {
  type: "response";
  requestId: string;
  success: boolean;
  result?: unknown;
  error?: { code: string; message: string; details?: unknown };
}

export interface Event {
  type: "event";
  event: string;
  payload: Params;
}

export function encode(id: string, method: string, params: Params, token?: string): Buffer {
  const request = { id, type: "request", timestamp: Date.now(), method, params, token };
  const line = Buffer.from(`${JSON.stringify(request)}\n`);
  if (line.length > MAX_LINE) {
    throw new KernelError(
      "LINE_TOO_LONG",
      `${method} would be a line of ${line.length} bytes; at most ${MAX_LINE} are allowed`,
    );
  }
  return line;
}

/** Parses a line; nothing if it is neither an answer nor an event. */
export function decode(line: Buffer): Response | Event | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line.toString("utf8"));
  } catch {
    return undefined;
  }
  if (!isObject(value)) return undefined;
  if (value.type === "response" && typeof value.requestId === "string") {
    const { requestId, result } = value;
    if (value.success === true) return { type: "response", requestId, success: true, result };
    return { type: "response", requestId, success: false, error: errorOf(value.error) };
  }
  if (value.type === "event" && typeof value.event === "string") {
    const payload = isObject(value.payload) ? value.payload : {};
    return { type: "event", event: value.event, payload };
  }
  return undefined;
}

function errorOf(value: unknown): NonNullable<Response["error"]> {
  const { code, message, details } = isObject(value) ? value : {};
  return {
    code: typeof code === "string" ? code : "INTERNAL_ERROR",
    message: typeof message === "string" ? message : "Ostler refused it without a reason",
    details,
  };
}

export function isObject(value: unknown): value is Params {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Cuts what comes in into lines. It works on bytes, and a line is decoded only when it is whole: a
 * character that was torn apart between two chunks is whole again by then.
 */
export class LineSplitter {
  #parts: Buffer[] = [];
  #length = 0;

  push(chunk: Buffer): Buffer[] {
    const lines: Buffer[] = [];
    let rest = chunk;
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      lines.push(Buffer.concat([...this.#parts, rest.subarray(0, end)]));
      this.#parts = [];
      this.#length = 0;
      rest = rest.subarray(end + 1);
    }
    if (rest.length > 0) {
      this.#parts.push(rest);
      this.#length += rest.length;
    }
    if (this.#length > MAX_INCOMING) {
      throw new KernelError("BAD_ANSWER", `no line's end within ${MAX_INCOMING} bytes`);
    }
    return lines;
  }
}
