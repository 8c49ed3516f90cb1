"""The stand-in model's server. Everything that reaches it is a line of JSON in its log, at the time it arrives and when it ends.

    python3 -m model PORT LOGFILE [FOLDER]      FOLDER gets every request as it came
"""

from __future__ import annotations

import http.server
import json
import sys
import threading
import time
from pathlib import Path

from . import answers, prompts


class Model(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, port: int, log: Path, bodies: Path | None = None):
        super().__init__(("127.0.0.1", port), Handler)
        self.port = self.server_address[1]
        self.bodies = bodies
        self.lock = threading.Lock()
        self.number = 0
        # A message that has the first text is answered by running the second.
        self.rules: list[tuple[str, str]] = []
        self.log = open(log, "a", buffering=1, encoding="utf-8")

    def start(self) -> None:
        threading.Thread(target=self.serve_forever, name=f"model {self.port}", daemon=True).start()

    def stop(self) -> None:
        self.shutdown()
        self.server_close()
        with self.lock:
            self.log.close()

    def next(self) -> int:
        with self.lock:
            self.number += 1
            return self.number

    def note(self, **fields) -> None:
        # Half a surrogate pair cannot be written as UTF-8, and an agent may send one.
        line = json.dumps({"t": round(time.time(), 3), **fields})
        with self.lock:
            if not self.log.closed:
                self.log.write(line + "\n")

    def handle_error(self, request, client_address) -> None:
        """An agent that hangs up is no error."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Model

    def log_message(self, *_) -> None:
        pass

    def reply(self, document: dict, status: int = 200, headers: dict | None = None) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        if self.path == "/health":
            return self.reply({"status": "healthy"})
        if self.path.startswith("/v1/models"):
            return self.reply({"object": "list", "data": [{"id": "m1", "object": "model"}], "models": []})
        self.server.note(get=self.path)
        return self.reply({}, 404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            return self.reply({"input_tokens": 10})
        api = prompts.APIS.get(path)
        if api is None:
            self.server.note(post=path)
            return self.reply({})
        number = self.server.next()
        if self.server.bodies:
            (self.server.bodies / f"{number:05}.json").write_bytes(body)
        try:
            prompt = prompts.read(api, json.loads(body))
        except ValueError as error:
            self.server.note(n=number, api=api, unreadable=str(error))
            return self.reply({}, 400)
        directive = prompt.directive or self.by_rule(prompt)
        self.server.note(
            n=number, api=api, side=prompt.is_side, after_tool=prompt.is_after_tool,
            directive=directive.word if directive else None, users=prompt.users,
        )
        try:
            end = self.answer(prompt, directive, number)
        except OSError as error:
            end = f"hung up: {type(error).__name__}"
        self.server.note(n=number, end=end)

    def by_rule(self, prompt: prompts.Prompt) -> prompts.Directive | None:
        if prompt.is_side or prompt.is_after_tool or not prompt.users:
            return None
        commands = [command for text, command in self.server.rules if text in prompt.users[-1]]
        return prompts.Directive("BASH", command=commands[0]) if commands else None

    def answer(self, prompt: prompts.Prompt, directive: prompts.Directive | None, number: int) -> str:
        refused = answers.refusal(prompt.api, directive)
        if refused:
            status, headers, document = refused
            self.reply(document, status, headers)
            return f"status {status}"
        text = f"Answer {number}."
        if not prompt.is_streamed and prompt.api != "responses":
            self.reply(answers.whole(prompt, number, text))
            return "done"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True

        def send(event: str) -> None:
            self.wfile.write(event.encode())
            self.wfile.flush()

        call = answers.tool_call(prompt, directive)
        answers.STREAMED[prompt.api](prompt, number, call, answers.pieces(directive, text), send)
        return "call" if call else "done"


def main() -> None:
    port, log, *rest = sys.argv[1:]
    model = Model(int(port), Path(log), Path(rest[0]) if rest else None)
    print(f"listening on 127.0.0.1:{model.port}", flush=True)
    model.serve_forever()
