"""A task played on a real store by the real driver, with answers instead of compilers and simulators."""

from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from coordinator.cohort.freeze import FrozenCohort, FrozenOperator
from coordinator.engine.driver import Driver, Scan
from coordinator.engine.submit import submit_run
from schema import leases
from schema.blobs import get_tree, put_blob, put_tree, tree_digest
from schema.database import Database
from schema.jobs import Proposal, Proposals, ToolRequest, TurnResult
from schema.results import CaseResult, CaseStatus, Compilation, Deviation, FailureType, Validation
from schema.tables import Job, Run, Task

BLOCK = "".join(f"    accumulate(total, weights[{number}], bias[{number}]);\n" for number in range(4))
BASELINE = {
    "model.py": "class Model: pass\n",
    "kernel/a.cpp": f"int n = 8;\ncopy(n);\nint wrong = 1;\nint worse = 2;\n{BLOCK}store(n);\n",
}
# One line modified, one deleted, one inserted, a block moved to another file; one of two failures mended.
BETTER = BASELINE | {
    "kernel/a.cpp": "int n = 8;\ncopy_pad(n, 32);\nint worse = 2;\nflush(n);\nstore(n);\n",
    "kernel/b.h": BLOCK,
}
RIGHT = BETTER | {"kernel/a.cpp": BETTER["kernel/a.cpp"].replace("int worse = 2;", "int fine = 2;")}
CASES = ("float32[8]", "float32[9]", "float16[7]")
# What the sessions of rounds 1, 2, … submit where a model is given: one that does not build, one that is no better (so
# that the checkpoint comes back), and the right one.
SESSIONS = (
    BASELINE | {"kernel/a.cpp": BASELINE["kernel/a.cpp"].replace("copy(n);", "nonsense(n);")},
    BASELINE | {"kernel/a.cpp": BASELINE["kernel/a.cpp"].replace("copy(n);", "copy_all(n);")},
    RIGHT,
)
BUILD_LOG = "kernel/a.cpp:2: error: nonsense was not declared\n" + "note: candidate\n" * 100


def frozen(*names: str) -> FrozenCohort:
    """A cohort of operators that all start from BASELINE."""
    operators = tuple(
        FrozenOperator(
            name=name,
            level="L1",
            category="elementwise",
            files=BASELINE,
            tree=tree_digest(BASELINE),
            compact=(0, 1),
            full=(0, 1, 2),
            cut=(),
            max_elements=None,
            seed=3,
            case_names=CASES,
        )
        for name in names
    )
    return FrozenCohort(name="played", manifest={"names": names}, digest="-".join(names), operators=operators)


def play(database: Database, *names: str, **options: Any) -> list[int]:
    """Submit operators and play their tasks to the end; their ids."""
    with database.transaction() as session:
        run = submit_run(session, frozen(*names), **options)
        tasks = list(session.execute(select(Task.id).where(Task.run_id == run).order_by(Task.id)).scalars())
    driver = Driver(
        database, scan=lambda *_: Scan(verdict="CLEAN"), retrieve=lambda *_: ("pad",), on_jobs=None
    )
    for _ in range(200):
        driver.run_once()
        if not _work(database):
            with database.transaction() as session:
                active = select(func.count()).where(Task.run_id == run, Task.status == "active")
                if not session.execute(active).scalar_one():
                    return tasks
    raise AssertionError("the tasks never ended")


def _work(database: Database) -> int:
    """Do every queued job; how many there were."""
    with database.transaction() as session:
        queued = select(Job.id).where(Job.status == "queued").order_by(Job.created_at, Job.id)
        ids = session.execute(queued).scalars().all()
    for job_id in ids:
        with database.transaction() as session:
            claim = leases.claim(session, job_id, worker="played", lease_seconds=30)
            if claim is not None:
                leases.complete(session, claim, answer(session, claim).model_dump(mode="json"))
    return len(ids)


def answer(session: Session, claim: leases.Claim, *, model: str | None = None) -> Any:
    """What a worker would find out about one of these trees: a function of the payload alone.

    Args:
        session: an open transaction.
        claim: the job.
        model: of the task's run; looked up if left out, for which a worker's role has no right.
    """
    payload = claim.payload
    files = get_tree(session, payload["tree"])
    match claim.kind:
        case "compile":
            if "nonsense" in files["kernel/a.cpp"]:
                return Compilation(ok=False, failure_type=FailureType.BUILD_FAILED, log=BUILD_LOG)
            return Compilation(ok=True, artifact=put_blob(session, payload["tree"].encode()))
        case "validate":
            words = files["kernel/a.cpp"]
            failing = {index for index, word in ((0, "wrong"), (1, "worse")) if word in words}
            return _validation(payload, failing)
        case "turn":
            number = int(payload["session"].rpartition("-")[2])
            return TurnResult(
                tree=put_tree(session, SESSIONS[number - 1]),
                transcript=put_blob(session, f"transcript {number}".encode()),
                request=ToolRequest.SUBMIT,
                detail={"explanation": f"attempt {number}", "direction": f"attempt-{number} @ kernel/a.cpp"},
            )
        case "rewrite":
            of_run = select(Run.model).join(Task, Task.run_id == Run.id).where(Task.id == claim.task_id)
            model = model or session.execute(of_run).scalar_one()
            if model != "kb":
                return Proposals()
            better, trick = (BETTER, "pad") if "wrong" in files["kernel/a.cpp"] else (RIGHT, "rename")
            proposal = Proposal(
                tree=put_tree(session, better),
                entry=trick,
                rewrite=trick,
                direction=f"{trick} @ kernel/a.cpp",
                explanation=f"the tail is not a multiple of 32 bytes: {trick}",
            )
            return Proposals(proposals=(proposal,))
    raise AssertionError(claim.kind)


def _validation(payload: dict[str, Any], failing: set[int]) -> Validation:
    cases = tuple(
        CaseResult(
            index=index,
            name=CASES[index],
            status=CaseStatus.MISMATCH if index in failing else CaseStatus.PASSED,
            deviations=(
                Deviation(
                    output="0",
                    dtype="float32",
                    shape=(9,),
                    mismatched=2 + index,
                    total=9,
                    max_abs=1.5,
                    first_index=(7,),
                    expected="1.0",
                    actual="0.0",
                ),
            )
            if index in failing
            else (),
        )
        for index in payload["indices"]
    )
    wrong = bool(failing & set(payload["indices"]))
    kind = FailureType.PRECISION_FAILED if wrong else FailureType.SUCCESS
    return Validation(case_set=payload["case_set"], failure_type=kind, cases=cases)
