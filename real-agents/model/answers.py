"""The same answer in three APIs: an answer is text that comes at a pace, or one call of a tool."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator

from .prompts import Directive, Prompt

QUESTION = {
    "question": "Which colour do you want?",
    "header": "Colour",
    "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
}

Send = Callable[[str], None]


def pieces(directive: Directive | None, text: str) -> Iterator[str | None]:
    """The text of the answer; None stands for a second of silence."""
    if directive and directive.word == "SILENT":
        yield from [None] * directive.seconds
    if directive and directive.word == "STREAM":
        for number in range(directive.seconds):
            yield f"word{number} "
            time.sleep(1)
    yield text


def tool_call(prompt: Prompt, directive: Directive | None) -> tuple[str, dict] | None:
    """The tool and its arguments, if the answer is a call."""
    if directive is None:
        return None
    if directive.word == "ASK" and prompt.asker:
        extra = {"id": "q1"} if prompt.asker == "request_user_input" else {"multiSelect": False}
        if prompt.asker == "question":
            extra = {}
        return prompt.asker, {"questions": [{**QUESTION, **extra}]}
    if directive.word in ("BASH", "ESCALATE") and prompt.shell:
        if prompt.shell == "exec_command":
            consent = {"sandbox_permissions": "require_escalated", "justification": "it is needed"}
            # Or it answers while a long command still runs.
            return prompt.shell, {"cmd": directive.command, "yield_time_ms": 120_000, **(consent if directive.word == "ESCALATE" else {})}
        return prompt.shell, {"command": directive.command, "description": "run it"}
    return None


def refusal(api: str, directive: Directive | None) -> tuple[int, dict, dict] | None:
    """Status, headers and body of an answer that is an error."""
    if directive is None or directive.word not in ("LIMIT", "FAIL"):
        return None
    if directive.word == "FAIL":
        return directive.seconds, {}, {"type": "error", "error": {"type": "api_error", "message": "made to fail"}}
    seconds = directive.seconds
    if api == "messages":
        until = time.strftime("%Y-%m-%d at %H:%M UTC", time.gmtime(time.time() + seconds))
        text = f"You have reached your specified API usage limits. You will regain access on {until}."
        return 400, {}, {"type": "error", "error": {"type": "invalid_request_error", "message": text}}
    error = {"type": "usage_limit_reached", "message": "The usage limit has been reached", "plan_type": "plus"}
    error |= {"resets_at": int(time.time()) + seconds, "resets_in_seconds": seconds}
    return 429, {"retry-after": str(seconds)} if api == "chat" else {}, {"error": error}


def messages(prompt: Prompt, number: int, call: tuple[str, dict] | None, text: Iterator[str | None], send: Send) -> None:
    """Anthropic's."""

    def event(kind: str, **fields) -> None:
        send(f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n")

    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": prompt.model, "content": []}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 1}}
    event("message_start", message=message)
    if call:
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": call[0], "input": {}}
        event("content_block_start", index=0, content_block=block)
        event("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": json.dumps(call[1])})
    else:
        event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        for piece in text:
            if piece is None:
                event("ping")
                time.sleep(1)
            else:
                event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
    event("content_block_stop", index=0)
    stop = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
    event("message_delta", delta=stop, usage={"output_tokens": 5})
    event("message_stop")


def responses(prompt: Prompt, number: int, call: tuple[str, dict] | None, text: Iterator[str | None], send: Send) -> None:
    """OpenAI's newer one."""

    def event(kind: str, **fields) -> None:
        send(f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n")

    response = {"id": f"resp_{number}", "object": "response", "created_at": 0, "status": "in_progress", "model": prompt.model, "output": []}
    event("response.created", response=response)
    if call:
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": call[0]}
        item |= {"arguments": json.dumps(call[1]), "status": "completed"}
        event("response.output_item.added", output_index=0, item=item)
    else:
        item = {"type": "message", "id": f"item_{number}", "role": "assistant", "status": "completed", "content": []}
        event("response.output_item.added", output_index=0, item=item)
        whole = ""
        for piece in text:
            if piece is None:
                event("response.in_progress", response=response)
                time.sleep(1)
            else:
                whole += piece
                event("response.output_text.delta", item_id=item["id"], output_index=0, content_index=0, delta=piece)
        item["content"] = [{"type": "output_text", "text": whole, "annotations": []}]
    event("response.output_item.done", output_index=0, item=item)
    usage = {"input_tokens": 5, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 3}
    usage |= {"output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 8}
    event("response.completed", response={**response, "status": "completed", "output": [item], "usage": usage})


def chat(prompt: Prompt, number: int, call: tuple[str, dict] | None, text: Iterator[str | None], send: Send) -> None:
    """OpenAI's older one, which many others speak."""
    base = {"id": f"chat_{number}", "object": "chat.completion.chunk", "created": 0, "model": prompt.model}

    def chunk(delta: dict, finish: str | None = None) -> None:
        send(f"data: {json.dumps({**base, 'choices': [{'index': 0, 'delta': delta, 'finish_reason': finish}]})}\n\n")

    chunk({"role": "assistant", "content": ""})
    if call:
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        chunk({"tool_calls": [{"index": 0, "id": f"call_{number}", "type": "function", "function": function}]})
    else:
        for piece in text:
            if piece is None:
                send(": silence\n\n")
                time.sleep(1)
            else:
                chunk({"content": piece})
    chunk({}, "tool_calls" if call else "stop")
    usage = {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}
    send(f"data: {json.dumps({**base, 'choices': [], 'usage': usage})}\n\ndata: [DONE]\n\n")


def whole(prompt: Prompt, number: int, text: str) -> dict:
    """The answer to a request that does not want it in pieces."""
    if prompt.api == "messages":
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": prompt.model}
        message |= {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "stop_sequence": None}
        return message | {"usage": {"input_tokens": 10, "output_tokens": 5}}
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}
    return {"id": f"chat_{number}", "object": "chat.completion", "created": 0, "model": prompt.model, "choices": [choice], "usage": usage}


STREAMED = {"messages": messages, "responses": responses, "chat": chat}
