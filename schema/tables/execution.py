"""What ran: cohorts, runs, tasks, events, jobs, devices, evidence, verdicts, blobs, model calls.

Postgres is the truth; Redis holds only job ids and may be flushed at any moment. The rules on
jobs, leases, fences and the outbox are those of research/queues.md ("Exactly-once effects").
"""

from datetime import datetime

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    DateTime,
    FetchedValue,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Text,
    UniqueConstraint,
)
from sqlalchemy.orm import Mapped, mapped_column

from schema.tables.base import Base, Digest, Id, Json, Now


def _task() -> Mapped[int]:
    return mapped_column(BigInteger, ForeignKey("tasks.id", ondelete="RESTRICT"))


class Cohort(Base):
    """A frozen set of tasks' inputs. Written once, when it is frozen."""

    __tablename__ = "cohorts"
    __table_args__ = (UniqueConstraint("digest"),)

    id: Mapped[Id]
    name: Mapped[str]
    digest: Mapped[Digest] = mapped_column(doc="SHA-256 of the canonical manifest")
    manifest: Mapped[Json]
    created_at: Mapped[Now]


class Run(Base):
    """A cohort × arm × model × trials, as the user asked for it."""

    __tablename__ = "runs"

    id: Mapped[Id]
    cohort_id: Mapped[int] = mapped_column(BigInteger, ForeignKey("cohorts.id", ondelete="RESTRICT"))
    arm: Mapped[str]
    model: Mapped[str] = mapped_column(doc="'kb' for zero-token rewrites alone, else a LiteLLM model name")
    trials: Mapped[int] = mapped_column(Integer)
    priority: Mapped[int] = mapped_column(
        Integer, server_default="0", doc="a run of a higher one is served first; runs of the same share alike"
    )
    created_at: Mapped[Now]


class Task(Base):
    """One operator or problem in a run: the statistical unit.

    `last_sequence` and `last_hash` are the head of the task's event chain; appending an event locks
    this row. `decided_sequence` is how far the driver has decided: below last_sequence, it is due.
    """

    __tablename__ = "tasks"
    __table_args__ = (
        UniqueConstraint("run_id", "name", "trial"),
        CheckConstraint("status IN ('active', 'finished')", name="status"),
        CheckConstraint("(status = 'finished') = (outcome IS NOT NULL)", name="finished_with_outcome"),
        Index(
            "ix_tasks_due", "id", postgresql_where="status = 'active' AND decided_sequence < last_sequence"
        ),
    )

    id: Mapped[Id]
    run_id: Mapped[int] = mapped_column(BigInteger, ForeignKey("runs.id", ondelete="RESTRICT"), index=True)
    name: Mapped[str]
    level: Mapped[str]
    trial: Mapped[int] = mapped_column(Integer)
    status: Mapped[str] = mapped_column(server_default="active")
    outcome: Mapped[str | None]
    last_sequence: Mapped[int] = mapped_column(Integer, server_default="0")
    last_hash: Mapped[str] = mapped_column(Text(collation="C"), server_default="")
    decided_sequence: Mapped[int] = mapped_column(Integer, server_default="0")
    created_at: Mapped[Now]
    finished_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))


class Event(Base):
    """One thing that happened to a task. Append-only (a trigger refuses UPDATE and DELETE), hash-chained.

    hash = SHA-256 over (previous hash, task, sequence, kind, canonical JSON of data, time).
    """

    __tablename__ = "events"

    task_id: Mapped[int] = mapped_column(
        BigInteger, ForeignKey("tasks.id", ondelete="RESTRICT"), primary_key=True
    )
    sequence: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    kind: Mapped[str] = mapped_column(doc="one of schema.events")
    data: Mapped[Json]
    at: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    previous_hash: Mapped[str] = mapped_column(Text(collation="C"))
    hash: Mapped[str] = mapped_column(Text(collation="C"))


class Job(Base):
    """One unit on a queue.

    status: queued → running → done | failed | cancelled; running → queued when its lease runs out.
    A worker's writes count only under its own fence: a result under an older one is late. Workers change a job
    through the functions of `schema.migrations.claiming` alone.
    """

    __tablename__ = "jobs"
    __table_args__ = (
        CheckConstraint("status IN ('queued', 'running', 'done', 'failed', 'cancelled')", name="status"),
        Index(
            "ix_jobs_open", "status", "lease_expires_at", postgresql_where="status IN ('queued', 'running')"
        ),
    )

    id: Mapped[str] = mapped_column(
        Text(collation="C"), primary_key=True, doc="deterministic: task + purpose; also Celery's task id"
    )
    task_id: Mapped[int] = _task()
    kind: Mapped[str] = mapped_column(doc="one of schema.jobs.JobKind")
    queue: Mapped[str]
    payload: Mapped[Json]
    status: Mapped[str] = mapped_column(server_default="queued")
    fence: Mapped[int] = mapped_column(BigInteger, server_default="0")
    attempts: Mapped[int] = mapped_column(Integer, server_default="0")
    worker: Mapped[str | None]
    claim_hash: Mapped[bytes | None] = mapped_column(
        LargeBinary, doc="SHA-256 of the token that the claim was given; the worker shows the token itself"
    )
    lease_expires_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    created_at: Mapped[Now]
    started_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    finished_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    result: Mapped[Json | None]


class Outbox(Base):
    """A job still to be published on its queue. The relay deletes a row once Redis has it.

    A trigger fills `run_id` and `queue` from the job.
    """

    __tablename__ = "outbox"
    __table_args__ = (Index("ix_outbox_share", "queue", "run_id", "id"),)

    id: Mapped[Id]
    job_id: Mapped[str] = mapped_column(
        Text(collation="C"), ForeignKey("jobs.id", ondelete="RESTRICT"), index=True
    )
    run_id: Mapped[int] = mapped_column(BigInteger, server_default=FetchedValue())
    queue: Mapped[str] = mapped_column(server_default=FetchedValue())
    created_at: Mapped[Now]


class Device(Base):
    """A simulated or real NPU, with its lease, fence, health and quarantine."""

    __tablename__ = "devices"
    __table_args__ = (UniqueConstraint("host", "slot"),)

    id: Mapped[Id]
    host: Mapped[str]
    slot: Mapped[int] = mapped_column(Integer)
    kind: Mapped[str] = mapped_column(doc="sim, or a SoC version such as Ascend910B2")
    health: Mapped[str] = mapped_column(server_default="unknown", doc="unknown, healthy or failing")
    holder: Mapped[str | None]
    fence: Mapped[int] = mapped_column(BigInteger, server_default="0")
    lease_expires_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    quarantined_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    quarantine_reason: Mapped[str | None]


class Evidence(Base):
    """An immutable record of one validation. Append-only."""

    __tablename__ = "evidence"
    __table_args__ = (UniqueConstraint("job_id"), Index("ix_evidence_task", "task_id"))

    id: Mapped[Id]
    task_id: Mapped[int] = _task()
    job_id: Mapped[str] = mapped_column(Text(collation="C"), ForeignKey("jobs.id", ondelete="RESTRICT"))
    round: Mapped[int] = mapped_column(Integer)
    tree: Mapped[Digest] = mapped_column(doc="blob digest of the tree that was validated")
    case_set: Mapped[str]
    complete: Mapped[bool] = mapped_column(Boolean)
    passed: Mapped[bool] = mapped_column(Boolean)
    match_rate: Mapped[float | None] = mapped_column(Float)
    coverage: Mapped[float] = mapped_column(Float)
    body: Mapped[Json] = mapped_column(doc="the whole schema.results.Validation")
    digest: Mapped[Digest] = mapped_column(doc="SHA-256 of the canonical JSON of body")
    created_at: Mapped[Now]


class Verdict(Base):
    """What the integrity scan, or a person who cites source evidence, says of a tree. Append-only."""

    __tablename__ = "verdicts"
    __table_args__ = (Index("ix_verdicts_task", "task_id", "tree"),)

    id: Mapped[Id]
    task_id: Mapped[int] = _task()
    tree: Mapped[Digest]
    verdict: Mapped[str] = mapped_column(doc="CLEAN, SUSPECT or CHEAT")
    origin: Mapped[str] = mapped_column(doc="scan, or resolution")
    body: Mapped[Json]
    created_at: Mapped[Now]


class Blob(Base):
    """Bytes by their SHA-256: file texts, tree manifests, extensions, long logs, transcripts."""

    __tablename__ = "blobs"

    digest: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    media_type: Mapped[str]
    size: Mapped[int] = mapped_column(BigInteger)
    data: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[Now]


class ModelCall(Base):
    """One reply of a model, with the provider's own token counts (paper S2.4). Append-only.

    Unique by (session, message): a provider's record that arrives twice counts once.
    """

    __tablename__ = "model_calls"
    __table_args__ = (UniqueConstraint("session", "message"), Index("ix_model_calls_task", "task_id"))

    id: Mapped[Id]
    task_id: Mapped[int] = _task()
    job_id: Mapped[str] = mapped_column(Text(collation="C"), ForeignKey("jobs.id", ondelete="RESTRICT"))
    session: Mapped[str]
    turn: Mapped[int] = mapped_column(Integer)
    message: Mapped[str] = mapped_column(doc="the provider's id of the reply")
    model: Mapped[str]
    input_tokens: Mapped[int] = mapped_column(BigInteger)
    output_tokens: Mapped[int] = mapped_column(BigInteger)
    cache_creation_tokens: Mapped[int] = mapped_column(BigInteger)
    cache_read_tokens: Mapped[int] = mapped_column(BigInteger)
    seconds: Mapped[float] = mapped_column(Float)
    created_at: Mapped[Now]
