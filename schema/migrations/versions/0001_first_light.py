"""First light: provenance, execution, and the triggers that keep history."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from schema.migrations import history

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "blobs",
        sa.Column("digest", sa.Text(collation="C"), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_blobs")),
    )
    op.create_table(
        "cohorts",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(collation="C"), nullable=False),
        sa.Column("manifest", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cohorts")),
        sa.UniqueConstraint("digest", name=op.f("uq_cohorts_digest")),
    )
    op.create_table(
        "devices",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("health", sa.Text(), server_default="unknown", nullable=False),
        sa.Column("holder", sa.Text(), nullable=True),
        sa.Column("fence", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("lease_expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("quarantined_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("quarantine_reason", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_devices")),
        sa.UniqueConstraint("host", "slot", name=op.f("uq_devices_host_slot")),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("cohort_id", sa.BigInteger(), nullable=False),
        sa.Column("arm", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("trials", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["cohort_id"], ["cohorts.id"], name=op.f("fk_runs_cohort_id_cohorts"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
    )
    op.create_table(
        "tasks",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("level", sa.Text(), nullable=False),
        sa.Column("trial", sa.Integer(), nullable=False),
        sa.Column("status", sa.Text(), server_default="active", nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("last_sequence", sa.Integer(), server_default="0", nullable=False),
        sa.Column("last_hash", sa.Text(collation="C"), server_default="", nullable=False),
        sa.Column("decided_sequence", sa.Integer(), server_default="0", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(status = 'finished') = (outcome IS NOT NULL)", name=op.f("ck_tasks_finished_with_outcome")
        ),
        sa.CheckConstraint("status IN ('active', 'finished')", name=op.f("ck_tasks_status")),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name=op.f("fk_tasks_run_id_runs"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tasks")),
        sa.UniqueConstraint("run_id", "name", "trial", name=op.f("uq_tasks_run_id_name_trial")),
    )
    op.create_index(
        "ix_tasks_due",
        "tasks",
        ["id"],
        unique=False,
        postgresql_where="status = 'active' AND decided_sequence < last_sequence",
    )
    op.create_index(op.f("ix_tasks_run_id"), "tasks", ["run_id"], unique=False)
    op.create_table(
        "benchmarks",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("task_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("spec", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.ForeignKeyConstraint(
            ["task_id"], ["tasks.id"], name=op.f("fk_benchmarks_task_id_tasks"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_benchmarks")),
        sa.UniqueConstraint("task_id", "name", name=op.f("uq_benchmarks_task_id_name")),
    )
    op.create_table(
        "events",
        sa.Column("task_id", sa.BigInteger(), nullable=False),
        sa.Column("sequence", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("data", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("previous_hash", sa.Text(collation="C"), nullable=False),
        sa.Column("hash", sa.Text(collation="C"), nullable=False),
        sa.ForeignKeyConstraint(
            ["task_id"], ["tasks.id"], name=op.f("fk_events_task_id_tasks"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("task_id", "sequence", name=op.f("pk_events")),
    )
    op.create_table(
        "files",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("task_id", sa.BigInteger(), nullable=False),
        sa.Column("path", sa.Text(collation="C"), nullable=False),
        sa.ForeignKeyConstraint(
            ["task_id"], ["tasks.id"], name=op.f("fk_files_task_id_tasks"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_files")),
        sa.UniqueConstraint("task_id", "path", name=op.f("uq_files_task_id_path")),
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.Text(collation="C"), nullable=False),
        sa.Column("task_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("queue", sa.Text(), nullable=False),
        sa.Column("payload", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("status", sa.Text(), server_default="queued", nullable=False),
        sa.Column("fence", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.Column("lease_expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("result", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.CheckConstraint(
            "status IN ('queued', 'running', 'done', 'failed', 'cancelled')", name=op.f("ck_jobs_status")
        ),
        sa.ForeignKeyConstraint(
            ["task_id"], ["tasks.id"], name=op.f("fk_jobs_task_id_tasks"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
    )
    op.create_index(
        "ix_jobs_open",
        "jobs",
        ["status", "lease_expires_at"],
        unique=False,
        postgresql_where="status IN ('queued', 'running')",
    )
    op.create_table(
        "revisions",
        sa.Column("task_id", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("tree", sa.Text(collation="C"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["task_id"], ["tasks.id"], name=op.f("fk_revisions_task_id_tasks"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("task_id", "revision", name=op.f("pk_revisions")),
    )
    op.create_table(
        "verdicts",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("task_id", sa.BigInteger(), nullable=False),
        sa.Column("tree", sa.Text(collation="C"), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("body", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["task_id"], ["tasks.id"], name=op.f("fk_verdicts_task_id_tasks"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_verdicts")),
    )
    op.create_index("ix_verdicts_task", "verdicts", ["task_id", "tree"], unique=False)
    op.create_table(
        "evidence",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("task_id", sa.BigInteger(), nullable=False),
        sa.Column("job_id", sa.Text(collation="C"), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("tree", sa.Text(collation="C"), nullable=False),
        sa.Column("case_set", sa.Text(), nullable=False),
        sa.Column("complete", sa.Boolean(), nullable=False),
        sa.Column("passed", sa.Boolean(), nullable=False),
        sa.Column("match_rate", sa.Float(), nullable=True),
        sa.Column("coverage", sa.Float(), nullable=False),
        sa.Column("body", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("digest", sa.Text(collation="C"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.id"], name=op.f("fk_evidence_job_id_jobs"), ondelete="RESTRICT"
        ),
        sa.ForeignKeyConstraint(
            ["task_id"], ["tasks.id"], name=op.f("fk_evidence_task_id_tasks"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evidence")),
        sa.UniqueConstraint("job_id", name=op.f("uq_evidence_job_id")),
    )
    op.create_index("ix_evidence_task", "evidence", ["task_id"], unique=False)
    op.create_table(
        "model_calls",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("task_id", sa.BigInteger(), nullable=False),
        sa.Column("job_id", sa.Text(collation="C"), nullable=False),
        sa.Column("session", sa.Text(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cache_creation_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cache_read_tokens", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.id"], name=op.f("fk_model_calls_job_id_jobs"), ondelete="RESTRICT"
        ),
        sa.ForeignKeyConstraint(
            ["task_id"], ["tasks.id"], name=op.f("fk_model_calls_task_id_tasks"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_model_calls")),
        sa.UniqueConstraint("session", "message", name=op.f("uq_model_calls_session_message")),
    )
    op.create_index("ix_model_calls_task", "model_calls", ["task_id"], unique=False)
    op.create_table(
        "outbox",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("job_id", sa.Text(collation="C"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.id"], name=op.f("fk_outbox_job_id_jobs"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox")),
    )
    op.create_index(op.f("ix_outbox_job_id"), "outbox", ["job_id"], unique=False)
    op.create_table(
        "snippet_explanations",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("task_id", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("explanation", sa.Text(), nullable=False),
        sa.Column("entry_ids", sa.ARRAY(sa.Text()), nullable=False),
        sa.Column("direction", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["task_id", "revision"],
            ["revisions.task_id", "revisions.revision"],
            name=op.f("fk_snippet_explanations_task_id_revisions"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_snippet_explanations")),
        sa.UniqueConstraint("task_id", "revision", name=op.f("uq_snippet_explanations_task_id_revision")),
    )
    op.create_table(
        "snippets",
        sa.Column("file_id", sa.BigInteger(), nullable=False),
        sa.Column("position_key", sa.Text(collation="C"), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("created_revision", sa.Integer(), nullable=False),
        sa.Column("created_round", sa.Integer(), nullable=False),
        sa.Column("disabled_revision", sa.Integer(), nullable=True),
        sa.Column("disabled_round", sa.Integer(), nullable=True),
        sa.Column("scope", sa.Text(), server_default="", nullable=False),
        sa.Column("node_kind", sa.Text(), server_default="", nullable=False),
        sa.CheckConstraint(
            "(disabled_revision IS NULL) = (disabled_round IS NULL)",
            name=op.f("ck_snippets_disabled_revision_and_round"),
        ),
        sa.CheckConstraint(
            "disabled_revision IS NULL OR disabled_revision > created_revision",
            name=op.f("ck_snippets_disabled_after_created"),
        ),
        sa.CheckConstraint(
            "length(position_key) BETWEEN 1 AND 1000", name=op.f("ck_snippets_position_key_length")
        ),
        sa.ForeignKeyConstraint(
            ["file_id"], ["files.id"], name=op.f("fk_snippets_file_id_files"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("file_id", "position_key", name=op.f("pk_snippets")),
    )
    op.create_index(
        "ix_snippets_live",
        "snippets",
        ["file_id", "position_key"],
        unique=False,
        postgresql_where="disabled_revision IS NULL",
    )
    op.create_table(
        "benchmark_runs",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("task_id", sa.BigInteger(), nullable=False),
        sa.Column("benchmark_id", sa.BigInteger(), nullable=False),
        sa.Column("evidence_id", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["benchmark_id"],
            ["benchmarks.id"],
            name=op.f("fk_benchmark_runs_benchmark_id_benchmarks"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["evidence_id"],
            ["evidence.id"],
            name=op.f("fk_benchmark_runs_evidence_id_evidence"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["task_id"], ["tasks.id"], name=op.f("fk_benchmark_runs_task_id_tasks"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_benchmark_runs")),
    )
    op.create_index("ix_benchmark_runs_task", "benchmark_runs", ["task_id", "revision"], unique=False)
    op.create_table(
        "lineage",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("child_file_id", sa.BigInteger(), nullable=False),
        sa.Column("child_key", sa.Text(collation="C"), nullable=False),
        sa.Column("parent_file_id", sa.BigInteger(), nullable=False),
        sa.Column("parent_key", sa.Text(collation="C"), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["child_file_id", "child_key"],
            ["snippets.file_id", "snippets.position_key"],
            name="fk_lineage_child",
        ),
        sa.ForeignKeyConstraint(
            ["parent_file_id", "parent_key"],
            ["snippets.file_id", "snippets.position_key"],
            name="fk_lineage_parent",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_lineage")),
        sa.UniqueConstraint(
            "child_file_id",
            "child_key",
            "parent_file_id",
            "parent_key",
            name=op.f("uq_lineage_child_file_id_child_key_parent_file_id_parent_key"),
        ),
    )
    op.create_index("ix_lineage_parent", "lineage", ["parent_file_id", "parent_key"], unique=False)
    op.create_table(
        "snippet_failures",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("file_id", sa.BigInteger(), nullable=False),
        sa.Column("position_key", sa.Text(collation="C"), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("benchmark_id", sa.BigInteger(), nullable=False),
        sa.Column("failure_output", sa.Text(), nullable=False),
        sa.Column("failure_blob", sa.Text(collation="C"), nullable=True),
        sa.ForeignKeyConstraint(
            ["benchmark_id"],
            ["benchmarks.id"],
            name=op.f("fk_snippet_failures_benchmark_id_benchmarks"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["failure_blob"],
            ["blobs.digest"],
            name=op.f("fk_snippet_failures_failure_blob_blobs"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["file_id", "position_key"],
            ["snippets.file_id", "snippets.position_key"],
            name=op.f("fk_snippet_failures_file_id_snippets"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_snippet_failures")),
        sa.UniqueConstraint(
            "file_id",
            "position_key",
            "revision",
            "benchmark_id",
            name=op.f("uq_snippet_failures_file_id_position_key_revision_benchmark_id"),
        ),
    )
    op.create_index("ix_snippet_failures_benchmark", "snippet_failures", ["benchmark_id"], unique=False)
    for statement in history.install():
        op.execute(statement)


def downgrade() -> None:
    for statement in history.remove():
        op.execute(statement)
    op.drop_index("ix_snippet_failures_benchmark", table_name="snippet_failures")
    op.drop_table("snippet_failures")
    op.drop_index("ix_lineage_parent", table_name="lineage")
    op.drop_table("lineage")
    op.drop_index("ix_benchmark_runs_task", table_name="benchmark_runs")
    op.drop_table("benchmark_runs")
    op.drop_index("ix_snippets_live", table_name="snippets", postgresql_where="disabled_revision IS NULL")
    op.drop_table("snippets")
    op.drop_table("snippet_explanations")
    op.drop_index(op.f("ix_outbox_job_id"), table_name="outbox")
    op.drop_table("outbox")
    op.drop_index("ix_model_calls_task", table_name="model_calls")
    op.drop_table("model_calls")
    op.drop_index("ix_evidence_task", table_name="evidence")
    op.drop_table("evidence")
    op.drop_index("ix_verdicts_task", table_name="verdicts")
    op.drop_table("verdicts")
    op.drop_table("revisions")
    op.drop_index("ix_jobs_open", table_name="jobs", postgresql_where="status IN ('queued', 'running')")
    op.drop_table("jobs")
    op.drop_table("files")
    op.drop_table("events")
    op.drop_table("benchmarks")
    op.drop_index(op.f("ix_tasks_run_id"), table_name="tasks")
    op.drop_index(
        "ix_tasks_due",
        table_name="tasks",
        postgresql_where="status = 'active' AND decided_sequence < last_sequence",
    )
    op.drop_table("tasks")
    op.drop_table("runs")
    op.drop_table("devices")
    op.drop_table("cohorts")
    op.drop_table("blobs")
