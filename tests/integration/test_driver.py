"""The driver on a real Postgres: jobs are claimed and completed as a worker does it."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from sqlalchemy import func, select, text, update

from coordinator.cohort.freeze import FrozenCohort, FrozenOperator
from coordinator.engine import driver as driver_module
from coordinator.engine import records
from coordinator.engine.bounds import Bounds
from coordinator.engine.driver import Driver, Scan
from coordinator.engine.replay import replay
from coordinator.engine.requests import cancel_run, cancel_task
from coordinator.engine.resolution import resolve_task
from coordinator.engine.state import TaskState, fold
from coordinator.engine.submit import submit_run
from coordinator.engine.sweeper import Sweeper
from schema import events, leases
from schema.blobs import get_tree, put_blob, put_tree, tree_digest
from schema.database import Database
from schema.errors import BadInput, CohortError, HistoryError, NotFound
from schema.jobs import Proposal, Proposals
from schema.lineage import why
from schema.results import CaseResult, CaseStatus, Compilation, Deviation, FailureType, Validation
from schema.snippets import read_files
from schema.tables import (
    BenchmarkRun,
    Blob,
    Evidence,
    File,
    Job,
    Outbox,
    Revision,
    Snippet,
    SnippetExplanation,
    SnippetFailure,
    Task,
    Verdict,
)

BASE = {"model.py": "class Model: pass\n", "kernel/a.cpp": "int n = 8;\ncopy(n);\nint wrong = 1;\n"}
RIGHT = BASE | {"kernel/a.cpp": "int n = 8;\ncopy_pad(n);\nint right = 1;\n"}
BUG = "wrong"
SECOND = text("interval '1 s'")


class Hands:
    """A worker's hands without its work: claims jobs and answers for what a tree says about itself."""

    def __init__(self, database: Database, *, answer: Callable[[Any, Any], Any] | None = None) -> None:
        self.database = database
        self.answer = answer or self.honest

    def honest(self, session: Any, claim: leases.Claim) -> Any:
        payload = claim.payload
        match claim.kind:
            case "compile":
                return Compilation(ok=True, artifact=put_blob(session, payload["tree"].encode()))
            case "validate":
                bad = BUG in get_tree(session, payload["tree"])["kernel/a.cpp"]
                return validation(payload, failing={1} if bad else set())
            case "rewrite":
                fixed = get_tree(session, payload["tree"]) | {"kernel/a.cpp": RIGHT["kernel/a.cpp"]}
                same = get_tree(session, payload["tree"]) | {"kernel/b.h": "// no change in meaning: wrong\n"}
                return Proposals(
                    proposals=tuple(
                        Proposal(
                            tree=put_tree(session, files), entry="pad", rewrite="pad", direction=f"pad @ {name}",
                            explanation="the tail is not a multiple of 32 bytes",
                        )
                        for name, files in (("b.h", same), ("a.cpp", fixed))
                    )
                )  # fmt: skip
        raise AssertionError(claim.kind)

    def work(self, *, most: int = 1000) -> int:
        """Do queued jobs; how many results counted."""
        with self.database.transaction() as session:
            ids = session.execute(
                select(Job.id).where(Job.status == "queued").order_by(Job.created_at, Job.id).limit(most)
            ).scalars().all()  # fmt: skip
        return sum(self.do(job_id) for job_id in ids)

    def do(self, job_id: str) -> bool:
        with self.database.transaction() as session:
            claim = leases.claim(session, job_id, worker="hands", lease_seconds=30)
        if claim is None:
            return False
        with self.database.transaction() as session:
            result = self.answer(session, claim)
            return leases.complete(session, claim, result.model_dump(mode="json"))


def validation(payload: dict[str, Any], *, failing: set[int]) -> Validation:
    cases = tuple(
        CaseResult(
            index=index,
            name=f"float32[{index}]",
            status=CaseStatus.MISMATCH if index in failing else CaseStatus.PASSED,
            deviations=(
                Deviation(output="0", dtype="float32", shape=(9,), mismatched=2, total=9, max_abs=3e38,
                          first_index=(7,), expected="1.0", actual="0.0"),
            ) if index in failing else (),
        )
        for index in payload["indices"]
    )  # fmt: skip
    kind = FailureType.PRECISION_FAILED if failing & set(payload["indices"]) else FailureType.SUCCESS
    return Validation(case_set=payload["case_set"], failure_type=kind, cases=cases)


def scan(files: Any, baseline: Any) -> Scan:
    return Scan(verdict="CLEAN")


def entries(context: Any, files: Any) -> tuple[str, ...]:
    return ("pad",)


def make_driver(database: Database, **rooms: Any) -> Driver:
    return Driver(database, **{"scan": scan, "retrieve": entries, **rooms})


def operator(name: str) -> FrozenOperator:
    return FrozenOperator(
        name=name, level="L1", category="elementwise", files=BASE, tree=tree_digest(BASE), compact=(0, 1),
        full=(0, 1, 2), cut=(), max_elements=None, seed=3, case_names=("a", "b", "c"),
    )  # fmt: skip


def submit(database: Database, names: Sequence[str] = ("Add",), **options: Any) -> list[int]:
    found = tuple(operator(one) for one in names)
    cohort = FrozenCohort(name="c", manifest={"names": list(names)}, digest="-".join(names), operators=found)
    with database.transaction() as session:
        run = submit_run(session, cohort, **options)
        return list(session.execute(select(Task.id).where(Task.run_id == run).order_by(Task.id)).scalars())


def finish(database: Database, drivers: Sequence[Driver], hands: Hands, *, most: int = 200) -> None:
    for turn in range(most):
        drivers[turn % len(drivers)].run_once()
        hands.work()
        with database.transaction() as session:
            if not session.execute(select(func.count()).where(Task.status == "active")).scalar_one():
                return
    assert most < 200, "tasks never finished"


def outcome_of(database: Database, task_id: int) -> str | None:
    with database.transaction() as session:
        return session.get_one(Task, task_id).outcome


def check_log(database: Database, task_id: int) -> list[events.Recorded]:
    with database.transaction() as session:
        recorded = events.read(session, task_id)
        assert events.verify_chain(session, task_id) == len(recorded)
        decided = session.get_one(Task, task_id).decided_sequence
    assert replay(recorded, decided_sequence=decided) is None
    return recorded


def test_a_task_goes_all_the_way_and_leaves_its_reasons(database: Database) -> None:
    (task,) = submit(database)
    finish(database, [make_driver(database)], Hands(database))
    assert outcome_of(database, task) == "passed"
    recorded = check_log(database, task)
    with database.transaction() as session:
        assert (
            session.execute(select(func.count()).select_from(Job).where(Job.status != "done")).scalar_one()
            == 0
        )
        revisions = session.execute(select(Revision).order_by(Revision.revision)).scalars().all()
        assert [(one.revision, one.round, one.cause) for one in revisions] == [
            (0, 0, "initial"),
            (1, 1, "rewrite"),
        ]
        assert read_files(session, task, revision=0) == BASE
        assert read_files(session, task) == RIGHT
        proof = session.execute(select(Evidence).order_by(Evidence.id)).scalars().all()
        assert [(one.round, one.case_set, one.passed) for one in proof] == [
            (0, "compact", False), (1, "compact", True), (1, "full", True),
        ]  # fmt: skip
        runs = session.execute(select(BenchmarkRun.revision, BenchmarkRun.status)).all()
        assert len(runs) == 2 + 2 + 3
        assert runs.count((0, "mismatch")) == 1
        assert {one.verdict for one in session.execute(select(Verdict)).scalars()} == {"CLEAN"}
        story = session.execute(select(SnippetExplanation)).scalars().one()
        assert (story.entry_ids, story.direction, story.model) == (["pad"], "pad @ a.cpp", "kb")
        assert session.execute(select(func.count()).select_from(SnippetFailure)).scalar_one() > 0
        told = why(session, task, "kernel/a.cpp", 2)
    assert "float32[1] #1" in str(told)
    assert fold(recorded).finished is not None


def test_a_step_tells_where_its_new_lines_stand(database: Database) -> None:
    (task,) = submit(database)
    driver, hands = make_driver(database), Hands(database)
    while driver.run_once() or hands.work():
        with database.transaction() as session:
            untold = session.execute(
                select(func.count())
                .select_from(Snippet)
                .join(File, File.id == Snippet.file_id)
                .where(
                    File.task_id == task,
                    Snippet.node_kind.is_(None),
                    Snippet.disabled_revision.is_(None),
                )
            ).scalar_one()
            assert untold == 0


def test_two_drivers_and_a_worker_at_once_decide_each_thing_once(database: Database) -> None:
    tasks = submit(database, [f"Op{number}" for number in range(6)])
    stop = threading.Event()
    drivers = [make_driver(database) for _ in range(2)]
    threads = [
        threading.Thread(target=one.run, args=(stop,), kwargs={"poll_seconds": 0.002}) for one in drivers
    ]
    for thread in threads:
        thread.start()
    hands = Hands(database)
    try:
        for _ in range(400):
            hands.work()
            if all(outcome_of(database, task) for task in tasks):
                break
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert {outcome_of(database, task) for task in tasks} == {"passed"}
    logs = [[one.event.kind for one in check_log(database, task)] for task in tasks]
    assert all(log.count("candidate_chosen") == 1 and log.count("task_finished") == 1 for log in logs)


class Killed(BaseException):
    """Stands for SIGKILL: nothing of ours catches it, and the transaction never commits."""


@pytest.mark.parametrize("moment", range(1, 24, 2))
def test_a_process_killed_in_the_middle_of_a_step_loses_nothing(
    database: Database, moment: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (task,) = submit(database)
    real, count = events.LogHead.record, 0

    def dying(*arguments: Any) -> events.Recorded:
        nonlocal count
        count += 1
        if count == moment:
            raise Killed
        return real(*arguments)

    finish = leases.complete

    def dying_late(*arguments: Any) -> bool:
        # A worker's event is the database's: the worker dies before that is committed.
        nonlocal count
        kept = finish(*arguments)
        count += 1
        if count == moment:
            raise Killed
        return kept

    monkeypatch.setattr(events.LogHead, "record", dying)
    monkeypatch.setattr(leases, "complete", dying_late)
    driver, hands = make_driver(database), Hands(database)
    for _ in range(100):
        try:
            driver.run_once()
            hands.work()
        except Killed:  # the driver, or the worker in its last transaction; both begin anew
            driver = make_driver(database)
            with database.transaction() as session:
                session.execute(
                    update(Job).where(Job.status == "running").values(lease_expires_at=func.now() - SECOND)
                )
            Sweeper(database).sweep()
        if outcome_of(database, task):
            break
    assert count >= moment
    assert outcome_of(database, task) == "passed"
    recorded = check_log(database, task)
    undisturbed = [
        "task_created", "integrity_scanned", "job_requested", "job_finished", "job_requested", "job_finished",
        "checkpoint_promoted", "round_started", "job_requested", "job_finished",
    ]  # fmt: skip
    assert [one.event.kind for one in recorded][: len(undisturbed)] == undisturbed
    with database.transaction() as session:
        assert session.execute(select(func.count()).select_from(Evidence)).scalar_one() == 3
        assert session.execute(select(func.count()).select_from(Revision)).scalar_one() == 2


def test_a_late_result_is_dropped(database: Database) -> None:
    (task,) = submit(database)
    driver, hands = make_driver(database), Hands(database)
    driver.run_once()
    with database.transaction() as session:
        (job_id,) = session.execute(select(Job.id)).scalars()
        slow = leases.claim(session, job_id, worker="slow", lease_seconds=30)
        assert slow is not None
        session.execute(update(Job).values(lease_expires_at=func.now() - SECOND))
    assert Sweeper(database).sweep()["expired"] == 1
    assert hands.do(job_id)
    with database.transaction() as session:
        assert not leases.complete(
            session, slow, Compilation(ok=False, failure_type=FailureType.BUILD_FAILED).model_dump()
        )
    finish(database, [driver], hands)
    assert outcome_of(database, task) == "passed"
    check_log(database, task)


def test_a_poison_job_is_parked_as_infrastructure(database: Database) -> None:
    (task,) = submit(database)
    driver = make_driver(database)
    driver.run_once()
    for _ in range(3):
        with database.transaction() as session:
            (job_id,) = session.execute(select(Job.id)).scalars()
            assert leases.claim(session, job_id, worker="dies", lease_seconds=30)
            session.execute(update(Job).values(lease_expires_at=func.now() - SECOND))
        Sweeper(database, most_attempts=3).sweep()
        driver.run_once()
    assert outcome_of(database, task) == "infrastructure"
    check_log(database, task)


def test_a_cancelled_run_takes_its_jobs_back(database: Database) -> None:
    tasks = submit(database, ["Add", "Sum"])
    driver = make_driver(database)
    driver.run_once()
    with database.transaction() as session:
        job_id = session.execute(select(Job.id).where(Job.task_id == tasks[0])).scalar_one()
        running = leases.claim(session, job_id, worker="w", lease_seconds=30)
        assert running is not None
    with database.transaction() as session:
        run = session.get_one(Task, tasks[0]).run_id
        assert cancel_run(session, run, author="me") == 2
    driver.run_once()
    assert [outcome_of(database, task) for task in tasks] == ["cancelled", "cancelled"]
    with database.transaction() as session:
        assert not leases.renew(session, running, lease_seconds=30)
        assert set(session.execute(select(Job.status)).scalars()) == {"cancelled"}
        assert not cancel_task(session, tasks[0], author="me")
        with pytest.raises(NotFound):
            cancel_run(session, 10**9, author="me")


def test_the_sweeper_finds_lost_messages_and_idle_and_overdue_tasks(database: Database) -> None:
    waiting = {"compile": 0}
    sweeper = Sweeper(database, waiting=lambda queue: waiting[queue], lost_seconds=0.0)
    (task,) = submit(database, bounds=Bounds(wall_seconds=1e6))
    driver = make_driver(database)
    driver.run_once()
    assert sweeper.lost_messages() == 0  # its outbox row is still there
    with database.transaction() as session:
        session.execute(text("DELETE FROM outbox"))
    waiting["compile"] = 1
    assert sweeper.lost_messages() == 0  # its message waits
    waiting["compile"] = 0
    assert sweeper.lost_messages() == 0  # a worker may just have taken it
    assert sweeper.lost_messages() == 1
    assert sweeper.lost_messages() == 0
    with database.transaction() as session:
        assert session.execute(select(func.count()).select_from(Outbox)).scalar_one() == 1
        session.execute(update(Job).values(status="cancelled"))
    assert sweeper.idle_tasks() == 1
    assert driver.due() == [task]
    (late,) = submit(database, ["Late"], bounds=Bounds(wall_seconds=0.001))
    driver.step(late)
    for _ in range(2):
        sweeper.sweep()
        driver.run_once()
    assert outcome_of(database, late) == "exhausted"
    check_log(database, late)


def test_a_suspect_task_can_be_resolved_once(database: Database) -> None:
    (task,) = submit(database)
    finish(
        database,
        [make_driver(database, scan=lambda files, baseline: Scan(verdict="SUSPECT"))],
        Hands(database),
    )
    assert outcome_of(database, task) == "suspect"
    with database.transaction() as session, pytest.raises(HistoryError, match="comes too late"):
        events.append(session, task, events.CancelRequested(author="me"))
    with database.transaction() as session:
        word = {"verdict": "CLEAN", "because": "it copies", "author": "me"}
        for nowhere in ("", "kernel/a.cpp", "kernel/a.cpp:4", "kernel/z.cpp:1"):
            with pytest.raises(BadInput, match="cite"):
                resolve_task(session, task, citation=nowhere, **word)
        assert resolve_task(session, task, citation="kernel/a.cpp:2", **word) == "passed"
    assert outcome_of(database, task) == "passed"
    check_log(database, task)
    with database.transaction() as session:
        assert [one.origin for one in session.execute(select(Verdict).order_by(Verdict.id)).scalars()][
            -1
        ] == "resolution"
        with pytest.raises(BadInput, match="not suspect"):
            resolve_task(session, task, citation="kernel/a.cpp:2", **word)


def test_one_task_that_can_not_be_decided_does_not_stop_the_others(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = submit(database, ["Bad", "Good"])
    real, broken = driver_module.decide, [True]

    def picky(state: TaskState) -> Any:
        if broken and state.created.name == "Bad":
            broken.pop()
            raise ValueError("a fault of the policy")
        return real(state)

    monkeypatch.setattr(driver_module, "decide", picky)
    driver = make_driver(database)
    for _ in range(100):
        finish(database, [driver], Hands(database), most=3)
        if all(outcome_of(database, task) for task in tasks):
            break
        time.sleep(0.05)
    assert not broken
    assert [outcome_of(database, task) for task in tasks] == ["passed", "passed"]


def test_source_that_breaks_the_scan_is_suspect(database: Database) -> None:
    (task,) = submit(database)

    def breaks(files: Any, baseline: Any) -> Scan:
        raise RecursionError("too deep")

    finish(database, [make_driver(database, scan=breaks, retrieve=entries)], Hands(database))
    assert outcome_of(database, task) == "suspect"
    assert "the scan broke" in str(check_log(database, task)[-1].event)


def test_a_tree_that_can_not_be_stored_is_refused_and_the_task_goes_on(database: Database) -> None:
    (task,) = submit(database)
    hands = Hands(database)

    def odd(session: Any, claim: leases.Claim) -> Any:
        result = hands.honest(session, claim)
        if claim.kind != "rewrite":
            return result
        bad = put_tree(session, RIGHT | {"kernel/a.cpp/in.h": "right"})
        return Proposals(proposals=(Proposal(tree=bad, direction="bad"), *result.proposals))

    finish(database, [make_driver(database)], Hands(database, answer=odd))
    assert outcome_of(database, task) == "passed"
    assert [one.event.kind for one in check_log(database, task)].count("tree_refused") == 1
    with database.transaction() as session:
        assert read_files(session, task) == RIGHT


def test_submit_refuses_what_can_do_nothing(database: Database) -> None:
    for options, words in (
        ({"arm": "regenerate"}, "not available yet"),
        ({"arm": "nonsense"}, "no arm"),
        ({"arm": "debug-no-kb"}, "name a model"),
        ({"trials": 0}, "0 trials"),
        ({"limit": 0}, "limit of 0"),
    ):
        with pytest.raises(BadInput, match=words):
            submit(database, **options)
    with pytest.raises(CohortError, match="two operators"):
        submit(database, ["Add", "Add"])
    with database.transaction() as session:
        assert session.execute(select(func.count()).select_from(Task)).scalar_one() == 0
    assert len(submit(database, ["A", "B", "C"], trials=2, limit=2)) == 4
    assert len(submit(database, ["A", "B", "C"])) == 3  # the same cohort again


def test_a_driver_that_meets_another_store_under_the_same_ids_folds_anew(database: Database) -> None:
    (task,) = submit(database)
    driver = make_driver(database)
    driver.run_once()
    driver._states[task] = type(driver._states[task])(hash="other", state=driver._states[task].state)
    finish(database, [driver], Hands(database))
    assert outcome_of(database, task) == "passed"


def test_evidence_is_stored_once(database: Database) -> None:
    (task,) = submit(database)
    finish(database, [make_driver(database)], Hands(database))
    with database.transaction() as session:
        state = fold(events.read(session, task))
        runs = select(func.count()).select_from(BenchmarkRun)
        before = session.execute(runs).scalar_one()
        for checked in state.validations:
            records.evidence(session, task, state, checked)
        assert session.execute(runs).scalar_one() == before > 0
        assert session.execute(select(func.count()).select_from(Evidence)).scalar_one() == 3
        assert session.execute(select(func.count()).select_from(Blob)).scalar_one() > 0
