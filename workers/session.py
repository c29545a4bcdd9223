"""One turn of a repair session: one model reply with its tool results.

The transcript is a blob; a turn reads it, adds to it and stores a new one, so a worker that dies
costs one turn. What only the engine may do (compile, probe, submit) ends the turn as a request.
"""

import json
from typing import Any

from sqlalchemy.dialects.postgresql import insert

from schema.blobs import get_blob, get_tree, put_blob, put_tree
from schema.errors import BadInput
from schema.execute import Work
from schema.jobs import ToolRequest, TurnPayload, TurnResult
from schema.tables import ModelCall
from schema.texts import shown
from workers.llm.client import Reply, ToolCall, complete
from workers.llm.replies import parse_object
from workers.prompts import SYSTEM, first_message
from workers.tools import ENGINE_TOOLS, TOOLS, Desk, run_tool

TRANSCRIPT_MEDIA_TYPE = "application/vnd.opmend.transcript+json"
NUDGE = "Go on with a tool call: edit the kernel, or call submit or give_up."


def turn(work: Work) -> TurnResult:
    """Handle a turn job.

    Raises:
        InfrastructureError: the provider failed; the job is tried again.
        JobLost: the result can't count any more; nobody waits for the reply.
    """
    payload = TurnPayload.model_validate(work.payload)
    with work.database.transaction() as session:
        desk = Desk(files=get_tree(session, payload.tree))
        messages = _messages(
            payload,
            desk.files,
            json.loads(get_blob(session, payload.transcript)) if payload.transcript is not None else None,
        )
    reply = complete(payload.model, messages, TOOLS, lost=work.lost)
    messages.append(reply.content)
    request, detail = _answer(reply, desk, messages)
    with work.database.transaction() as session:
        tree = put_tree(session, desk.files)
        transcript = put_blob(
            # A reply may hold half a surrogate pair, which no provider takes back.
            session,
            shown(json.dumps(messages, ensure_ascii=False)).encode(),
            media_type=TRANSCRIPT_MEDIA_TYPE,
        )
        _record(work, payload, reply, session)
    return TurnResult(tree=tree, transcript=transcript, request=request, detail=detail, tokens=reply.tokens)


def _messages(
    payload: TurnPayload, files: dict[str, str], known: list[dict[str, Any]] | None
) -> list[dict[str, Any]]:
    if known is None:
        return [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": first_message(payload.brief, files)},
        ]
    if payload.answer is None:
        return known
    pending = _pending(known)
    if pending is not None:
        known.append({"role": "tool", "tool_call_id": pending, "content": payload.answer})
    else:
        known.append({"role": "user", "content": payload.answer})
    return known


def _pending(messages: list[dict[str, Any]]) -> str | None:
    """The id of the tool call that has no answer yet: the one the engine was asked for."""
    answered = {message.get("tool_call_id") for message in messages if message["role"] == "tool"}
    for message in reversed(messages):
        for call in message.get("tool_calls") or ():
            if call["id"] not in answered:
                return str(call["id"])
    return None


def _answer(reply: Reply, desk: Desk, messages: list[dict[str, Any]]) -> tuple[ToolRequest, dict[str, Any]]:
    if not reply.calls:
        messages.append({"role": "user", "content": NUDGE})
        return ToolRequest.NONE, {}
    request, detail = ToolRequest.NONE, {}
    for call in reply.calls:
        wanted = ENGINE_TOOLS.get(call.name)
        if wanted is not None and request is ToolRequest.NONE:
            request, detail = wanted, _detail(call)
            continue  # answered by the engine, in the next turn
        text = (
            "one request to the engine at a time; ask again" if wanted is not None else run_tool(call, desk)
        )
        messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
    return request, detail


def _detail(call: ToolCall) -> dict[str, Any]:
    try:
        found = parse_object(call.arguments)
        return {shown(key): shown(value) for key, value in found.items() if isinstance(value, str)}
    except BadInput:
        return {}


def _record(work: Work, payload: TurnPayload, reply: Reply, session: Any) -> None:
    session.execute(
        insert(ModelCall)
        .values(
            task_id=work.claim.task_id,
            job_id=work.claim.job_id,
            session=payload.session,
            turn=payload.turn,
            message=reply.message,
            model=payload.model,
            input_tokens=reply.tokens.input,
            output_tokens=reply.tokens.output,
            cache_creation_tokens=reply.tokens.cache_creation,
            cache_read_tokens=reply.tokens.cache_read,
            seconds=reply.seconds,
        )
        # A provider's record that arrives twice counts once (paper S2.4).
        .on_conflict_do_nothing(index_elements=["session", "message"])
    )
