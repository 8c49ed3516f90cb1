import { OpenClawApp } from "./app.js";
import type { Manifest } from "./environment.js";
import type { Params } from "./wire.js";

export interface Hooks {
  manifest?: Manifest | string;
  setup?(app: OpenClawApp): void | Promise<void>;
  teardown?(app: OpenClawApp): void | Promise<void>;
  onConfig?(config: Params, version: unknown): void | Promise<void>;
}

/** Runs an app that is made of functions instead of a class. */
export function serve(hooks: Hooks): Promise<void> {
  return new HookedApp(hooks).run();
}

class HookedApp extends OpenClawApp {
  readonly #hooks: Hooks;

  constructor(hooks: Hooks) {
    super(hooks.manifest);
    this.#hooks = hooks;
  }

  protected override async setup(): Promise<void> {
    await this.#hooks.setup?.(this);
  }

  protected override async teardown(): Promise<void> {
    await this.#hooks.teardown?.(this);
  }

  protected override async onConfig(config: Params, version: unknown): Promise<void> {
    await this.#hooks.onConfig?.(config, version);
  }
}
