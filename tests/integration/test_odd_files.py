"""Odd bytes on every way that a candidate's files take: store, tree, submit, repair, compiler, sandbox."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import select, text

from coordinator.cohort.freeze import freeze
from coordinator.cohort.load import load
from coordinator.engine import records
from coordinator.engine.state import fold
from coordinator.engine.submit import submit_run
from coordinator.integrity import scan
from coordinator.integrity.adapter_scan import parse_python
from kb.rewrite import Edit, apply
from kb.source import Source
from schema import events
from schema.blobs import get_blob, get_tree, put_tree, tree_digest
from schema.canonical import digest
from schema.database import Database
from schema.errors import BadInput, CaseFileError, WorkspaceError
from schema.lineage import blame, history, why
from schema.snippets import read_files, snippets_at, write_revision
from schema.tables import Event, Revision, Snippet, Task
from schema.texts import bytes_of, text_of
from schema.workspace import Workspace
from tests.support.tasks import bare_task

PLUS = Path(__file__).parents[1] / "workspaces" / "plus"

ODD = {
    "kernel/nul.h": b"int a;\0\nint b;\n",
    "kernel/crlf.h": b"int a;\r\nint b;\r\n",
    "kernel/no-end.h": b"int x;",
    "kernel/feeds.txt": b"a\x0cb\x0bc\x1cd\n",
    "kernel/separators.txt": "a\u2028b\u2029c\x85d\n".encode(),
    "kernel/latin.h": "// größe\nint x;\n".encode("latin-1"),
    "kernel/cut.txt": b"\xf0\x9f\x98\n\xc3\n\xa9\n",
    "kernel/surrogate.txt": b"\xed\xa0\x80\n",
    "kernel/mark.h": b"\xef\xbb\xbfint x;\n",
    "kernel/empty.h": b"",
    "kernel/blank.h": b"\n\n\n",
    "kernel/table.dat": bytes(range(256)) * 40,
    "kernel/utf16.txt": "wide\r\n".encode("utf-16"),
}
TEXTS = {path: text_of(data) for path, data in ODD.items()}


@pytest.fixture
def task(database: Database) -> int:
    with database.transaction() as session:
        return bare_task(session)


def written(database: Database, task: int, *states: dict[str, str]) -> None:
    with database.transaction() as session:
        last = session.execute(text("SELECT coalesce(max(revision), -1) FROM revisions")).scalar_one()
        for number, files in enumerate(states, start=last + 1):
            cause = "session" if number else "initial"
            assert write_revision(session, task_id=task, round=number, files=files, cause=cause) == number


def as_bytes(files: dict[str, str]) -> dict[str, bytes]:
    return {path: bytes_of(content) for path, content in files.items()}


@pytest.mark.parametrize("path", sorted(ODD))
def test_an_odd_file_comes_appears_changes_vanishes_and_comes_back(
    database: Database, task: int, path: str
) -> None:
    data = ODD[path]
    longer = b"first\xfe\n" + data + b"last\xff"
    states = [{}, {path: data}, {path: longer}, {}, {path: data}, {path: b""}, {path: longer}]
    written(database, task, *({name: text_of(held) for name, held in state.items()} for state in states))
    with database.transaction() as session:
        for number, state in enumerate(states):
            assert as_bytes(read_files(session, task, revision=number)) == state
            assert as_bytes(read_files(session, task, round=number)) == state
            tree = session.get_one(Revision, (task, number)).tree
            assert as_bytes(get_tree(session, tree)) == state
            assert tree == tree_digest(read_files(session, task, revision=number))
            if path in state:
                manifest = json.loads(get_blob(session, tree))
                assert manifest == {path: digest(state[path])}
                held = b"".join(
                    bytes_of(snippet.exact) for snippet in snippets_at(session, task, revision=number)
                )
                assert held == state[path]


def test_only_lines_that_text_can_not_hold_have_raw_bytes(database: Database, task: int) -> None:
    written(database, task, TEXTS)
    with database.transaction() as session:
        for row in session.execute(select(Snippet)).scalars():
            if row.raw is None:
                assert "\ufffd" not in row.content
            else:
                assert row.raw.decode("utf-8", "surrogateescape") != row.content
                assert "\ufffd" in row.content
                assert row.raw.endswith(b"\n") == row.content.endswith("\n")


def test_a_line_of_ten_megabytes(database: Database, task: int) -> None:
    line = "x" * 5_000_000 + "\udcff" + "y" * 5_000_000
    files = {
        "kernel/long.cpp": f"int a;\n{line}\nint b;\n",
        "kernel/table.py": "t = [" + "1, " * 3_000_000 + "]\n",
    }
    edited = files | {"kernel/long.cpp": f"int a;\n{line}z\nint b;\n"}
    written(database, task, files, edited)
    with database.transaction() as session:
        assert read_files(session, task, revision=0) == files
        assert read_files(session, task) == edited
        steps = why(session, task, "kernel/long.cpp", 2).steps
        assert [step.change for step in steps] == ["modified", "initial"]


def test_a_line_feed_is_the_only_end_of_a_line(database: Database, task: int) -> None:
    written(database, task, TEXTS)
    with database.transaction() as session:
        counts = dict.fromkeys(ODD, 0)
        for snippet in snippets_at(session, task):
            counts[snippet.path] += 1
    assert counts == {
        path: data.count(b"\n") + (data != b"" and not data.endswith(b"\n")) for path, data in ODD.items()
    }


def test_what_people_are_shown_is_text(database: Database, task: int) -> None:
    edited = TEXTS | {"kernel/latin.h": TEXTS["kernel/latin.h"].replace("int x", "long x\udcff")}
    written(database, task, TEXTS, edited)
    with database.transaction() as session:
        assert [line.content for line in blame(session, task, "kernel/latin.h")] == [
            "// gr\ufffd\ufffde\n",
            "long x\ufffd;\n",
        ]
        answer = why(session, task, "kernel/latin.h", 2)
        assert [step.content for step in answer.steps] == ["long x\ufffd;\n", "int x;\n"]
        json.dumps(
            [str(answer), str(history(session, task, "kernel/table.dat"))], ensure_ascii=False
        ).encode()


def test_the_same_bytes_are_the_same_line_however_they_were_put_together(
    database: Database, task: int
) -> None:
    written(database, task, {"a": "caf\udcc3\udca9\n"}, {"a": "café\n"})
    with database.transaction() as session:
        assert session.execute(select(Snippet.content)).scalars().all() == ["café\n"]


def test_a_renamed_file_keeps_the_lineage_of_every_line(database: Database, task: int) -> None:
    small = "{\n}\n\n\udcff\nx"
    written(database, task, {"a.cpp": small, "keep": "k\n"}, {"lib/b.cpp": small, "keep": "k\n"})
    with database.transaction() as session:
        for line in range(1, 6):
            steps = why(session, task, "lib/b.cpp", line).steps
            assert [(step.path, step.change) for step in steps] == [
                ("lib/b.cpp", "moved"),
                ("a.cpp", "initial"),
            ]
            assert steps[0].content == steps[1].content


def test_a_file_that_comes_back_leads_to_its_tombstones(database: Database, task: int) -> None:
    one = {"a.cpp": "int a;\nint b;\n", "k": "k\n"}
    gone = {"k": "k\n"}
    back = {"a.cpp": "int a;\nint c;\nint b;\n", "k": "k\n"}
    written(database, task, one, gone, back, gone, one)
    with database.transaction() as session:
        steps = why(session, task, "a.cpp", 3, 2).steps
        assert [(step.change, step.revision) for step in steps] == [("restored", 2), ("initial", 0)]
        assert [step.change for step in why(session, task, "a.cpp", 2, 2).steps] == ["inserted"]
        steps = why(session, task, "a.cpp", 1).steps
        assert [(step.change, step.revision) for step in steps] == [
            ("restored", 4),
            ("restored", 2),
            ("initial", 0),
        ]
        assert read_files(session, task, revision=1) == gone
        keys = session.execute(select(Snippet.position_key).where(Snippet.content != "k\n")).scalars().all()
        assert len(keys) == len(set(keys)) == 7


def test_a_file_that_was_renamed_away_and_back_moved(database: Database, task: int) -> None:
    written(database, task, {"a": "int a;\n"}, {"b": "int a;\n"}, {"a": "int a;\n"})
    with database.transaction() as session:
        steps = why(session, task, "a", 1).steps
        assert [(step.path, step.change) for step in steps] == [
            ("a", "moved"),
            ("b", "moved"),
            ("a", "initial"),
        ]


def test_a_name_may_be_a_file_and_later_a_folder(database: Database, task: int) -> None:
    written(database, task, {"a": "x\n"}, {"a/b": "x\n"}, {"a": "y\n"})
    with database.transaction() as session:
        assert [read_files(session, task, revision=n) for n in range(3)] == [
            {"a": "x\n"},
            {"a/b": "x\n"},
            {"a": "y\n"},
        ]


def test_rounds_only_go_on(database: Database, task: int) -> None:
    with database.transaction() as session:
        write_revision(session, task_id=task, round=2, files={"a": "x\n"}, cause="initial")
    with pytest.raises(BadInput, match="round 1 comes after round 2"), database.transaction() as session:
        write_revision(session, task_id=task, round=1, files={"a": "y\n"}, cause="session")


# ---- from a directory into the store ------------------------------------------------------------------------


@pytest.fixture
def plus(tmp_path: Path) -> Path:
    """A right workspace with odd bytes in every file that may have them."""
    place = shutil.copytree(PLUS, tmp_path / "plus", ignore=shutil.ignore_patterns("build"))
    for path, data in ODD.items():
        (place / path).write_bytes(data)
    (place / "kernel" / "linked.h").symlink_to("latin.h")
    for path in ("kernel/plus.cpp", "kernel/pybind11.cpp"):
        (place / path).write_bytes("// größe\0\x0c\r\n".encode("latin-1") + (place / path).read_bytes())
    adapter = place / "model_new_ascendc.py"
    adapter.write_bytes(b"# -*- coding: latin-1 -*-\nNAME = 'gr\xf6\xdfe'\n" + adapter.read_bytes())
    model = place / "model.py"
    model.write_bytes(b"\xef\xbb\xbf" + model.read_bytes().replace(b"\n", b"\r\n"))
    facts = place / "operator.toml"
    facts.write_bytes(b"\xef\xbb\xbf" + facts.read_bytes())
    return place


def on_disk(place: Path) -> dict[str, bytes]:
    return {
        path.relative_to(place).as_posix(): path.read_bytes() for path in place.rglob("*") if path.is_file()
    }


def test_a_workspace_is_frozen_submitted_and_stored_byte_for_byte(database: Database, plus: Path) -> None:
    wanted = dict(sorted(on_disk(plus).items()))
    workspace = Workspace.from_directory(plus)
    assert as_bytes(dict(workspace.files)) == wanted
    frozen = freeze(load(str(plus)))
    assert frozen.manifest["operators"][0]["files"] == {path: digest(data) for path, data in wanted.items()}
    with database.transaction() as session:
        submit_run(session, frozen)
    with database.transaction() as session:
        (row,) = session.execute(select(Task)).scalars()
        state = fold(events.read(session, row.id))
        records.baseline_revision(session, row.id, state)
        assert as_bytes(get_tree(session, state.baseline)) == wanted
    with database.transaction() as session:
        assert as_bytes(read_files(session, row.id)) == wanted
        again = Workspace.from_files(get_tree(session, state.baseline), name="plus")
        assert again.files == workspace.files
        # Only digests travel: whatever the files hold, the log is plain JSON.
        for event in session.execute(select(Event)).scalars():
            json.dumps(event.data, ensure_ascii=False).encode()


def test_a_compiler_and_a_candidate_get_the_bytes(plus: Path) -> None:
    # Bytes that are no UTF-8 in literals change what programs do: they have to come through to both.
    with (plus / "kernel" / "pybind11.cpp").open("ab") as file:
        file.write(b'\nstatic_assert(sizeof("gr\xf6\xdfe") == 6, "one byte each");\n')
    with (plus / "model_new_ascendc.py").open("ab") as file:
        file.write(b'\nassert NAME == "gr\\u00f6\\u00dfe" and len("\xe9") == 1\n')
    done = subprocess.run(
        [sys.executable, "-m", "npu_worker.check", str(plus), "--json"],
        capture_output=True, text=True, timeout=240, check=False, cwd=plus.parent,
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert done.returncode == 0, found
    assert (found["passed"], found["match_rate"]) == (True, 1.0)


def test_the_scan_of_odd_files_is_text(plus: Path) -> None:
    files = dict(Workspace.from_directory(plus).files)
    assert scan(files, baseline=files).verdict == "CLEAN"
    changed = files | {"model_new_ascendc.py": files["model_new_ascendc.py"] + "import os  # \udcff\n"}
    report = scan(changed, baseline=files)
    json.dumps(report.model_dump(mode="json"), ensure_ascii=False).encode()


@pytest.mark.parametrize(
    "before", ["\0", "// a\0\n", "\ufeff", "\x0c", "\x0b", "// \udcff\n", "/*\0*/\r\n"], ids=ascii
)
def test_no_odd_byte_hides_what_follows_from_the_scan(before: str) -> None:
    files = dict(Workspace.from_directory(PLUS).files)
    path = "kernel/pybind11.cpp"
    plain = files | {
        path: "#define MORE at::add\n" + files[path].replace("return out;", "return MORE(x, y);")
    }
    verdict = scan(plain, baseline=files).verdict
    assert verdict != "CLEAN"
    assert scan(plain | {path: before + plain[path]}, baseline=files).verdict == verdict


@pytest.mark.parametrize(
    ("path", "data", "said"),
    [
        ("operator.toml", b'name = "Gr\xf6sse"\n', "operator.toml:1: not UTF-8"),
        ("cases.toml", b"\n\n# \xff\n", "cases.toml:3: not UTF-8"),
        ("cases.toml", b"a = 1\0\n", "cases.toml"),
        ("model.py", b"class Model:\n    x = '\xff'\n", "model.py"),
        ("model.py", b"class Model: pass\0\n", "model.py"),
        ("model_new_ascendc.py", b"\xff\n", "model_new_ascendc.py:1: no Python"),
    ],
)
def test_what_must_be_text_is_refused_by_name(plus: Path, path: str, data: bytes, said: str) -> None:
    (plus / path).write_bytes(data)
    with pytest.raises(BadInput) as caught:
        Workspace.from_directory(plus)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    str(caught.value).encode()


def test_a_case_file_of_json_lines_must_be_text(plus: Path) -> None:
    (plus / "cases.toml").unlink()
    (plus / "Plus.json").write_bytes(b'{"inputs": []}\n{"inputs": "\xff"}\n')
    with pytest.raises(WorkspaceError, match=r"Plus\.json:2: not UTF-8"):
        Workspace.from_directory(plus)


def test_a_case_with_half_a_surrogate_pair_is_refused(plus: Path) -> None:
    (plus / "cases.toml").unlink()
    mode = '{"name": "mode", "type": "attr", "dtype": "str", "value": "a\\ud800"}'
    (plus / "Plus.json").write_text(f'{{"inputs": []}}\n{{"inputs": [{mode}]}}\n')
    with pytest.raises(CaseFileError, match=r"Plus\.json:2: unreadable JSON"):
        Workspace.from_directory(plus)


def test_the_scan_reads_python_as_python_does() -> None:
    hidden = "# -*- coding: utf-7 -*-\n# +AAo-import os\n"
    tree = parse_python(hidden)
    assert tree is not None
    assert [type(node).__name__ for node in tree.body] == ["Import"]
    assert parse_python("x = '\udcff'\n") is None
    assert parse_python("# coding: latin-1\nx = '\udcff'\n") is not None


# ---- repairs ------------------------------------------------------------------------------------------------


def test_a_rewrite_keeps_the_bytes_around_it() -> None:
    content = "// gr\udcf6\udcdfe\nint a = 1; // \udcff\0\n"
    at = bytes_of(content).index(b"1")
    changed = apply({"kernel/a.cpp": content}, [Edit(path="kernel/a.cpp", start=at, end=at + 1, text="2")])
    assert changed == {"kernel/a.cpp": content.replace("1", "2")}
    source = Source("kernel/a.cpp", 'const char* s = "\udcff";\n')
    assert source.text(source.root) == 'const char* s = "\udcff";\n'


def test_a_tree_of_odd_files_is_one_tree(database: Database) -> None:
    with database.transaction() as session:
        tree = put_tree(session, TEXTS)
        assert tree == tree_digest(TEXTS)
        assert get_tree(session, tree) == dict(sorted(TEXTS.items()))
        with pytest.raises(BadInput, match="kernel/a:1"):
            put_tree(session, {"kernel/a": "\ud800"})
