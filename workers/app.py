"""The Celery application of LLM workers. Start it with `opmend worker llm`.

Consumes the queue `llm`: rewrite jobs (zero tokens) and turn jobs (one model reply each).
"""

from functools import cache

from schema.database import Database
from schema.execute import end_process, execute
from schema.queues import TASK_NAMES, celery_app
from schema.settings import Settings

settings = Settings.load()
app = celery_app("opmend-llm", settings.broker_url or "redis://127.0.0.1:6379/0")


@cache
def database() -> Database:
    """This process' connection pool; made after the pool child has forked."""
    return Database(settings.require_worker_database_url(), pool_size=2)


@app.task(name=TASK_NAMES["llm"])  # type: ignore[untyped-decorator]  # Celery has no types
def llm(job_id: str) -> None:
    """Run one job of the queue `llm`."""
    from workers.tasks import HANDLERS

    execute(
        database(),
        job_id,
        HANDLERS,
        lease_seconds=settings.lease_seconds,
        most_attempts=settings.job_attempts,
        end=end_process,
    )
