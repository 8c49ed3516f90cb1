import { readFileSync } from "node:fs";
import { KernelError, messageOf } from "./errors.js";
import { isObject } from "./wire.js";

export interface Manifest {
  id: string;
  type: string;
  protocol: { version: string };
  [field: string]: unknown;
}

export const MANIFEST_FILE = "openclawos.manifest.json";

const DEFAULT_HEARTBEAT = 30_000;

export function socketPath(): string {
  const { OPENCLAWOS_SOCKET, OPENCLAWOS_KERNEL_SOCKET, OPENCLAW_KERNEL_SOCKET } = process.env;
  const path = OPENCLAWOS_SOCKET || OPENCLAWOS_KERNEL_SOCKET || OPENCLAW_KERNEL_SOCKET;
  if (path) return path;
  throw new KernelError(
    "NO_SOCKET",
    "OPENCLAWOS_SOCKET is not set: this program is an app and is started by Ostler. Put " +
      `[units.NAME] manifest = "${MANIFEST_FILE}" into ostler.toml and run \`ostler up\``,
  );
}

export function launchSecret(): string | undefined {
  return process.env.OPENCLAWOS_LAUNCH_SECRET || undefined;
}

/** The interval for when the answer to `app.register` names none. */
export function heartbeatFallback(): number {
  const ms = Number(process.env.OSTLER_HEARTBEAT_MS);
  return ms > 0 ? ms : DEFAULT_HEARTBEAT;
}

export function loadManifest(source: Manifest | string = MANIFEST_FILE): Manifest {
  if (typeof source !== "string") return checked(source, "the manifest");
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(source, "utf8"));
  } catch (error) {
    throw new KernelError("BAD_MANIFEST", `could not read the manifest ${source}: ${messageOf(error)}`);
  }
  return checked(value, source);
}

function checked(value: unknown, where: string): Manifest {
  const { id, type, protocol } = isObject(value) ? value : {};
  const version = isObject(protocol) ? protocol.version : undefined;
  if (typeof id === "string" && typeof type === "string" && typeof version === "string") {
    return value as Manifest;
  }
  throw new KernelError("BAD_MANIFEST", `${where} must have id, type and protocol.version, each a text`);
}
