// An app on the TypeScript SDK that does what its test tells it, over a socket beside it.
import { appendFileSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const { OpenClawApp } = await import(readFileSync(join(HERE, "sdk"), "utf8"));
const Code = Object.getPrototypeOf(async () => {}).constructor;

class App extends OpenClawApp {
  told = [];

  async setup() {
    const strings = connect(join(HERE, "strings"));
    strings.on("error", () => {});
    createInterface({ input: strings }).on("line", async (line) => {
      const order = JSON.parse(line);
      let answer;
      try {
        const text = order.eval === undefined ? order.run : `return (${order.eval})`;
        answer = { is: (await new Code("app", text)(this)) ?? null };
      } catch (error) {
        answer = { failed: String(error?.stack) };
      }
      strings.write(`${JSON.stringify(answer)}\n`);
    });
  }

  async teardown() {
    appendFileSync(join(HERE, "teardown"), "down\n");
  }

  onConfig(config, version) {
    this.told.push({ config, version });
  }
}

await new App().run();
