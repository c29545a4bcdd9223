"""Every table, in three rooms: provenance (why a line is here), execution (what ran) and the base.

Read a table's docstring for what a row means and who writes it. The migrations under
schema/migrations carry the triggers that make history append-only; a test holds models and
migrations together.
"""

from schema.tables.base import Base
from schema.tables.execution import (
    Blob,
    Cohort,
    Device,
    Event,
    Evidence,
    Job,
    ModelCall,
    Outbox,
    Run,
    Task,
    Verdict,
)
from schema.tables.provenance import (
    Benchmark,
    BenchmarkRun,
    File,
    LineageEdge,
    Revision,
    Snippet,
    SnippetExplanation,
    SnippetFailure,
)

__all__ = [
    "Base",
    "Benchmark",
    "BenchmarkRun",
    "Blob",
    "Cohort",
    "Device",
    "Event",
    "Evidence",
    "File",
    "Job",
    "LineageEdge",
    "ModelCall",
    "Outbox",
    "Revision",
    "Run",
    "Snippet",
    "SnippetExplanation",
    "SnippetFailure",
    "Task",
    "Verdict",
]
