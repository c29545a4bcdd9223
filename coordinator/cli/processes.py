"""Commands that become a process of the stack: coordinator, worker, flower."""

import logging
import os
import signal
import sys
import threading
from typing import Annotated

import typer

ROLES = {
    # role: (Celery application, queue)
    "llm": ("workers.app", "llm"),
    "compile": ("npu_worker.app", "compile"),
    "npu": ("npu_worker.app", "npu"),
}


def add_commands(app: typer.Typer) -> None:
    """Put the commands of this module on the application."""
    app.command(epilog="Example: `DATABASE_URL=… BROKER_URL=… opmend coordinator`")(coordinator)
    app.command(epilog="Example: `opmend worker npu --name npu-2`")(worker)
    app.command(epilog="Example: `opmend flower`, then open the address that it prints")(flower)


def coordinator() -> None:
    """Decide: run the driver, the relay and the sweeper until stopped.

    Everything it knows is in Postgres: kill it at any moment, start it again, and it goes on.
    """
    from coordinator.engine.serve import serve
    from coordinator.local.lifetime import die_with_supervisor
    from coordinator.local.services import services
    from schema.database import Database
    from schema.settings import Settings

    die_with_supervisor()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    settings = Settings.load()
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    with services(settings, broker=True) as found:
        database = Database(found.database_url)
        # An administrator may have made them since the last migration.
        database.grant_roles()
        serve(
            database,
            broker_url=str(found.broker_url),
            stop=stopping,
            most_attempts=settings.job_attempts,
        )


def worker(
    role: Annotated[str, typer.Argument(help="llm, compile or npu.")],
    name: Annotated[str, typer.Option("--name", help="Name of this worker, shown in Flower.")] = "",
) -> None:
    """Start a worker on this machine: llm proposes, compile builds, npu validates.

    It needs OPMEND_WORKER_DATABASE_URL (or DATABASE_URL) and BROKER_URL, or the embedded servers of `opmend up` in
    the same folder.
    """
    from coordinator.local.lifetime import die_with_supervisor
    from coordinator.local.services import services
    from schema.errors import BadInput
    from schema.settings import Settings

    if role not in ROLES:
        raise BadInput(f"no worker role {role!r}", mend=f"use one of: {', '.join(ROLES)}")
    die_with_supervisor()
    settings = Settings.load()
    application, queue = ROLES[role]
    arguments = [sys.executable, "-m", "celery", "--skip-checks", "-A", application, "worker", "-Q", queue]
    arguments += ["-c", "1", "-n", f"{name or role}@%h", "--loglevel", "INFO", "--without-mingle"]
    database_url = settings.worker_database_url or settings.database_url
    if database_url and settings.broker_url:
        # A worker is not told how others reach the database.
        environment = {**os.environ, "DATABASE_URL": database_url, **_celery_environment()}
        os.execve(arguments[0], arguments, environment)
    # Embedded servers: stay, so that they live as long as this worker.
    import subprocess

    with services(settings, broker=True) as found:
        process = subprocess.Popen(
            arguments, env={**os.environ, **found.worker_environment(), **_celery_environment()}
        )
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: process.terminate())
        raise SystemExit(process.wait())


def flower(
    port: Annotated[int | None, typer.Option(help="Loopback port; 5555 by default.")] = None,
) -> None:
    """Show queues and workers in Flower, on loopback only.

    Flower is a view of Celery, never the truth: that is `opmend status`.
    """
    import subprocess

    from coordinator.local.services import services
    from schema.settings import Settings

    settings = Settings.load()
    with services(settings, broker=True) as found:
        arguments = [sys.executable, "-m", "celery", f"--broker={found.broker_url}", "flower"]
        arguments += ["--address=127.0.0.1", f"--port={port or settings.flower_port}", "--max_tasks=5000"]
        arguments += ["--purge_offline_workers=60", "--persistent=False"]
        typer.echo(f"Flower: http://127.0.0.1:{port or settings.flower_port}")
        process = subprocess.Popen(arguments, env={**os.environ, **found.environment()})
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: process.terminate())
        raise SystemExit(process.wait())


def _celery_environment() -> dict[str, str]:
    # Loading LiteLLM's cost map over the network would be a call home at each start.
    return {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
