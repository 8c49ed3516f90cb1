"""How each agent is set up offline: its settings files, its variables and its command."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

KEY = "sk-ant-dummy-0123456789abcdefghij"


@dataclass(frozen=True)
class Seat:
    """Where an agent is set up."""

    home: Path
    folder: Path
    port: int
    # Commands need a person's consent, but for those that begin with these words.
    asks: bool
    harmless: tuple[str, ...]


@dataclass(frozen=True)
class Recipe:
    name: str
    command: list[str]
    resume: list[str]
    settings: Callable[[Seat], dict[str, str]]
    # What is on the screen while a dialog is, without blanks: only to know when it is there.
    permission: str
    question: str
    # A key that declines a dialog.
    decline: bytes = b"\x1b"


def claude(seat: Seat) -> dict[str, str]:
    write(seat.home / ".claude.json", json.dumps({
        "hasCompletedOnboarding": True,
        "customApiKeyResponses": {"approved": [KEY[-20:]]},
        "projects": {str(seat.folder): {"hasTrustDialogAccepted": True}},
    }))
    allowed = [f"Bash({command}:*)" for command in seat.harmless] if seat.asks else ["Bash"]
    # In its auto mode a newer version asks the model, not a person, whether a command may run.
    write(seat.home / ".claude/settings.json", json.dumps({"permissions": {"allow": allowed, "disableAutoMode": "disable"}}))
    return {
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{seat.port}",
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
    }


def codex_settings(with_daemon: bool) -> Callable[[Seat], dict[str, str]]:
    def codex(seat: Seat) -> dict[str, str]:
        policy, sandbox = ("on-request", "workspace-write") if seat.asks else ("never", "danger-full-access")
        write(seat.home / ".codex/config.toml", f"""
model = "gpt-5-mock"
model_provider = "mock"
approval_policy = "{policy}"
sandbox_mode = "{sandbox}"
check_for_update_on_startup = false
# Or no command in its sandbox reaches Ostler's socket.
[sandbox_workspace_write]
network_access = true
[model_providers.mock]
name = "mock"
base_url = "http://127.0.0.1:{seat.port}/v1"
wire_api = "responses"
env_key = "MOCK_KEY"
[projects."{seat.folder}"]
trust_level = "trusted"
[features]
daemon_auto_start = {str(with_daemon).lower()}
default_mode_request_user_input = true
""")
        return {"MOCK_KEY": "x"}

    return codex


def opencode(seat: Seat) -> dict[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Mock",
        "options": {"baseURL": f"http://127.0.0.1:{seat.port}/v1", "apiKey": "x"},
        "models": {"m1": {"name": "m1"}},
    }
    document: dict = {"autoupdate": False, "share": "disabled", "model": "mock/m1", "small_model": "mock/m1", "provider": {"mock": provider}}
    if seat.asks:
        document["permission"] = {"bash": {"*": "ask", **{f"{command}*": "allow" for command in seat.harmless}}}
    write(seat.home / ".config/opencode/opencode.json", json.dumps(document))
    return {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "true"}


def pi(seat: Seat) -> dict[str, str]:
    provider = {"baseUrl": f"http://127.0.0.1:{seat.port}/v1", "api": "openai-completions", "apiKey": "x", "models": [{"id": "m1"}]}
    write(seat.home / ".pi/agent/models.json", json.dumps({"providers": {"mock": provider}}))
    write(seat.home / ".pi/agent/settings.json", json.dumps({"defaultProvider": "mock", "defaultModel": "m1"}))
    return {"PI_OFFLINE": "1"}


def qwen(seat: Seat) -> dict[str, str]:
    document = {"security": {"auth": {"selectedType": "openai"}}, "model": {"name": "m1"}, "tools": {"approvalMode": "default"}, "ui": {"enableFollowupSuggestions": False}}
    write(seat.home / ".qwen/settings.json", json.dumps(document))
    return {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": f"http://127.0.0.1:{seat.port}/v1", "OPENAI_MODEL": "m1"}


def waits(seconds: int) -> str:
    """A command that takes so long. Newer Claude Code refuses a `sleep` of some seconds, and asks before it reads a device."""
    return f"python3 -c 'import time; time.sleep({seconds})'"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe("claude", ["claude"], ["claude", "--continue"], claude, "Doyouwantto", "Entertoselect"),
        Recipe("codex", ["codex"], ["codex", "resume", "--last"], codex_settings(False), "Wouldyoulike", "Whichcolour"),
        Recipe("codex-daemon", ["codex"], ["codex", "resume", "--last"], codex_settings(True), "Wouldyoulike", "Whichcolour"),
        Recipe("opencode", ["opencode"], ["opencode", "--continue"], opencode, "Permissionrequired", "Whichcolour"),
        # Tried with nudges only, where they are installed.
        Recipe("pi", ["pi"], ["pi", "--continue"], pi, "", ""),
        Recipe("qwen", ["qwen"], ["qwen", "--continue"], qwen, "allowonce", ""),
    )
}
