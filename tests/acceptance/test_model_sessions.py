"""Repair by a model: real LLM workers, LiteLLM and HTTP; only the provider's words are scripted."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from schema.database import Database
from tests.support.command import Opmend
from tests.support.model_server import ModelServer, Script, calls, fails, raw_call, says
from tests.support.operators import lay_out_cohort

pytestmark = pytest.mark.timeout(600)

MODEL = "openai/scripted"
KERNEL = "kernel/tiny_add.h"
WRONG = """        Add(out, x, y, count);
        if (count != TILE) {
            Add(out, out, y, count);
        }
"""
RIGHT = "        Add(out, y, x, count);\n"
EXPLANATION = "Tiles that are not full add y a second time; one addition is the whole sum."


@pytest.fixture(scope="module")
def twice(folder: Path) -> Path:
    """A cohort of the operator that no rewrite mends."""
    return lay_out_cohort(folder / "twice", ["TwiceAdd"])


def run(stack: Opmend, model: ModelServer, cohort: Path, script: Script) -> tuple[int, dict[str, Any]]:
    """`opmend run` with a model that follows a script: exit code and the row of its one task."""
    model.script, model.requests = list(script), []
    done = stack("run", str(cohort), "--model", MODEL, "--json")
    assert not done.err, done
    (task,) = done.json()["tasks"]
    return done.code, task


def answers(model: ModelServer) -> list[str]:
    """What the tools answered in the last request's transcript, in order."""
    return [message["content"] for message in model.requests[-1]["messages"] if message["role"] == "tool"]


def test_a_session_reads_edits_compiles_and_submits(stack: Opmend, model: ModelServer, twice: Path) -> None:
    code, task = run(
        stack,
        model,
        twice,
        [
            calls("list_files"),
            says("Let me think about tails."),
            raw_call("read_file", "{not json"),
            calls("read_file", path=KERNEL),
            calls("edit_file", path="model_new_ascendc.py", old="import torch", new="import os"),
            calls("edit_file", path=KERNEL, old=WRONG, new=RIGHT),
            calls("compile"),
            calls("submit", explanation=EXPLANATION, direction=f"double-add @ {KERNEL}"),
        ],
    )
    assert code == 0
    assert (task["outcome"], task["rounds"], task["turns"]) == ("passed", 1, 8)
    assert task["tokens"] == {"input": 480, "output": 80, "cache_creation": 0, "cache_read": 320}
    assert task["match_rate"] == {"baseline": 0.4, "compact": 1.0, "full": 1.0}
    assert task["verdict"] == "CLEAN"
    assert "8 turns, 880 tokens" in " ".join(stack("report").out.split())

    first = json.dumps(model.requests[0]["messages"])
    assert "TwiceAdd" in first
    assert "return x + y" in first  # the specification
    assert "elements differ" in first  # the failure
    told = answers(model)
    assert KERNEL in told[0]
    assert "kernel/" in told[3]  # the refusal names where a session may edit
    assert "refus" in told[3] or "only" in told[3].lower()
    assert told[-1] == "It compiles."

    files = {line["content"] for line in stack.json("blame", KERNEL, "--task", str(task["task"]))}
    assert RIGHT.strip() in {line.strip() for line in files}
    lines = stack.json("blame", KERNEL, "--task", str(task["task"]))
    number = next(line["line"] for line in lines if line["content"].strip() == RIGHT.strip())
    why = stack("why", f"{KERNEL}:{number}", "--task", str(task["task"]))
    assert why.code == 0, why
    words = " ".join(why.out.split())
    assert f"model {MODEL}" in words
    assert EXPLANATION in words
    assert "failed benchmark:" in words
    adapter = stack.json("blame", "model_new_ascendc.py", "--task", str(task["task"]))
    assert not any(line["benchmarks"] for line in adapter)
    for command in ("replay", "verify"):
        assert stack(command, str(task["task"])).code == 0


def test_edits_outside_the_kernel_come_to_nothing(stack: Opmend, model: ModelServer, twice: Path) -> None:
    code, task = run(
        stack,
        model,
        twice,
        [
            calls("write_file", path="model.py", text="class Model: pass\n"),
            calls("write_file", path="kernel/../cases.toml", text="cases = []\n"),
            calls("write_file", path="/etc/motd", text="hello\n"),
            calls("submit", explanation="The reference was wrong.", direction="reference @ model.py"),
        ],
    )
    assert code == 0
    assert (task["outcome"], task["turns"]) == ("stopped", 4)
    assert all("kernel/" in answer for answer in answers(model)[:3])
    told = stack.json("show", str(task["task"]))
    assert told["tree"] == told["baseline"]
    assert not Path("/etc/motd").exists() or Path("/etc/motd").read_text() != "hello\n"


def test_a_provider_that_fails_is_infrastructure_and_blames_nobody(
    stack: Opmend, model: ModelServer, twice: Path
) -> None:
    code, task = run(stack, model, twice, [fails(401, "no such key")])
    assert code == 3
    assert (task["outcome"], task["turns"]) == ("infrastructure", 0)
    assert "AuthenticationError" in task["reason"]
    assert sum(task["tokens"].values()) == 0
    assert task["match_rate"]["baseline"] == 0.4
    assert stack("replay", str(task["task"])).code == 0


def test_the_key_is_neither_stored_nor_logged(
    stack: Opmend, store: Database, model: ModelServer, twice: Path
) -> None:
    key = stack.environment["OPENAI_API_KEY"]
    said = f"I say {uuid.uuid4()} and then nothing."
    run(stack, model, twice, [says(said), calls("give_up", reason="no idea")])
    with store.transaction() as session:
        for table, column in (("events", "data"), ("jobs", "payload"), ("jobs", "result")):
            query = text(f"SELECT count(*) FROM {table} WHERE position(:key IN {column}::text) > 0")
            assert session.execute(query, {"key": key}).scalar_one() == 0, table
        blobs = text("SELECT count(*) FROM blobs WHERE position(convert_to(:key, 'UTF8') IN data) > 0")
        assert session.execute(blobs, {"key": key}).scalar_one() == 0
        # The search finds what is there: what the model said is in a transcript.
        assert session.execute(blobs, {"key": said}).scalar_one() > 0
    for log in (stack.home / "logs").iterdir():
        assert key not in log.read_text(errors="replace"), log
