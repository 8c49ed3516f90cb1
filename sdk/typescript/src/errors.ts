/** The codes Ostler answers with. */
export type WireErrorCode =
  | "INVALID_REQUEST"
  | "METHOD_NOT_FOUND"
  | "INVALID_PARAMS"
  | "UNAUTHORIZED"
  | "APP_NOT_REGISTERED"
  | "FORBIDDEN"
  | "NOT_FOUND"
  | "CONFLICT"
  | "TIMEOUT"
  | "INTERNAL_ERROR";

/** The codes of what goes wrong on this side of the socket. `TIMEOUT` is used on both. */
export type LocalErrorCode =
  | "NO_SOCKET"
  | "BAD_MANIFEST"
  | "BAD_ANSWER"
  | "CONNECT_FAILED"
  | "CONNECTION_LOST"
  | "LINE_TOO_LONG"
  | "SUPERSEDED"
  | "CLOSED";

/** A newer Ostler may answer with a code this version has no name for. */
export type ErrorCode = WireErrorCode | LocalErrorCode | (string & {});

export class KernelError extends Error {
  override readonly name = "KernelError";

  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly details?: unknown,
  ) {
    super(message);
  }
}

/** Whether Ostler no longer knows the token, so that only `app.register` helps. */
export function isForgotten(error: unknown): boolean {
  return (
    error instanceof KernelError &&
    (error.code === "UNAUTHORIZED" || error.code === "APP_NOT_REGISTERED")
  );
}

export function messageOf(error: unknown): string {
  if (error instanceof KernelError) return `${error.message} (${error.code})`;
  return error instanceof Error ? error.message : String(error);
}
