"""An app that does what its test tells it, over a socket beside it: one JSON text of Python a line, one JSON answer."""

import json
import os
import signal
import socket
import sys
import threading
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
ID = os.environ.get("OPENCLAWOS_APP_ID")


class Gone(Exception):
    """The other side has closed."""


class Wire:
    """The app socket, byte by byte."""

    def __init__(self, path=None):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path or os.environ["OPENCLAWOS_SOCKET"])
        self.socket.settimeout(30)
        self.held = b""
        self.token = None
        self.events = []
        self.number = 0

    def send(self, data):
        self.socket.sendall(data if isinstance(data, bytes) else data.encode())

    def line(self):
        while b"\n" not in self.held:
            more = self.socket.recv(1 << 16)
            if not more:
                raise Gone
            self.held += more
        line, self.held = self.held.split(b"\n", 1)
        return json.loads(line)

    def is_over(self):
        """Reads what is left, up to the end."""
        try:
            while True:
                self.line()
        except (Gone, ConnectionResetError, BrokenPipeError):
            return True
        except socket.timeout:
            return False

    def text(self, method, params=None, token="own", **more):
        self.number += 1
        message = {"id": str(self.number), "type": "request", "method": method, "params": params or {}, **more}
        token = self.token if token == "own" else token
        if token is not None:
            message["token"] = token
        return json.dumps(message) + "\n"

    def answer(self):
        while True:
            message = self.line()
            if message["type"] == "response":
                return message
            self.events.append(message)

    def event(self):
        """The next event."""
        while not self.events:
            message = self.line()
            assert message["type"] == "event", message
            self.events.append(message)
        return self.events.pop(0)

    def call(self, method, params=None, token="own", **more):
        self.send(self.text(method, params, token, **more))
        answer = self.answer()
        assert answer["requestId"] == str(self.number), answer
        return answer

    def code(self, *args, **more):
        """What it was refused with."""
        return self.call(*args, **more).get("error", {}).get("code")

    def ask(self, *args, **more):
        answer = self.call(*args, **more)
        assert answer["success"], answer
        return answer["result"]

    def register(self, id=ID, secret=None):
        params = {"manifest": {"id": id, "type": "app", "protocol": {"version": "1.0"}}}
        if secret is not None:
            params["secret"] = secret
        answer = self.call("app.register", params, token=None)
        if answer["success"]:
            self.token = answer["result"]["token"]
        return answer


class Heart(threading.Thread):
    """Beats on a connection of its own, and knows how long it had to wait for answers."""

    def __init__(self, token, every=0.1):
        super().__init__(daemon=True)
        self.wire, self.every = Wire(), every
        self.wire.token = token
        self.beats, self.worst, self.failed = 0, 0.0, None
        self.ended = threading.Event()
        self.start()

    def run(self):
        try:
            while not self.ended.wait(self.every):
                began = time.monotonic()
                self.wire.ask("app.heartbeat", {"status": {"status": "healthy", "beats": self.beats}})
                self.worst = max(self.worst, time.monotonic() - began)
                self.beats += 1
        except Exception:
            self.failed = traceback.format_exc()


def become_ready():
    wire = Wire()
    assert wire.register()["success"]
    wire.ask("app.ready")
    return wire


def obey():
    strings = socket.socket(socket.AF_UNIX)
    strings.connect(os.path.join(HERE, "strings"))
    world = globals()
    for line in strings.makefile("rb"):
        order = json.loads(line)
        try:
            if "eval" in order:
                answer = {"is": eval(order["eval"], world)}
            else:
                exec(order["run"], world)
                answer = {"is": None}
        except Exception:
            answer = {"failed": traceback.format_exc()}
        strings.sendall(json.dumps(answer).encode() + b"\n")


try:
    obey()
except OSError:
    pass
# Its test is over; somebody else will end it.
while True:
    signal.pause()
