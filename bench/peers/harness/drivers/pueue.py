"""pueue (cargo install): a task queue, measured on one-shot commands only."""

from __future__ import annotations

import json
import time
from datetime import datetime
from pathlib import Path

from ..driver import Peer, Profile
from ..session import BenchError, Session

TASKS = 200
FOLLOWED = 10


class Pueue(Peer):
    name = "pueue"
    language = "Rust"
    needs = ("pueue", "pueued")
    supervises = False
    restart_note = "a task queue: nothing is started again"

    def __init__(self, session: Session, prefix: Path, profile: Profile = Profile()):
        super().__init__(session, prefix, profile)
        self.cfg = session.dir / "pueue.yml"
        self.cfg.write_text(
            f"shared:\n  pueue_directory: {session.dir}/pueue\n  use_unix_socket: true\n"
            f"  unix_socket_path: {session.dir}/pueue.sock\n  runtime_directory: {session.dir}\n"
            "client: {}\ndaemon:\n  callback_log_lines: 1\n")
        (session.dir / "pueue").mkdir()

    def cmd(self, *args: str) -> list[str]:
        return [self.exe("pueue"), "-c", str(self.cfg), *args]

    def start(self) -> None:
        self.s.spawn([self.exe("pueued"), "-c", str(self.cfg)])

    def version(self) -> str:
        return self.s.run(self.version_argv())[2].strip()

    def version_argv(self) -> list[str]:
        return [self.exe("pueue"), "--version"]

    def finished(self) -> tuple[int, float]:
        """Tasks that ended in success, and the seconds from the first one's start to the last one's end."""
        tasks = json.loads(self.s.run(self.cmd("status", "--json"), check=True)[2])["tasks"]
        done = [t["status"]["Done"] for t in tasks.values() if "Done" in t["status"]]
        ok = [d for d in done if d["result"] == "Success"]
        if not ok:
            return 0, 0.0
        return len(ok), (max(_time(d["end"]) for d in ok) - min(_time(d["start"]) for d in ok)).total_seconds()

    @classmethod
    def oneshot_rate(cls, bench, n: int) -> dict[str, float]:
        n = min(n, TASKS)
        with bench.session("oneshot-pueue") as s:
            q = bench.driver(cls, s)
            q.start()
            for _ in range(100):
                if s.run(q.cmd("status"))[0] == 0:
                    break
                time.sleep(0.1)
            s.run(q.cmd("parallel", "2"), check=True)
            s.run(q.cmd("pause"), check=True)
            t0 = time.monotonic()
            for _ in range(n):
                s.run(q.cmd("add", "--", bench.tools.svc, "true"), check=True)
            out = {"pueue add": n / (time.monotonic() - t0)}
            s.run(q.cmd("start"), check=True)
            s.run(q.cmd("wait", "--quiet"), timeout=200, check=True)  # polls: the tasks' own times are used
            ok, span = q.finished()
            if ok != n:
                raise BenchError(f"pueue: {ok} of {n} tasks succeeded")
            out["pueue run, 2 in parallel"] = ok / span
            t0 = time.monotonic()
            for _ in range(FOLLOWED):
                s.run(q.cmd("add", "--immediate", "--follow", "--", bench.tools.svc, "true"), timeout=30, check=True)
            out["pueue add --immediate --follow, one after another"] = FOLLOWED / (time.monotonic() - t0)
            if q.finished()[0] != n + FOLLOWED:
                raise BenchError("pueue: a followed task did not succeed")
            return out


def _time(text: str) -> datetime:
    """RFC 3339, whose nine digits of fraction datetime does not read."""
    head, _, fraction = text.rstrip("Z").partition(".")
    return datetime.fromisoformat(f"{head}.{fraction[:6]:0<6}")
