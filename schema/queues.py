"""The queues, and the one place where Celery's settings are made (research/queues.md).

| queue   | consumer        | message           |
|---------|-----------------|-------------------|
| compile | compile workers | [job id], nothing else |
| npu     | NPU workers     | [job id]          |
| llm     | LLM workers     | [job id]          |

Celery only wakes a worker up. Whether a job may run, under which fence, and whether its result
counts, is decided in Postgres (schema.leases); a message may be lost or doubled without harm.
"""

from typing import Any

from celery import Celery

from schema.jobs import JobKind

QUEUES: dict[JobKind, str] = {
    JobKind.COMPILE: "compile",
    JobKind.VALIDATE: "npu",
    JobKind.REWRITE: "llm",
    JobKind.TURN: "llm",
}

# Celery's task name for each queue; a worker registers the ones it consumes.
TASK_NAMES: dict[str, str] = {queue: f"opmend.{queue}" for queue in sorted(set(QUEUES.values()))}

# Above any job's hard limit, so that the broker never delivers a live job twice by the clock alone.
VISIBILITY_TIMEOUT = 6 * 3600


def celery_app(name: str, broker_url: str) -> Celery:
    """A Celery application with opmend's settings.

    Args:
        name: name of the application, shown in Flower.
        broker_url: redis://… or redis+socket://…
    """
    app = Celery(name, broker=broker_url, set_as_current=False)
    app.conf.update(**_settings())
    return app


def _settings() -> dict[str, Any]:
    return {
        # A message is acknowledged after its job: a killed worker's message comes back. Postgres
        # decides whether the second delivery may run.
        "task_acks_late": True,
        "task_reject_on_worker_lost": True,
        "task_acks_on_failure_or_timeout": True,
        "worker_prefetch_multiplier": 1,
        "worker_disable_prefetch": True,
        "task_ignore_result": True,  # results live in Postgres
        "task_serializer": "json",
        "accept_content": ["json"],
        "task_default_queue": "unrouted",  # a message without a queue is a bug, not work
        "task_create_missing_queues": True,
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        "broker_transport_options": {
            "visibility_timeout": VISIBILITY_TIMEOUT,
            "socket_timeout": 30,
            "socket_connect_timeout": 10,
            "health_check_interval": 25,
        },
        "worker_soft_shutdown_timeout": 10.0,
        # A job that goes on while the broker is gone keeps its place in the worker after the reconnect: the worker
        # would be alive and take nothing more, for ever. Its lease runs out, and the job is run again.
        "worker_cancel_long_running_tasks_on_connection_loss": True,
        "worker_send_task_events": True,  # Flower
        "task_send_sent_event": True,
        "worker_hijack_root_logger": False,
        "enable_utc": True,
    }
