// An app whose behaviour is chosen by its first argument. It prints what happens.
import { writeSync } from "node:fs";
import { OpenClawApp, serve } from "../dist/index.js";
import { MANIFEST } from "./fake-kernel.mjs";

const say = (text) => writeSync(1, `${text}\n`);
const never = new Promise(() => {});

class App extends OpenClawApp {
  async setup() {
    say(`setup ${JSON.stringify(this.config)}`);
  }
  async teardown() {
    say("teardown");
  }
  onConfig(config, version) {
    say(`config ${JSON.stringify(config)} ${version}`);
  }
}

const kinds = {
  plain: App,
  badSetup: class extends App {
    async setup() {
      throw new Error("no database");
    }
  },
  badTeardown: class extends App {
    async teardown() {
      throw new Error("cannot flush");
    }
  },
  slowTeardown: class extends App {
    async teardown() {
      await never;
    }
  },
  slowSetup: class extends App {
    async setup() {
      say("setup begins");
      await new Promise((resolve) => process.once("SIGUSR2", resolve));
      say("setup ends");
    }
  },
  ownWill: class extends App {
    async setup() {
      await this.busyFor(1_000);
      await this.status({ status: "degraded", queue: 3 });
      this.stop("all done");
    }
  },
  badConfig: class extends App {
    onConfig() {
      say("config");
      throw new Error("cannot use it");
    }
  },
};

const kind = process.argv[2];
if (kind === "hooks") {
  await serve({ manifest: MANIFEST, setup: () => say("setup"), teardown: () => say("teardown") });
} else if (kind === "noManifest") {
  await new App().run();
} else {
  await new kinds[kind](MANIFEST).run();
}
