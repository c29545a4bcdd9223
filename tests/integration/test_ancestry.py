"""All that a line follows from, however it is read: step by step, as ranges of keys, or both by turns."""

from random import Random

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from schema.ancestry import WALK_FROM_KEY, WALK_FROM_KEYS, Ancestry
from schema.causes import as_columns, ask, failures_by_row, failures_questions
from schema.causes import asking as asked
from schema.database import Database
from schema.lineage import why
from schema.snippets import snippets_at
from tests.integration.test_lineage import edited, fresh_line, undone
from tests.support.tasks import bare_task, revise

MANY_STEPS = 10**9


def read(session: Session, file_id: int, key: str, steps: int, range_rows: int = 1_024) -> Ancestry:
    walked = ask(session, WALK_FROM_KEY, file_id=file_id, position_key=key, steps=steps)
    return Ancestry(session, walked, steps=steps, range_rows=range_rows)


def hot_task(session: Session, chosen: Random, rounds: int) -> int:
    """A task whose line "hot" is edited each round, among lines that come, go, move and merge."""
    task = bare_task(session)
    files = {
        "f0.cpp": "".join(fresh_line(chosen) for _ in range(6)),
        "hot.cpp": "int hot = 0;\nstore(hot);\n",
    }
    revise(session, task, 0, files)
    for round in range(1, rounds):
        files = edited(files, chosen)
        hot = [
            line for line in files.pop("hot.cpp", "int hot = 0;\n").splitlines(keepends=True) if line.strip()
        ]
        where = chosen.randrange(len(hot) + 1)
        # Some rounds have new neighbours, whose tombstones stand between those of the line.
        hot[where:where] = [fresh_line(chosen) for _ in range(chosen.randrange(3))]
        hot = [f"int hot = {round};\n" if "int hot = " in line else line for line in hot]
        hot = [line for line in hot if "int hot = " in line or chosen.random() < 0.8]
        if not any("int hot = " in line for line in hot):
            hot.append(f"int hot = {round};\n")
        files["hot.cpp"] = "".join(hot)
        revise(session, task, round, files, failed={"a": "x", "b": f"y {round}"})
    return task


@pytest.mark.parametrize("seed", range(4))
def test_a_walk_and_ranges_read_the_same(database: Database, seed: int) -> None:
    with undone(database) as session:
        task = hot_task(session, Random(seed), 60)
        longest = 0
        for snippet in snippets_at(session, task):
            key = (snippet.file_id, snippet.position_key)
            whole = read(session, *key, MANY_STEPS)
            longest = max(longest, len(whole.ancestors))
            assert whole.dense == []
            plain = ask(session, WALK_FROM_KEYS, **as_columns([key]))
            assert set(whole.ancestors) == {(row[3], row[4]) for row in plain}
            edges = {((child, of), (row[3], row[4])) for row in plain if (of := row[1]) and (child := row[0])}
            assert {(child, one) for child, found in whole.parents.items() for _, one in found} == edges
            for steps, range_rows in ((1, 4), (3, 16), (5, 1_024), (48, 1_024)):
                parts = read(session, *key, steps, range_rows)
                assert parts.ancestors == whole.ancestors
                assert parts.parents == whole.parents
                (by_key,) = failures_questions(whole.ancestors, [])
                with asked(session, by_key, *failures_questions(parts.ancestors, parts.dense)) as (
                    one,
                    *some,
                ):
                    pass
                wanted, found = failures_by_row(one), failures_by_row(*some)
                assert {row: found[row] for row in wanted} == wanted
        assert longest > 8


def test_a_line_of_many_rounds_is_read_as_ranges(database: Database) -> None:
    with undone(database) as session:
        task = bare_task(session)
        for round in range(120):
            revise(session, task, round, {"a.cpp": f"start();\nint hot = {round};\nstop();\n"})
        answer = why(session, task, "a.cpp", 2)
        assert [step.revision for step in answer.steps] == list(range(119, -1, -1))
        assert [step.failures[0].output for step in answer.steps[:-1]] == [
            f"expected 1.5, got {round} at [6]" for round in range(119, 0, -1)
        ]
        parts = read(session, answer.snippet.file_id, answer.snippet.position_key, 10)
        assert [one.file_id for one in parts.dense] == [answer.snippet.file_id]


def test_a_circle_of_edges_ends(database: Database) -> None:
    """No writer makes one; but a store that was tampered with must not keep its reader for ever."""
    with undone(database) as session:
        task = bare_task(session)
        for round in range(4):
            revise(session, task, round, {"a.cpp": f"int hot = {round};\n"})
        key = why(session, task, "a.cpp", 1).snippet
        oldest = why(session, task, "a.cpp", 1).steps[-1]
        session.execute(text("SET LOCAL session_replication_role = replica"))
        session.execute(
            text(
                "INSERT INTO lineage (child_file_id, child_key, parent_file_id, parent_key, kind) "
                "VALUES (:file, :child, :file, :parent, 'modified')"
            ),
            {"file": key.file_id, "child": oldest.position_key, "parent": key.position_key},
        )
        for steps, range_rows in ((48, 1_024), (2, 2), (2, 1_024)):
            assert len(read(session, key.file_id, key.position_key, steps, range_rows).ancestors) == 4
        assert len(why(session, task, "a.cpp", 1).steps) == 4
