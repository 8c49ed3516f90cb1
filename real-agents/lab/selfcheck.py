"""Before anything runs: the oracle sees what is broken on purpose."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from types import SimpleNamespace

from model import prompts

from .ledger import Entry, Ledger
from .oracle import Oracle

# What reached the model, what the receipts say, and the problem that is to be seen.
CASES = (
    (["a", "b"], {"a": "delivered", "b": "delivered"}, None),
    (["a"], {"a": "delivered", "b": "delivered"}, "lost"),
    (["a", "a"], {"a": "delivered"}, "doubled"),
    (["a", "b"], {"a": "delivered", "b": "refused"}, "sent all the same"),
    (["a", "b"], {"a": "delivered", "b": "not-sent"}, "sent all the same"),
    (["half a line a"], {"a": "delivered"}, "mixed"),
    (["a b"], {"a": "delivered", "b": "delivered"}, "mixed"),
    (["a"], {"a": "delivered", "b": "queued"}, "still queued"),
    ([" e\u0301\t\x1bx "], {"\u00e9 x": "delivered"}, None),
)


def wrong() -> list[str]:
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for number, (users, receipts, wanted) in enumerate(CASES):
            problems = " ".join(judge(Path(folder) / f"{number}.log", users, receipts))
            if (wanted or "") not in problems or (wanted is None and problems):
                found.append(f"{users} with {receipts} is judged as {problems!r}, not as {wanted!r}")
    for api, body, users, is_side in REQUESTS:
        prompt = prompts.read(api, body)
        if (prompt.users, prompt.is_side) != (users, is_side):
            found.append(f"{body} is read as {prompt.users}, side: {prompt.is_side}")
    return found


def judge(log: Path, users: list[str], receipts: dict[str, str]) -> list[str]:
    request = {"n": 1, "side": False, "after_tool": False, "directive": None, "users": users}
    log.write_text(json.dumps(request) + "\n" + json.dumps({"n": 1, "end": "done"}) + "\n")
    world = SimpleNamespace(oracle=Oracle(log), nudges=dict)
    world.oracle.wait = lambda until, seconds: until()
    entries = [Entry(text, receipt, "", "made up", None) for text, receipt in receipts.items()]
    return Ledger(world, entries).check()


SHELL = [{"name": "Bash"}]
REMINDER = {"type": "text", "text": "<system-reminder>the date</system-reminder>"}
BUSY = "The user sent a new message while you were working:\nb\n\nIMPORTANT: After"
REQUESTS = (
    ("messages", {"tools": SHELL, "messages": [{"role": "user", "content": [REMINDER, {"type": "text", "text": "a"}]}]}, ["a"], False),
    ("messages", {"tools": SHELL, "messages": [{"role": "user", "content": "a"}, {"role": "system", "content": BUSY}]}, ["a", "b"], False),
    ("messages", {"tools": [], "messages": [{"role": "user", "content": "<session>\na\n</session>"}]}, ["<session>\na\n</session>"], True),
    ("responses", {"tools": [{"type": "function", "name": "exec_command"}], "input": [
        {"role": "developer", "content": [{"type": "input_text", "text": "rules"}]},
        {"role": "user", "content": [{"type": "input_text", "text": "<environment_context>x</environment_context>"}]},
        {"role": "user", "content": [{"type": "input_text", "text": "a"}]},
        {"type": "function_call_output", "output": "done"},
    ]}, ["a"], False),
    ("chat", {"tools": [{"type": "function", "function": {"name": "bash"}}], "messages": [{"role": "system", "content": "rules"}, {"role": "user", "content": "a"}]}, ["a"], False),
)
