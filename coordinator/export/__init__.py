"""Exports: what the store knows of a task, in formats that others read. See docs/exports.md.

A format is one module with one `export` function, and one row of `FORMATS`; nothing of it is imported
before it is used. Every export is made from one `coordinator.export.source.Source`, is anchored at a
revision, and comes out the same, byte for byte, each time it is made from the same records.
"""

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from coordinator.export.source import Source


@dataclass(frozen=True, kw_only=True)
class Format:
    """One format of `opmend export`.

    Attributes:
        module: where its `export` function is. A text format's takes (session, source) and yields the
            text in pieces; a directory format's takes (session, source, path) and returns one line for people.
        directory: it fills a directory, and needs one to be named.
        summary: what it holds, for people.
    """

    module: str
    summary: str
    directory: bool = False

    def text(self, session: "Session", source: "Source") -> Iterator[str]:
        """The pieces of a text format, one after the other."""
        pieces: Iterator[str] = self._export()(session, source)
        return pieces

    def fill(self, session: "Session", source: "Source", path: Path) -> str:
        """Fill the empty directory `path`; returns one line for people."""
        told: str = self._export()(session, source, path)
        return told

    def _export(self) -> Any:
        return importlib.import_module(f"coordinator.export.{self.module}").export


FORMATS: dict[str, Format] = {
    "git": Format(module="git", directory=True, summary="a repository: a commit a revision, a note a commit"),
    "agent-trace": Format(module="agent_trace", summary="Agent Trace 0.1.0, a record a revision"),
    "in-toto": Format(module="in_toto", summary="in-toto Statements v1, a test result a validation"),
    "sarif": Format(module="sarif", summary="SARIF 2.1.0: failed benchmarks and findings at their lines"),
    "prov": Format(module="prov", summary="PROV-JSON: snippets, revisions, validations, and who made them"),
}
