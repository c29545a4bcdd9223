"""One reply of a model, by LiteLLM, over whatever the provider speaks.

LiteLLM is imported here alone and only when a reply is asked for: it takes seconds. A provider that
fails is infrastructure: it never counts against a candidate, a round or a model (design.md, Engine).
"""

import asyncio
import concurrent.futures
import os
import threading
import time
import uuid
from collections.abc import Coroutine, Sequence
from functools import cache
from typing import Any

from tenacity import (
    AsyncRetrying,
    retry_if_exception_type,
    stop_after_attempt,
    wait_exponential_jitter,
    wait_none,
)

from schema.errors import InfrastructureError, ToolchainMissing
from schema.jobs import Tokens
from schema.lost import go_on
from schema.results import Record

TIMEOUT = 600.0
ATTEMPTS = 5  # TraceCoder 6.4, C4: back off, up to five attempts
FIRST_WAIT, LONGEST_WAIT = 1.0, 80.0
_LOOK_SECONDS = 0.2  # how soon a reply is given up that nobody wants any more


class ToolCall(Record):
    """A tool call as the model wrote it; `arguments` is its raw text."""

    id: str
    name: str
    arguments: str


class Reply(Record):
    """One reply.

    Attributes:
        message: the provider's id of it; one of ours if it gives none.
        content: the assistant message as it goes back into the transcript.
    """

    message: str
    text: str
    calls: tuple[ToolCall, ...]
    tokens: Tokens
    seconds: float
    content: dict[str, Any]


def litellm() -> Any:
    """The LiteLLM module, quiet and without its call home.

    Raises:
        ToolchainMissing: it is not installed.
    """
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    try:
        import litellm as module
    except ImportError as error:
        raise ToolchainMissing("LiteLLM is not installed", mend="pip install 'opmend[llm]'") from error
    module.suppress_debug_info = True
    module.telemetry = False
    module.drop_params = True
    return module


def complete(
    model: str,
    messages: Sequence[dict[str, Any]],
    tools: Sequence[dict[str, Any]],
    *,
    waits: bool = True,
    lost: threading.Event | None = None,
) -> Reply:
    """Ask a model for its next message.

    Args:
        waits: whether to wait between attempts; tests of failures switch it off.
        lost: ends the call as soon as it is set: its connection is closed, and no other attempt is made.

    Raises:
        InfrastructureError: the provider failed, refused the key, or does not know the model.
        JobLost: `lost` was set.
    """
    go_on(lost)
    module = litellm()
    passing = (
        module.exceptions.RateLimitError,
        module.exceptions.Timeout,
        module.exceptions.APIConnectionError,
        module.exceptions.InternalServerError,
        module.exceptions.ServiceUnavailableError,
    )
    retrying = AsyncRetrying(
        retry=retry_if_exception_type(passing),
        stop=stop_after_attempt(ATTEMPTS),
        wait=wait_exponential_jitter(initial=FIRST_WAIT, max=LONGEST_WAIT) if waits else wait_none(),
        reraise=True,
    )
    started = time.monotonic()
    try:
        answer = _awaited(
            retrying(
                module.acompletion,
                model=model,
                messages=list(messages),
                tools=list(tools),
                timeout=TIMEOUT,
                num_retries=0,
            ),
            lost,
        )
    except module.exceptions.openai.OpenAIError as error:  # the root of all errors that LiteLLM raises
        raise _failed(model, error) from error
    return _reply(answer, time.monotonic() - started)


def _awaited(call: Coroutine[Any, Any, Any], lost: threading.Event | None) -> Any:
    """What a call comes to. It is cancelled when `lost` is set, or when this thread is told to stop."""
    future = asyncio.run_coroutine_threadsafe(call, _loop())
    try:
        while not concurrent.futures.wait([future], timeout=_LOOK_SECONDS).done:
            go_on(lost)
        return future.result()
    finally:
        future.cancel()


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """This process' event loop, in a thread of its own: a call that waits there can be cancelled from outside."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="model calls", daemon=True).start()
    return loop


def _failed(model: str, error: Exception) -> InfrastructureError:
    first = str(error).strip().splitlines()
    return InfrastructureError(
        f"the provider failed: {type(error).__name__}: {first[0][:300] if first else 'no reason given'}",
        where=model,
        mend="check the provider, its key and the model's name; the task goes on when a worker tries again",
    )


def _reply(answer: Any, seconds: float) -> Reply:
    message = answer.choices[0].message
    calls = tuple(
        ToolCall(
            id=call.id or f"call-{number}",
            name=call.function.name or "",
            arguments=call.function.arguments or "",
        )
        for number, call in enumerate(message.tool_calls or ())
    )
    content: dict[str, Any] = {"role": "assistant", "content": message.content or ""}
    if calls:
        content["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in calls
        ]
    return Reply(
        message=str(answer.id or uuid.uuid4()),
        text=message.content or "",
        calls=calls,
        tokens=tokens(answer.usage),
        seconds=seconds,
        content=content,
    )


def tokens(usage: Any) -> Tokens:
    """The four counts of paper S2.4 from LiteLLM's usage.

    LiteLLM's prompt_tokens hold the cached ones too; `input` here is what was neither read from nor
    written to a cache, so that the four add up to all tokens and none counts twice.
    """
    if usage is None:
        return Tokens()

    def count(name: str) -> int:
        value = getattr(usage, name, None)
        return int(value) if isinstance(value, int | float) else 0

    details = getattr(usage, "prompt_tokens_details", None)
    cached = getattr(details, "cached_tokens", None) if details is not None else None
    cache_read = count("cache_read_input_tokens") or (int(cached) if isinstance(cached, int) else 0)
    cache_creation = count("cache_creation_input_tokens")
    return Tokens(
        input=max(count("prompt_tokens") - cache_read - cache_creation, 0),
        output=count("completion_tokens"),
        cache_creation=cache_creation,
        cache_read=cache_read,
    )
