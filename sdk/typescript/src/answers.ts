import { heartbeatFallback } from "./environment.js";
import { KernelError } from "./errors.js";
import { isObject, type Params } from "./wire.js";

export interface Registration {
  appId: string;
  token: string;
  protocolVersion: string;
  heartbeatInterval: number;
}

export interface Configuration {
  config: Params;
  version: unknown;
}

export function registrationOf(result: unknown): Registration {
  const { appId, token, protocolVersion, heartbeatInterval } = isObject(result) ? result : {};
  if (typeof token !== "string") {
    throw new KernelError("BAD_ANSWER", "the answer to app.register has no token", result);
  }
  return {
    appId: String(appId),
    token,
    protocolVersion: String(protocolVersion),
    heartbeatInterval: Number(heartbeatInterval) > 0 ? Number(heartbeatInterval) : heartbeatFallback(),
  };
}

export function configurationOf(value: unknown): Configuration {
  const { config, version } = isObject(value) ? value : {};
  return { config: isObject(config) ? config : {}, version };
}
