export type { Configuration, Registration } from "./answers.js";
export { OpenClawApp } from "./app.js";
export { KernelClient, type ClientEvents, type ClientOptions, type Shutdown } from "./client.js";
export type { Manifest } from "./environment.js";
export { KernelError, type ErrorCode, type LocalErrorCode, type WireErrorCode } from "./errors.js";
export type { Log } from "./log.js";
export type { HeartbeatReport, StatusReport } from "./pulse.js";
export { serve, type Hooks } from "./serve.js";
export { MAX_LINE, PROTOCOL_VERSION, type Params } from "./wire.js";
