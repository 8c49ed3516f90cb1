// An app that counts what it is asked. An app of your own would import "@ostler/sdk".
import { once } from "node:events";
import { createServer } from "node:http";
import { OpenClawApp } from "../../sdk/typescript/dist/index.js";

class Counter extends OpenClawApp {
  asked = 0;

  // The app counts as ready when this is done, so it waits until the server listens.
  async setup() {
    this.server = createServer((_request, response) => {
      this.asked += 1;
      response.end(`${this.config.greeting ?? "hello"}, number ${this.asked}\n`);
    });
    // Without PORT in its environment the app takes any port that is free.
    this.server.listen(Number(process.env.PORT ?? 0), "127.0.0.1");
    await once(this.server, "listening");
    this.log.info(`listening on port ${this.server.address().port}`);
  }

  // The new configuration is in this.config already; here an app does what else is needed.
  onConfig(_config, version) {
    this.log.info(`the configuration is now version ${version}`);
  }

  // The process exits when this is done, so requests under way are finished first.
  async teardown() {
    this.server.close();
    this.server.closeIdleConnections();
    await once(this.server, "close");
    this.log.info(`answered ${this.asked} requests`);
  }
}

await new Counter().run();
