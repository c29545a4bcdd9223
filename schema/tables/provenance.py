"""Why a line is here: files, snippets, lineage, benchmarks and the failures behind each change.

Source: TraceCoder, sections 4 and 5, with the repairs of research/provenance.md: lineage is an edge
table (a key alone can't name a move across files), the version pointer is a monotone revision (two
fixes in one round would hide each other), and key columns sort by bytes (COLLATE "C"). That a snippet's file, an
edge's two snippets and a failure's snippet and benchmark are there is asked by triggers, once a statement
(schema.migrations.references), and not by foreign keys.
"""

from sqlalchemy import (
    ARRAY,
    BigInteger,
    CheckConstraint,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    Text,
    UniqueConstraint,
)
from sqlalchemy.orm import Mapped, mapped_column

from schema.tables.base import Base, Digest, Id, Json, Now

# A btree row is capped at 2,704 bytes; the check turns that into a clear error long before.
POSITION_KEY_LIMIT = 1000


def _key(nullable: bool = False, primary_key: bool = False) -> Mapped[str]:
    return mapped_column(Text(collation="C"), nullable=nullable, primary_key=primary_key)


class File(Base):
    """One path of one task's workspace. Written once, by the snippet store."""

    __tablename__ = "files"
    __table_args__ = (UniqueConstraint("task_id", "path"),)

    id: Mapped[Id]
    task_id: Mapped[int] = mapped_column(BigInteger, ForeignKey("tasks.id", ondelete="RESTRICT"))
    path: Mapped[str] = mapped_column(Text(collation="C"))


class Revision(Base):
    """One state of all files of a task; revision 0 is the frozen baseline."""

    __tablename__ = "revisions"

    task_id: Mapped[int] = mapped_column(
        BigInteger, ForeignKey("tasks.id", ondelete="RESTRICT"), primary_key=True
    )
    revision: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    round: Mapped[int] = mapped_column(Integer)
    cause: Mapped[str] = mapped_column(doc="initial, rewrite, session or restore")
    tree: Mapped[Digest] = mapped_column(doc="blob digest of the tree manifest of this state")
    created_at: Mapped[Now]


class Snippet(Base):
    """One line of one file, from its creation until it is disabled. Content and key never change.

    A disabled row stays in place as a tombstone: its key is taken for ever (fault D1). A row is inserted and
    disabled in the transaction of its revision; triggers refuse the rest. Its place in its program is told once,
    later (`schema.describing`).
    """

    __tablename__ = "snippets"
    __table_args__ = (
        CheckConstraint(
            f"length(position_key) BETWEEN 1 AND {POSITION_KEY_LIMIT}", name="position_key_length"
        ),
        # Rule D8 as far as one expression goes: the alphabet, no empty tree node, as many opened as closed.
        CheckConstraint(
            "position_key ~ '^[-.0-9A-Za-z]+$' AND strpos(position_key, '.-') = 0 AND "
            "length(replace(position_key, '.', '')) = length(replace(position_key, '-', ''))",
            name="position_key_grammar",
        ),
        CheckConstraint(
            "disabled_revision IS NULL OR disabled_revision > created_revision", name="disabled_after_created"
        ),
        CheckConstraint(
            "(disabled_revision IS NULL) = (disabled_round IS NULL)", name="disabled_revision_and_round"
        ),
        Index("ix_snippets_live", "file_id", "position_key", postgresql_where="disabled_revision IS NULL"),
    )

    file_id: Mapped[int] = mapped_column(
        BigInteger, primary_key=True, autoincrement=False, doc="a row of files"
    )
    position_key: Mapped[str] = _key(primary_key=True)
    content: Mapped[str] = mapped_column(
        doc="one line with its terminator; U+FFFD for NUL and bytes that are no UTF-8"
    )
    raw: Mapped[bytes | None] = mapped_column(
        LargeBinary, doc="the line's exact bytes, where `content` can't hold them; NULL where it does"
    )
    created_revision: Mapped[int] = mapped_column(Integer)
    created_round: Mapped[int] = mapped_column(Integer)
    disabled_revision: Mapped[int | None] = mapped_column(Integer)
    disabled_round: Mapped[int | None] = mapped_column(Integer)
    scope: Mapped[str | None] = mapped_column(
        doc="enclosing function or class, by tree-sitter; NULL: not told yet"
    )
    node_kind: Mapped[str | None] = mapped_column(
        doc="kind of the syntax node of the line; NULL: not told yet, or a file without syntax"
    )


class LineageEdge(Base):
    """A snippet follows from another one: modified, moved, merged, split or restored."""

    __tablename__ = "lineage"
    __table_args__ = (
        UniqueConstraint("child_file_id", "child_key", "parent_file_id", "parent_key"),
        Index("ix_lineage_parent", "parent_file_id", "parent_key"),
    )

    id: Mapped[Id]
    child_file_id: Mapped[int] = mapped_column(BigInteger)
    child_key: Mapped[str] = _key()
    parent_file_id: Mapped[int] = mapped_column(BigInteger)
    parent_key: Mapped[str] = _key()
    kind: Mapped[str] = mapped_column(doc="modified, moved, merged, split or restored")


class Benchmark(Base):
    """One check that can fail: a case of an operator, a command line of a program, or BUILD."""

    __tablename__ = "benchmarks"
    __table_args__ = (UniqueConstraint("task_id", "name"),)

    id: Mapped[Id]
    task_id: Mapped[int] = mapped_column(BigInteger, ForeignKey("tasks.id", ondelete="RESTRICT"))
    name: Mapped[str]
    kind: Mapped[str] = mapped_column(doc="case, command or build")
    spec: Mapped[Json] = mapped_column(doc="what is needed to run it again: case index, inputs, seed")


class BenchmarkRun(Base):
    """One run of one benchmark on one revision; comes with its evidence. Append-only."""

    __tablename__ = "benchmark_runs"
    __table_args__ = (Index("ix_benchmark_runs_task", "task_id", "revision"),)

    id: Mapped[Id]
    task_id: Mapped[int] = mapped_column(BigInteger, ForeignKey("tasks.id", ondelete="RESTRICT"))
    benchmark_id: Mapped[int] = mapped_column(BigInteger, ForeignKey("benchmarks.id", ondelete="RESTRICT"))
    evidence_id: Mapped[int] = mapped_column(BigInteger, ForeignKey("evidence.id", ondelete="RESTRICT"))
    revision: Mapped[int] = mapped_column(Integer)
    round: Mapped[int] = mapped_column(Integer)
    status: Mapped[str] = mapped_column(doc="a CaseStatus of schema.results")
    message: Mapped[str] = mapped_column(doc="the failure in one line; empty when it passed")
    created_at: Mapped[Now]


class SnippetFailure(Base):
    """The failed benchmark that made a snippet appear, or (on its tombstone) go. Append-only."""

    __tablename__ = "snippet_failures"
    __table_args__ = (
        UniqueConstraint("file_id", "position_key", "revision", "benchmark_id"),
        Index("ix_snippet_failures_benchmark", "benchmark_id"),
    )

    id: Mapped[Id]
    file_id: Mapped[int] = mapped_column(BigInteger)
    position_key: Mapped[str] = _key()
    revision: Mapped[int] = mapped_column(Integer)
    round: Mapped[int] = mapped_column(Integer)
    benchmark_id: Mapped[int] = mapped_column(BigInteger, doc="a row of benchmarks")
    failure_output: Mapped[str] = mapped_column(doc="capped and redacted; the whole text is in the blob")
    failure_blob: Mapped[str | None] = mapped_column(
        Text(collation="C"), ForeignKey("blobs.digest", ondelete="RESTRICT")
    )


class SnippetExplanation(Base):
    """Why a revision was made: root cause in words, the entry or model behind it. Append-only."""

    __tablename__ = "snippet_explanations"
    __table_args__ = (
        UniqueConstraint("task_id", "revision"),
        ForeignKeyConstraint(["task_id", "revision"], ["revisions.task_id", "revisions.revision"]),
    )

    id: Mapped[Id]
    task_id: Mapped[int] = mapped_column(BigInteger)
    revision: Mapped[int] = mapped_column(Integer)
    round: Mapped[int] = mapped_column(Integer)
    explanation: Mapped[str]
    entry_ids: Mapped[list[str]] = mapped_column(ARRAY(Text))
    direction: Mapped[str] = mapped_column(
        doc="fix type + target, for example 'datacopy-pad @ kernel/add.cpp'"
    )
    model: Mapped[str] = mapped_column(doc="model name, or 'kb' for a zero-token rewrite")
