"""A scripted model: a real HTTP server that speaks the OpenAI protocol and plays back replies.

The only fake of the test suite. LiteLLM talks to it over a real socket, as to any provider.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Script = list[dict[str, Any]]


def says(text: str) -> dict[str, Any]:
    """A reply of plain text."""
    return {"content": text}


def calls(name: str, **arguments: Any) -> dict[str, Any]:
    """A reply with one tool call."""
    return {"calls": [(name, json.dumps(arguments))]}


def raw_call(name: str, arguments: str) -> dict[str, Any]:
    """A reply with one tool call whose arguments are this very text."""
    return {"calls": [(name, arguments)]}


def fails(status: int, message: str = "scripted failure") -> dict[str, Any]:
    """An HTTP error instead of a reply."""
    return {"status": status, "message": message}


def hangs() -> dict[str, Any]:
    """No reply: the server keeps the connection until the other end closes it."""
    return {"hangs": True}


class ModelServer:
    """Plays a script; when it is used up, repeats its last reply.

    Attributes:
        requests: what was asked.
        abandoned: how many connections without a reply the other end has closed.
    """

    def __init__(self, script: Script) -> None:
        self.script = list(script)
        self.requests: list[dict[str, Any]] = []
        self.abandoned = 0
        self._lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                step, number = server.next_step(body)
                if "hangs" in step:
                    self.connection.recv(1)
                    server.abandoned += 1
                    return
                status, answer = server.answer(step, number, body)
                data = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                """Stay quiet."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_address[1]}/v1"

    def next_step(self, body: dict[str, Any]) -> tuple[dict[str, Any], int]:
        """The step of the script that a request meets, and the request's number."""
        with self._lock:
            number = len(self.requests)
            self.requests.append(body)
        return self.script[min(number, len(self.script) - 1)], number

    def answer(self, step: dict[str, Any], number: int, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and document of a reply."""
        if "status" in step:
            return step["status"], {"error": {"message": step["message"], "type": "scripted", "code": None}}
        message: dict[str, Any] = {"role": "assistant", "content": step.get("content")}
        if "calls" in step:
            message["tool_calls"] = [
                {
                    "id": f"call_{number}_{index}",
                    "type": "function",
                    "function": {"name": name, "arguments": text},
                }
                for index, (name, text) in enumerate(step["calls"])
            ]
        return 200, {
            "id": f"reply-{number}",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [
                {"index": 0, "message": message, "finish_reason": "tool_calls" if "calls" in step else "stop"}
            ],
            "usage": {
                "prompt_tokens": 100,
                "completion_tokens": 10,
                "total_tokens": 110,
                "prompt_tokens_details": {"cached_tokens": 40},
            },
        }


@contextmanager
def model_server(script: Script) -> Iterator[ModelServer]:
    """A running scripted model on a loopback port."""
    server = ModelServer(script)
    thread = threading.Thread(target=server.http.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.http.shutdown()
        server.http.server_close()
        thread.join()
