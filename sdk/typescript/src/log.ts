/** Ostler keeps what an app writes to its output, so that is where the log goes. */
export interface Log {
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

export const outputLog: Log = {
  info: (message) => void process.stdout.write(`${message}\n`),
  warn: (message) => void process.stderr.write(`warning: ${message}\n`),
  error: (message) => void process.stderr.write(`error: ${message}\n`),
};
