"""Writing a revision and asking why, against git on the same files in the same run.

A 2,000-line C++ file; each revision has eight hunks of 1 to 20 lines. Postgres is the embedded one with its own
defaults (fsync on, synchronous_commit on), and a revision counts when its commit has returned. Git has its
defaults as well; putting the file into its work tree is not counted.
"""

import random
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from operator import itemgetter
from pathlib import Path
from statistics import median

from schema.benchmarks import benchmark_id
from schema.database import Database
from schema.describing import describe
from schema.lineage import blame, why
from schema.snippets import FailureCause, write_revision
from tests.bench.edits import cpp_program, reworded, statement
from tests.bench.measure import Measure, median_seconds
from tests.bench.services import Git, new_task, peak_bytes, store

PATH = "kernel/reduce.cpp"
LINES = 2_000
WRITTEN = 40
REPOSITORIES = 9
REVISIONS = 1_000
ASKED = 40
WHY = "the tail is not a multiple of 32 bytes, so the copy overruns"


def revised(chosen: random.Random, lines: list[str], *, hot: str | None = None) -> list[str]:
    """The next state of a file: eight hunks of 1 to 20 lines, about as many lines in as out.

    Args:
        hot: a word; the one line that has it is edited as well.
    """
    new = list(lines)
    eighth = len(new) // 8
    for hunk in reversed(range(8)):
        start = hunk * eighth + chosen.randrange(1, eighth - 25)
        count = chosen.randrange(1, 21)
        # What a repair does to a hunk: most lines are edited, some go, some come.
        fresh = []
        for index in range(start, start + count):
            line = new[index]
            dice = chosen.random()
            # An edited line has a comment behind it, and can be edited again.
            code = line.split("//")[0].strip()
            # Functions, braces and what is between functions stay, or it would be no C++.
            between = not code and not new[index + 1].startswith(" " * 8)
            if (code and not code.endswith(";")) or between or (hot is not None and hot in line):
                fresh.append(line)
            elif not code:
                fresh += [line] if dice < 0.8 else [statement(chosen, 2)]
            elif dice < 0.6 and len(line) < 120:
                fresh.append(reworded(chosen, line))
            elif dice < 0.8:
                fresh.append(statement(chosen, 2))
            elif dice < (0.9 if len(new) > LINES else 1):
                fresh += [line, statement(chosen, 2)]
        new[start : start + count] = fresh
    if hot is not None:
        new = [f"        {hot} = {chosen.randrange(10**6)};\n" if hot in line else line for line in new]
    return new


def failed(database: Database, task: int) -> int:
    """The benchmark whose failure the revisions answer: known since it ran."""
    with database.transaction() as session:
        return benchmark_id(session, task_id=task, name="float16[128,128]", kind="case", spec={"index": 3})


def write(database: Database, task: int, benchmark: int, number: int, text: str) -> None:
    """One revision with all that a round brings, in one transaction."""
    output = "expected 1.5, got nan at [0, 6]; 12 of 16384 wrong"
    with database.transaction() as session:
        write_revision(
            session,
            task_id=task,
            round=number,
            files={PATH: text},
            cause="session" if number else "initial",
            failures=[FailureCause(benchmark_id=benchmark, output=output)] if number else [],
            explanation=WHY if number else "",
            entry_ids=["datacopy-pad"] if number else [],
            direction=f"datacopy-pad @ {PATH}" if number else "",
            model="bench" if number else "",
        )


def tell(database: Database, task: int) -> None:
    """Where its new lines stand in their programs: behind the commit, as the driver does it."""
    with database.transaction() as session:
        describe(session, task)


def measures() -> Iterator[Measure]:
    """Writing, asking, memory."""
    with store() as database:
        yield from _writing(database)
        yield from _asking(database)
        yield from _memory(database)


def _writing(database: Database) -> Iterator[Measure]:
    """Both sides write the same revisions in turn, in several tasks and as many repositories.

    What git takes for the same files differs twofold from one new folder to the next, by where the file system puts it.
    """
    runs = [_written(database, number) for number in range(REPOSITORIES)]
    later = slice(4, None)
    for name, side, chosen, asked in (
        (
            f"a revision of {LINES:,} lines, 8 hunks, committed (median of {REPOSITORIES} x {WRITTEN})",
            0,
            later,
            1,
        ),
        ("the same and the syntax of its lines, which is told behind the commit", 1, later, None),
        (f"the initial revision of {LINES:,} lines", 0, slice(0, 1), None),
    ):
        ours, theirs = (median(median(run[one][chosen]) for run in runs) for one in (side, 2))
        yield Measure(
            name=name,
            ours=ours * 1_000,
            against=theirs * 1_000,
            unit="ms",
            peer="git add && git commit",
            at_most=asked,
        )
    ours, _, theirs = min(([median(times[later]) for times in run] for run in runs), key=itemgetter(2))
    yield Measure(
        name="the same in the repository where git was quickest",
        ours=ours * 1_000,
        against=theirs * 1_000,
        unit="ms",
        peer="git add && git commit",
    )


def _written(database: Database, number: int) -> tuple[list[float], list[float], list[float]]:
    """Seconds of each revision, ours without and with its syntax, and of git; the first warm all caches."""
    chosen = random.Random(number)
    lines = cpp_program(chosen, LINES)
    texts = ["".join(lines)]
    for _ in range(WRITTEN + 3):
        lines = revised(chosen, lines)
        texts.append("".join(lines))
    task = new_task(database, f"writing {number}")
    case = failed(database, task)
    committed, told, theirs = [], [], []
    with tempfile.TemporaryDirectory(prefix="opmend-b-") as folder:
        git = Git(Path(folder))
        (Path(folder) / PATH).parent.mkdir()
        for revision, text in enumerate(texts):
            (Path(folder) / PATH).write_text(text)
            began = time.perf_counter()
            git.commit(PATH, WHY)
            middle = time.perf_counter()
            write(database, task, case, revision, text)
            ended = time.perf_counter()
            tell(database, task)
            theirs.append(middle - began)
            committed.append(ended - middle)
            told.append(time.perf_counter() - middle)
    return committed, told, theirs


def _asking(database: Database) -> Iterator[Measure]:
    chosen = random.Random(11)
    lines = cpp_program(chosen, LINES)
    lines[LINES // 2] = "        hotLength = 0;\n"
    task = new_task(database, "asking")
    case = failed(database, task)
    texts = []
    for number in range(REVISIONS):
        if number:
            lines = revised(chosen, lines, hot="hotLength")
        texts.append("".join(lines))
        write(database, task, case, number, texts[-1])
        tell(database, task)
    with database.transaction() as session:
        told = blame(session, task, PATH)
    by_revisions = sorted(told, key=lambda line: -line.revisions)
    # The first one is edited by us in every revision, which the file's eight hunks do to none.
    worst, hardest = by_revisions[:2]
    with tempfile.TemporaryDirectory(prefix="opmend-b-") as folder:
        git = Git(Path(folder))
        git.load(PATH, texts)
        whole = median_seconds(lambda: git("blame", "--", PATH), runs=3)
        one = median_seconds(lambda: git("blame", f"-L{worst.line},{worst.line}", "--", PATH), runs=3)

    def ask(line: int) -> float:
        def asked() -> None:
            with database.transaction() as session:
                why(session, task, PATH, line)

        return median_seconds(asked, runs=5)

    times = [ask(line) for line in chosen.sample(range(1, LINES + 1), ASKED)]
    for name, seconds, limit in (
        (f"why, median of {ASKED} lines, after {REVISIONS:,} revisions", median(times), 1),
        (f"why, the slowest of {ASKED} lines", max(times), 1),
        (f"why, the line with most revisions ({hardest.revisions:,})", ask(hardest.line), 1),
        # Beyond the file of the issue: what it takes then is told beside its limit.
        (f"why, one further line, edited in all {worst.revisions:,}", ask(worst.line), None),
    ):
        for peer, against, at_most in (
            ("git blame -- FILE", whole, 0.1),
            ("git blame -L", one, None),
            ("limit of the issue", 0.020, limit),
        ):
            yield Measure(
                name=name,
                ours=seconds * 1_000,
                against=against * 1_000,
                unit="ms",
                peer=peer,
                at_most=at_most,
            )

    def blamed() -> None:
        with database.transaction() as session:
            blame(session, task, PATH)

    yield Measure(
        name=f"blame of the file after {REVISIONS:,} revisions",
        ours=median_seconds(blamed, runs=3) * 1_000,
        against=whole * 1_000,
        unit="ms",
        peer="git blame -- FILE",
    )


def _memory(database: Database) -> Iterator[Measure]:
    chosen = random.Random(13)
    lines = cpp_program(chosen, LINES)
    task = new_task(database, "memory")
    write(database, task, failed(database, task), 0, "".join(lines))
    after = "".join(revised(chosen, lines))
    huge = new_task(database, "huge")
    line = "x = {" + ",".join(["1.5"] * 2_500_000) + "};\n"
    write(database, huge, failed(database, huge), 0, line)
    for name, number, text in (
        (f"memory to write a revision of {LINES:,} lines", task, after),
        ("memory to write a revision with a 10 MB line", huge, line.replace("1.5", "2.5", 1)),
    ):
        peak = peak_bytes(partial(write, database, number, failed(database, number), 1, text))
        if peak is not None:
            yield Measure(
                name=name, ours=peak / 1e6, against=len(text) / 1e6, unit="MB", peer="size of the file"
            )
