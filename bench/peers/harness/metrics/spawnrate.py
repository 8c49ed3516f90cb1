"""One-shot spawn rate: trivial commands run to completion with their exit status known."""

from __future__ import annotations

import shutil
import subprocess
import sys

from ..stats import summary

NAME = "spawnrate"
TITLE = "One-shot spawn rate"
DEFINITION = (
    "Trivial static commands run to completion a second, the exit status of each collected. Limits: C loops (fork+exec, "
    "posix_spawn; one or two in flight), bash, Python subprocess, Node child_process. ostler: `ostler run` one after "
    "another, and 32 in flight over one connection, the exit record of each waited for. pueue: queued while paused, two "
    "in parallel, first task's start -> last one's end by pueue's own record, all Success (run), the rate of `pueue "
    "add` commands itself (add), and one at a time through add --immediate --follow. systemd: systemctl start of a "
    "Type=oneshot unit, one after another.")

NODE = """
const {spawn, spawnSync} = require('child_process');
const [mode, n, exe] = [process.argv[1], +process.argv[2], process.argv[3]];
const t0 = process.hrtime.bigint(); const done = () =>
  console.log(Number(process.hrtime.bigint() - t0) / 1e9);
if (mode === 'sync') { for (let i = 0; i < n; i++) if (spawnSync(exe, ['true']).status !== 0) process.exit(1); done(); }
else { let s = 0, d = 0; const go = () => { while (s < n && s - d < 2) { s++;
  spawn(exe, ['true'], {stdio: 'ignore'}).on('exit', c => { if (c) process.exit(1); if (++d === n) done(); else go(); }); } };
  go(); }
"""
PYTHON = """
import subprocess, sys, time
n, exe = int(sys.argv[1]), sys.argv[2]
t0 = time.monotonic()
for _ in range(n):
    subprocess.run([exe, "true"], check=True)
print(time.monotonic() - t0)
"""
BASH = ('t0=$EPOCHREALTIME; for ((i=0;i<$0;i++)); do "$1" true || exit 1; done; '
        't1=$EPOCHREALTIME; echo "$((10#${t1/./} - 10#${t0/./}))e-6"')


def _rate(argv: list[str], n: int) -> float:
    out = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    return n / float(out.split()[0])


def loops(bench) -> dict[str, float]:
    n, exe, loop = bench.opt.oneshots, bench.tools.svc, bench.tools.spawnloop
    out = {}
    for mode in ("fork", "posix_spawn"):
        for inflight in (1, 2):
            out[f"C {mode}, {inflight} in flight"] = _rate([loop, mode, str(n), str(inflight), exe, "true"], n)
    out["bash loop"] = _rate(["bash", "-c", BASH, str(n), exe], n)
    out["Python subprocess.run"] = _rate([sys.executable, "-c", PYTHON, str(n // 2), exe], n // 2)
    if shutil.which("node") is None:
        return out
    out["Node spawnSync"] = _rate(["node", "-e", NODE, "sync", str(n // 4), exe], n // 4)
    out["Node spawn, 2 in flight"] = _rate(["node", "-e", NODE, "async", str(n // 4), exe], n // 4)
    return out


def extra(bench) -> dict:
    return {"(loops)": lambda: loops(bench)}


def applies(cls) -> bool:
    return hasattr(cls, "oneshot_rate")


def run(bench, cls) -> dict:
    return cls.oneshot_rate(bench, bench.opt.oneshots)


def merge(rounds: list[dict]) -> dict:
    return {k: summary((r[k] for r in rounds), 1) for k in rounds[0]}
