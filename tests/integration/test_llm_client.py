"""LiteLLM against a scripted model, over real HTTP."""

import importlib.util
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from schema.errors import InfrastructureError, JobLost
from workers.llm.check import check
from workers.llm.client import complete
from workers.tools import TOOLS

MESSAGES = [{"role": "user", "content": "hello"}]


def load_server() -> ModuleType:
    path = Path(__file__).parent.parent / "support" / "model_server.py"
    spec = importlib.util.spec_from_file_location("model_server", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["model_server"] = module
    spec.loader.exec_module(module)
    return module


server = load_server()


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")


pytestmark = [
    # LiteLLM's own code warns; none of it is ours.
    pytest.mark.filterwarnings("ignore"),
]


def ask(monkeypatch: pytest.MonkeyPatch, script: list) -> object:
    with server.model_server(script) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_BASE", running.url)
        return complete("openai/scripted", MESSAGES, TOOLS, waits=False), running.requests


def test_a_reply_brings_its_tool_calls_and_each_token_once(monkeypatch: pytest.MonkeyPatch) -> None:
    reply, requests = ask(monkeypatch, [server.calls("read_file", path="kernel/a.cpp")])
    assert [call.name for call in reply.calls] == ["read_file"]
    assert (reply.tokens.input, reply.tokens.output, reply.tokens.cache_read) == (60, 10, 40)
    assert reply.message == "reply-0"
    assert {tool["function"]["name"] for tool in requests[0]["tools"]} >= {"edit_file", "submit"}


def test_a_busy_provider_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    reply, requests = ask(monkeypatch, [server.fails(429), server.fails(500), server.says("there")])
    assert reply.text == "there"
    assert len(requests) == 3


@pytest.mark.parametrize("status", [400, 401, 404, 500])
def test_a_provider_that_fails_is_infrastructure_in_one_line(
    monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    with pytest.raises(InfrastructureError) as caught:
        ask(monkeypatch, [server.fails(status)])
    assert "\n" not in str(caught.value)
    assert "test-key" not in str(caught.value)


def test_a_call_that_nobody_waits_for_is_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    with server.model_server([server.hangs()]) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_BASE", running.url)
        lost = threading.Event()
        watcher = threading.Thread(target=lambda: set_when(lambda: running.requests, lost))
        watcher.start()
        with pytest.raises(JobLost):
            complete("openai/scripted", MESSAGES, TOOLS, lost=lost)
        watcher.join()
        closed = threading.Event()
        set_when(lambda: running.abandoned, closed)
        assert (closed.is_set(), len(running.requests)) == (True, 1)


def test_nobody_waits_between_two_attempts_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = threading.Event()
    with server.model_server([server.fails(429)]) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_BASE", running.url)
        watcher = threading.Thread(target=lambda: set_when(lambda: running.requests, lost))
        watcher.start()
        with pytest.raises(JobLost):
            complete("openai/scripted", MESSAGES, TOOLS, lost=lost)
        watcher.join()
        asked = len(running.requests)
        time.sleep(3)
        assert len(running.requests) == asked < 5


def set_when(condition: Callable[[], object], event: threading.Event) -> None:
    """Set the event once the condition holds; leave it where that takes too long."""
    deadline = time.monotonic() + 20
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    if condition():
        event.set()


def test_names_are_known_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check("openai/anything")["known"]
    assert not check("no-such-provider/x")["known"]
    monkeypatch.delenv("OPENAI_API_KEY")
    assert "OPENAI_API_KEY" in str(check("openai/anything")["what"])
