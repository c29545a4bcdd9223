"""Exports of a task's provenance: git, Agent Trace, what holds for all, and the command."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text as sql
from sqlalchemy.orm import Session

from coordinator.export import FORMATS
from coordinator.export.objects import commits
from schema.benchmarks import benchmark_id
from schema.database import Database
from schema.errors import BadInput
from schema.results import CaseStatus
from schema.snippets import FailureCause, read_files
from schema.tables import (
    Revision,
)
from schema.texts import bytes_of, text_of
from tests.support.formats import (
    authorship,
    git,
    judged_git,
    judged_prov,
    judged_sarif,
    judged_statements,
    judged_traces,
)
from tests.support.told import BARE, KERNEL, PADDED, SECRET, Told, new_task, tell, validate, write


@pytest.fixture
def told(database: Database) -> Iterator[Told]:
    with database.transaction() as session:
        yield tell(session)


def test_git_has_a_commit_a_revision_with_the_bytes_of_the_store(told: Told, tmp_path: Path) -> None:
    repository = told.repository(tmp_path / "r")
    found = judged_git(repository)
    assert found == commits(told.session, told.source())
    assert len(found) == 5
    for revision, commit in enumerate(found):
        files = told.bytes_at(revision)
        names = git(repository, "ls-tree", "-r", "-z", "--name-only", commit).decode().split("\0")[:-1]
        assert names == sorted(files, key=str.encode)
        for path, data in files.items():
            assert git(repository, "cat-file", "blob", f"{commit}:{path}") == data, (revision, path)
    assert git(repository, "rev-parse", "round-3", "round-1").decode().split() == [found[4], found[1]]


def test_git_says_who_when_and_why(told: Told, tmp_path: Path) -> None:
    repository = told.repository(tmp_path / "r")
    judged_git(repository)
    form = "%an|%ae|%cn|%ce|%at|%ct|%ad|%B%x00"
    logged = git(repository, "log", "--reverse", "--date=iso", f"--format={form}", "main").decode()
    entries = [entry.lstrip("\n").split("|", 7) for entry in logged.split("\0")[:-1]]
    authors = [(entry[0], entry[1]) for entry in entries if len(entry) == 8]
    assert authors == [
        ("baseline", "baseline@opmend.invalid"),
        ("datacopy-pad", "datacopy-pad@entries.opmend.invalid"),
        *[("provider/some-model", "provider-some-model@models.opmend.invalid")] * 2,
        ("opmend", "opmend@opmend.invalid"),
    ]
    made = told.session.get_one(Revision, (told.task.id, 1)).created_at
    for entry in entries:
        assert entry[2:4] == ["opmend", "opmend@opmend.invalid"]
        assert entry[4] == entry[5] == str(int(made.timestamp()))  # one transaction, one time
        assert entry[6].endswith(" +0000")
    body = entries[1][7]
    assert body.startswith(
        "Round 1: datacopy-pad @ kernel/add.cpp\n\nFailed benchmarks:\n- float16[7] #3: expected 1.5"
    )
    assert "Explanation: the tail is not aligned" in body
    trailers = git(repository, "log", "-1", "--format=%(trailers:only,unfold)", "round-1").decode()
    assert {"Opmend-Round: 1", "Opmend-Cause: rewrite", "Opmend-Entry: datacopy-pad"} <= set(
        trailers.splitlines()
    )


def test_two_git_exports_are_one(told: Told, tmp_path: Path) -> None:
    references = [
        git(told.repository(tmp_path / name), "for-each-ref", "--format=%(objectname) %(refname)")
        for name in ("a", "b")
    ]
    assert references[0] == references[1]
    assert references[0].count(b"\n") == 6  # main, four rounds, notes
    # An earlier revision's export is the beginning of a later one's.
    assert judged_git(told.repository(tmp_path / "c", 2)) == judged_git(tmp_path / "a")[:3]


def test_no_export_depends_on_the_time_zone_of_a_session(told: Told) -> None:
    before = [told.text(name) for name in FORMATS if not FORMATS[name].directory]
    told.session.execute(sql("SET LOCAL TIME ZONE 'Asia/Kolkata'"))
    told.session.expire_all()
    assert [told.text(name) for name in FORMATS if not FORMATS[name].directory] == before


def test_notes_attest_the_lines_of_their_commit(told: Told, tmp_path: Path) -> None:
    repository = told.repository(tmp_path / "r")
    found = judged_git(repository)
    listed = git(repository, "notes", "--ref=ai", "list").decode().split()
    assert sorted(listed[1::2]) == sorted(found)
    notes = [authorship(git(repository, "notes", "--ref=ai", "show", one).decode()) for one in found]
    for commit, (_, log) in zip(found, notes, strict=True):
        assert log["base_commit_sha"] == commit
    assert notes[0][0] == {}
    assert notes[0][1]["prompts"] == {}
    (rewrite,) = notes[1][1]["prompts"]
    assert notes[1][0] == {"kernel/add.cpp": {rewrite: [5]}}
    assert (
        rewrite
        == hashlib.sha256(f"opmend:{notes[1][1]['prompts'][rewrite]['agent_id']['id']}".encode()).hexdigest()[
            :16
        ]
    )
    (session,) = notes[2][1]["prompts"]
    assert notes[2][0] == {
        "kernel/add.cpp": {session: [6]},
        "kernel/data/odd file.txt": {session: [1, 2, 3, 4, 5]},
    }
    # What the checkpoint brought back was written by the rewrite and the first session.
    assert notes[4][0] == {
        "kernel/add.cpp": {rewrite: [5]},
        "kernel/data/odd file.txt": {session: [1, 2, 3, 4, 5]},
    }
    assert notes[4][1]["prompts"][rewrite]["accepted_lines"] == 1


def test_a_trace_record_is_found_as_the_rfc_says(told: Told, tmp_path: Path) -> None:
    repository = told.repository(tmp_path / "r")
    records = {record["vcs"]["revision"]: record for record in judged_traces(told.text("agent-trace"))}
    assert list(records) == judged_git(repository)
    for path in ("kernel/add.cpp", "kernel/data/odd file.txt", "model.py"):
        blame = git(repository, "blame", "--porcelain", "main", "--", path)
        lines = [line.split() for line in blame.split(b"\n")]
        headers = [line for line in lines if len(line) >= 3 and len(line[0]) == 40 and line[1].isdigit()]
        for header in headers:
            record = records[header[0].decode()]
            (file,) = [file for file in record["files"] if file["path"] == path]
            holders = [
                conversation
                for conversation in file["conversations"]
                for one in conversation["ranges"]
                if one["start_line"] <= int(header[1]) <= one["end_line"]
            ]
            assert len(holders) == 1, (path, header)
    kinds = [
        conversation["contributor"]
        for record in records.values()
        for file in record["files"]
        if file["path"] == "kernel/add.cpp"
        for conversation in file["conversations"]
    ]
    assert kinds == [
        {"type": "unknown"},
        {"type": "ai", "model_id": "opmend/kb"},
        {"type": "ai", "model_id": "provider/some-model"},
        {"type": "ai", "model_id": "provider/some-model"},
        {"type": "ai", "model_id": "opmend/kb"},
    ]


def test_a_content_hash_is_over_the_bytes_of_its_range(told: Told) -> None:
    checked = 0
    for revision, record in enumerate(judged_traces(told.text("agent-trace"))):
        files = told.bytes_at(revision)
        for file in record["files"]:
            lines = files[file["path"]].splitlines(keepends=True)
            lines = [part + b"\n" for part in files[file["path"]].split(b"\n")]
            lines[-1] = lines[-1][:-1]
            for conversation in file["conversations"]:
                for one in conversation["ranges"]:
                    data = b"".join(lines[one["start_line"] - 1 : one["end_line"]])
                    assert one["content_hash"] == f"sha256:{hashlib.sha256(data).hexdigest()}"
                    checked += 1
    assert checked > 6


def test_no_secret_leaves_and_nobody_is_named(told: Told, tmp_path: Path) -> None:
    session, task = told.session, told.task
    validate(session, task, 4, {"float16[7] #3": CaseStatus.MISMATCH})
    leaky = {**read_files(session, task.id), "kernel/key.h": f'#define API_KEY "{SECRET}"\n'}
    write(session, task, 4, leaky, cause="session", model=f"provider/{SECRET}", entry_ids=[])
    for name, format in FORMATS.items():
        if not format.directory:
            assert SECRET not in told.text(name), name
    repository = told.repository(tmp_path / "r")
    judged_git(repository)
    assert SECRET not in git(repository, "log", "--format=fuller", "--notes=ai", "main").decode()
    # The file itself keeps its bytes.
    assert SECRET.encode() in git(repository, "show", "main:kernel/key.h")


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        "kernel/.GIT/hooks/x",
        "a/.git\u200c/x",
        "git~1",
        ".gitmodules",
        "a/.git .",
        ".git:x",
        "b\\.git",
    ],
)
def test_a_path_that_git_keeps_for_itself(told: Told, tmp_path: Path, path: str) -> None:
    write(told.session, told.task, 4, {path: "x\n", "fine.h": "x\n"})
    with pytest.raises(BadInput, match="git can't carry"):
        told.repository(tmp_path / "r")
    assert all("vcs" not in record for record in judged_traces(told.text("agent-trace")))
    assert "versionControlProvenance" not in judged_sarif(told.text("sarif"))


@pytest.mark.parametrize(
    "path",
    [
        "a b/\u00e9\u4e2d.h",
        "-dash",
        'quo"te.h',
        "tab\there",
        ".gitignore",
        ".github/x",
        "a.git/x",
        "git~/x",
        "x/a",
        "x.h",
        "x0",
    ],
)
def test_a_path_that_git_can_carry(told: Told, tmp_path: Path, path: str) -> None:
    write(told.session, told.task, 4, {path: "text\n", "x-y/z": "", "x/b": "1\n"})
    repository = told.repository(tmp_path / "r")
    (last,) = judged_git(repository)[-1:]
    assert git(repository, "show", f"{last}:{path}") == b"text\n"
    assert path in authorship(git(repository, "notes", "--ref=ai", "show", last).decode())[0]
    judged_traces(told.text("agent-trace"))
    judged_sarif(told.text("sarif"))
    judged_prov(told.text("prov"))


def test_hostile_words_stay_words(told: Told, tmp_path: Path) -> None:
    """Names, directions and explanations come from models: they must not break a header, a trailer or a document."""
    evil = "x <a@b.c>\nparent 0000\0\ud800\x1b[31m]]>\"'\\\n\nOpmend-Cause: initial"
    write(
        told.session,
        told.task,
        4,
        {"kernel/add.cpp": "new\n"},
        cause="session",
        model="m\n<x> y\n",
        direction="d\nd\nOpmend-Round: 9",
        explanation=evil,
        entry_ids=[],
        failures=[
            FailureCause(
                benchmark_id=benchmark_id(
                    told.session, task_id=told.task.id, name="n\n---\n- x <y>", kind="command", spec={}
                ),
                output=evil,
            )
        ],
    )
    repository = told.repository(tmp_path / "r")
    judged_git(repository)
    assert git(repository, "log", "-1", "--format=%an|%ae").decode() == (
        "m x y|m-x-y@models.opmend.invalid\n"
    )
    trailers = git(repository, "log", "-1", "--format=%(trailers:only,unfold)").decode()
    assert "Opmend-Cause: session" in trailers
    assert "Opmend-Cause: initial" not in trailers
    for commit in judged_git(repository):
        authorship(git(repository, "notes", "--ref=ai", "show", commit).decode())
    judged_traces(told.text("agent-trace"))
    assert "benchmark/command" in {one["ruleId"] for one in judged_sarif(told.text("sarif"))["results"]}
    judged_prov(told.text("prov"))


LINE = st.sampled_from([b"a\n", b"b\n", b"  long_enough_statement(alpha);\n", b"\xff\n", b"\0\r\n", b"\n"])
TEXT = st.tuples(st.lists(LINE, max_size=8), st.sampled_from([b"", b"end", b"\xc3"])).map(
    lambda parts: text_of(b"".join(parts[0]) + parts[1])
)
STATES = st.lists(
    st.dictionaries(st.sampled_from(["a.cpp", "d/b.py", "d/c d.txt"]), TEXT, max_size=3),
    min_size=1,
    max_size=5,
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(states=STATES)
def test_any_history_can_be_exported(
    database: Database, tmp_path_factory: pytest.TempPathFactory, states: list[dict[str, str]]
) -> None:
    with Session(database.engine) as session:
        task = new_task(session)
        for number, files in enumerate(states):
            more = {"cause": "initial", **BARE} if number == 0 else {}
            write(session, task, number, files, **more)
        told = Told(session=session, task=task)
        repository = told.repository(tmp_path_factory.mktemp("any") / "r")
        found = judged_git(repository)
        records = judged_traces(told.text("agent-trace"))
        for number, (commit, files) in enumerate(zip(found, states, strict=True)):
            for path, text in files.items():
                assert git(repository, "cat-file", "blob", f"{commit}:{path}") == bytes_of(text)
            attested, _ = authorship(git(repository, "notes", "--ref=ai", "show", commit).decode())
            by_trace = {
                file["path"]: sum(
                    one["end_line"] - one["start_line"] + 1
                    for conversation in file["conversations"]
                    if conversation["contributor"]["type"] == "ai"
                    for one in conversation["ranges"]
                )
                for file in records[number]["files"]
            }
            # Two formats tell the same lines.
            assert {path: sum(map(len, agents.values())) for path, agents in attested.items()} == {
                path: count for path, count in by_trace.items() if count
            }
        judged_sarif(told.text("sarif"))
        judged_prov(told.text("prov"))
        assert judged_statements(told.text("in-toto")) == []
        session.rollback()


def test_a_long_file_over_many_rounds_stays_small(database: Database, tmp_path: Path) -> None:
    lines = [f"    value_{n} = compute({n}, tile);\n" for n in range(2_000)]
    with database.transaction() as session:
        task = new_task(session)
        write(session, task, 0, {"kernel/a.cpp": "".join(lines)}, cause="initial", **BARE)
        for round in range(1, 61):
            for hunk in range(8):
                at = (round * 31 + hunk * 257) % len(lines)
                lines[at : at + 2] = [f"    new_{round}_{hunk}_{n}();\n" for n in range(1 + hunk % 3)]
            write(session, task, round, {"kernel/a.cpp": "".join(lines)})
        told = Told(session=session, task=task)
        sizes = {name: len(told.text(name).encode()) for name in ("agent-trace", "sarif", "prov")}
        repository = told.repository(tmp_path / "r")
        assert len(judged_git(repository)) == 61
        # The file is 80 kB, and 61 states of it are 5 MB; an export is no heap of copies.
        assert sizes["agent-trace"] < 400_000
        assert sizes["sarif"] < 400_000
        assert sizes["prov"] < 4_000_000


@pytest.fixture
def command(database_url: str, tmp_path: Path) -> Any:
    """The command on the test's own database."""

    def call(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "coordinator.cli", *arguments],
            capture_output=True,
            cwd=tmp_path,
            env={**os.environ, "DATABASE_URL": database_url, "OPMEND_HOME": str(tmp_path / "home")},
        )

    return call


def test_the_command(database: Database, command: Any, tmp_path: Path) -> None:
    with database.transaction() as session:
        task = new_task(session)
        write(session, task, 0, {"kernel/add.cpp": KERNEL}, cause="initial", **BARE)
        write(session, task, 1, {"kernel/add.cpp": PADDED})
    done = command("export", "Add", "--format", "git", "--output", "r")
    assert (done.returncode, done.stderr) == (0, b""), done.stderr
    assert b"2 commits" in done.stdout
    assert len(judged_git(tmp_path / "r")) == 2
    again = command("export", "--format", "git", "-o", "r")
    assert again.returncode == 2
    assert again.stderr.decode().count("\n") == 1
    assert "not empty" in again.stderr.decode()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".r")] == []
    (tmp_path / "empty").mkdir()
    assert command("export", "--format", "git", "-o", "empty").returncode == 0
    assert len(judged_git(tmp_path / "empty")) == 2

    printed = command("export", "-f", "sarif")
    assert (printed.returncode, printed.stderr) == (0, b"")
    assert judged_sarif(printed.stdout.decode())["properties"]["revision"] == 1
    assert command("export", "-f", "sarif", "-o", "s.json").stdout == b""
    assert (tmp_path / "s.json").read_bytes() == printed.stdout
    assert (tmp_path / "s.json").stat().st_mode & 0o777 == 0o666 & ~_umask()
    assert command("export", "-f", "sarif", "-o", "/dev/stdout").stdout == printed.stdout

    for arguments, words in [
        (("-f", "nonsense"), "give --format with one of: git, agent-trace, in-toto, sarif, prov"),
        ((), "give --format with one of"),
        (("-f", "git"), "--output"),
        (("-f", "git", "-o", "s.json"), "is a file"),
        (("-f", "prov", "-o", "r"), "is a directory"),
        (("-f", "prov", "-o", "no/such/place"), "no such directory"),
        (("Nobody", "-f", "prov"), "known names: Add"),
        (("-f", "prov", "--round", "7"), "no round 7"),
    ]:
        done = command("export", *arguments)
        assert done.returncode == 2, arguments
        assert words in done.stderr.decode(), done.stderr
        assert done.stderr.decode().count("\n") == 1
        assert done.stdout == b""


def _umask() -> int:
    known = os.umask(0)
    os.umask(known)
    return known


def test_every_format_is_a_page_of_the_docs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "exports.md").read_text()
    headings = [line.removeprefix("## ") for line in page.splitlines() if line.startswith("## ")]
    assert headings == list(FORMATS)
