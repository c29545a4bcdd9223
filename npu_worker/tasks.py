"""Which kinds of job compile and NPU workers run, and by what.

The toolchain and the warm runner live as long as the worker's process: headers are precompiled once,
torch is imported once, and each case of a candidate still runs in a sandboxed fork of its own.
"""

import atexit
from functools import cache

from npu_worker import devices
from npu_worker.compile import compile_workspace, toolchain
from npu_worker.limits import ValidationLimits
from npu_worker.runner.process import Runner
from npu_worker.sandbox import Mode
from npu_worker.toolchains.sim import SimToolchain
from npu_worker.validate import validate
from schema.blobs import get_blob, get_tree, put_blob
from schema.execute import Handler, Work
from schema.jobs import CompilePayload, JobKind, ValidatePayload
from schema.results import Compilation, Validation
from schema.settings import Settings
from schema.tables import Task
from schema.workspace import Workspace

EXTENSION_MEDIA_TYPE = "application/x-sharedlib"


def handlers(settings: Settings) -> dict[JobKind, Handler]:
    """The handlers of this process.

    Args:
        settings: timeouts, sandbox and home of this worker.
    """
    return {
        JobKind.COMPILE: lambda work: compile_candidate(work, settings),
        JobKind.VALIDATE: lambda work: validate_candidate(work, settings),
    }


def compile_candidate(work: Work, settings: Settings) -> Compilation:
    """Handle a compile job: build the tree's extension and store it as a blob."""
    payload = CompilePayload.model_validate(work.payload)
    workspace = _workspace(work, payload.tree)
    build = compile_workspace(
        workspace,
        settings=settings,
        device=payload.toolchain,
        tools=_toolchain(settings.sandbox),
        lost=work.lost,
    )
    if build.binary is None:
        return build.compilation
    with work.database.transaction() as session:
        artifact = put_blob(session, build.binary, media_type=EXTENSION_MEDIA_TYPE)
    return build.compilation.model_copy(update={"artifact": artifact})


def validate_candidate(work: Work, settings: Settings) -> Validation:
    """Handle a validate job: hold a device, run the cases, compare, analyse."""
    payload = ValidatePayload.model_validate(work.payload)
    workspace = _workspace(work, payload.tree)
    with work.database.transaction() as session:
        artifact = get_blob(session, payload.artifact)
    with devices.hold(
        work.database, job_id=work.claim.job_id, seconds=settings.validate_timeout + 60, kind=payload.device
    ):
        return validate(
            workspace,
            artifact,
            case_set=payload.case_set,
            indices=payload.indices,
            seed=payload.seed,
            max_elements=payload.max_elements,
            stop_after_failures=payload.stop_after_failures,
            forensics=payload.forensics,
            runner=_runner(settings.sandbox, settings.case_timeout, settings.validate_timeout),
            lost=work.lost,
        )


def _workspace(work: Work, tree: str) -> Workspace:
    with work.database.transaction() as session:
        task = session.get_one(Task, work.claim.task_id)
        return Workspace.from_files(get_tree(session, tree), name=task.name)


@cache
def _toolchain(sandbox: str) -> SimToolchain:
    return toolchain(mode=Mode(sandbox))


@cache
def _runner(sandbox: str, case_seconds: float, total_seconds: float) -> Runner:
    limits = ValidationLimits(case_seconds=case_seconds, total_seconds=total_seconds)
    runner = Runner(limits=limits, mode=Mode(sandbox))
    atexit.register(runner.close)
    return runner
