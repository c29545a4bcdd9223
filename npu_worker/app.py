"""The Celery application of compile and NPU workers: `opmend worker compile`, `opmend worker npu`.

One application, two queues: a compile worker consumes `compile`, an NPU worker consumes `npu`. Torch
is imported by the first validation, in the pool's child, never in the parent process.
"""

from functools import cache

from schema.database import Database
from schema.execute import end_process, execute
from schema.queues import TASK_NAMES, celery_app
from schema.settings import Settings

settings = Settings.load()
app = celery_app("opmend-npu", settings.broker_url or "redis://127.0.0.1:6379/0")


@cache
def database() -> Database:
    """This process' connection pool; made after the pool child has forked."""
    return Database(settings.require_worker_database_url(), pool_size=2)


def _execute(job_id: str) -> None:
    from npu_worker.tasks import handlers

    execute(
        database(),
        job_id,
        handlers(settings),
        lease_seconds=settings.lease_seconds,
        most_attempts=settings.job_attempts,
        end=end_process,
    )


@app.task(name=TASK_NAMES["compile"])  # type: ignore[untyped-decorator]  # Celery has no types
def compile_candidate(job_id: str) -> None:
    """Run one job of the queue `compile`."""
    _execute(job_id)


@app.task(name=TASK_NAMES["npu"])  # type: ignore[untyped-decorator]  # Celery has no types
def validate_candidate(job_id: str) -> None:
    """Run one job of the queue `npu`."""
    _execute(job_id)
