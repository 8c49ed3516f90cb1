"""Reads a request of an agent: which messages of the user are in it, and what the last one asks the stand-in model to do."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

APIS = {"/v1/messages": "messages", "/v1/responses": "responses", "/v1/chat/completions": "chat"}

# The names agents give to their shell tool and to the tool that asks the user.
SHELLS = ("Bash", "bash", "exec_command", "shell", "shell_command", "local_shell", "run_shell_command")
ASKERS = ("AskUserQuestion", "request_user_input", "question")

# Agents add texts of their own in the user's name. A text that a user typed never begins like these: the tests see to that.
OF_THE_AGENT = (
    "<system-reminder>",
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<turn_aborted>",
    "<collaboration_mode>",
    "# AGENTS.md instructions",
    "[Request interrupted by user",
    # Of Qwen Code's memory.
    "Managed memory has",
    # Claude Code, when it resumes a conversation that ended in the middle of a turn.
    "Continue from where you left off.",
)
# A message that came while the agent worked is wrapped by some of them.
WRAPPED = (
    re.compile(r"The user sent a new message while you were working:\n(.*?)\n\nIMPORTANT: ", re.S),
    re.compile(r"<system-reminder>\nThe user sent the following message:\n(.*?)\n\nPlease address this message and continue", re.S),
)

# Newer Claude Code marks a pasted text of several lines.
PASTED = re.compile(r'\s*<pasted_content id="([0-9a-f]+)">\n?(.*?)\n?</pasted_content id="\1">\s*', re.S)

DIRECTIVE = re.compile(r"\b(?:(SILENT|STREAM|LIMIT|FAIL):(\d+)|(BASH|ESCALATE):<<(.*?)>>|(ASK)\b)", re.S)


@dataclass(frozen=True)
class Directive:
    """What the model is to do. `seconds` is also the HTTP status of FAIL."""

    word: str
    seconds: int = 0
    command: str = ""


@dataclass
class Prompt:
    api: str
    users: list[str] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    # The newest entry is the result of a tool, not a message.
    is_after_tool: bool = False
    is_streamed: bool = False
    model: str = ""

    @property
    def shell(self) -> str | None:
        return next((name for name in self.tools if name in SHELLS), None)

    @property
    def asker(self) -> str | None:
        return next((name for name in self.tools if name in ASKERS), None)

    @property
    def is_side(self) -> bool:
        """Agents ask for titles and summaries as well: requests without a shell tool, or without a user's message, are not the
        conversation."""
        return self.shell is None or not self.users

    @property
    def directive(self) -> Directive | None:
        if self.is_side or self.is_after_tool or not self.users:
            return None
        found = DIRECTIVE.search(self.users[-1])
        if not found:
            return None
        pace, seconds, run, command, ask = found.groups()
        return Directive(pace or run or ask, int(seconds or 0), command or "")


def read(api: str, body: dict) -> Prompt:
    entries = body.get("input") if api == "responses" else body.get("messages")
    if isinstance(entries, str):
        entries = [{"role": "user", "content": entries}]
    prompt = Prompt(api, tools=[tool_name(tool) for tool in body.get("tools") or []])
    prompt.is_streamed, prompt.model = bool(body.get("stream")), str(body.get("model"))
    for entry in entries or []:
        if entry.get("type") == "function_call_output" or entry.get("role") == "tool":
            prompt.is_after_tool = True
            continue
        if entry.get("role") not in ("user", "system"):
            continue
        for text, is_result in parts(entry.get("content")):
            if is_result:
                prompt.is_after_tool = True
                continue
            for message in messages(text, entry["role"]):
                prompt.users.append(message)
                prompt.is_after_tool = False
    return prompt


def tool_name(tool: dict) -> str:
    return tool.get("name") or (tool.get("function") or {}).get("name") or tool.get("type") or ""


def parts(content) -> list[tuple[str, bool]]:
    """The texts of a message, each with whether it is the result of a tool."""
    if isinstance(content, str):
        return [(content, False)]
    found = []
    for part in content or []:
        if isinstance(part, str):
            found.append((part, False))
        elif part.get("type") in ("text", "input_text"):
            found.append((part.get("text") or "", False))
        elif part.get("type") == "tool_result":
            found.append(("", True))
    return found


def messages(text: str, role: str) -> list[str]:
    """What of a text the user wrote."""
    wrapped = [found for pattern in WRAPPED for found in pattern.findall(text)]
    if wrapped or role == "system":
        return wrapped
    if not text.strip() or text.lstrip().startswith(OF_THE_AGENT):
        return []
    pasted = PASTED.fullmatch(text)
    return [pasted.group(2) if pasted else text]
