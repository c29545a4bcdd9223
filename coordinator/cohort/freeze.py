"""Freeze a cohort: hashes of every file, compact and full sets, coverage. Pure: no I/O.

The manifest is what the paper calls the frozen cohort (S2.1, S7.1): a run points at its digest, so a
later change of a file can't leak into a comparison.
"""

from typing import Any

from coordinator.cohort.load import LoadedCohort
from schema.blobs import tree_digest
from schema.canonical import canonical_json, digest
from schema.compact import compact_set
from schema.results import Record
from schema.texts import bytes_of
from schema.workspace import Workspace


class FrozenOperator(Record):
    """One operator as it goes into a run.

    Attributes:
        files: the whole workspace, path → text; `tree` is its digest.
        compact, full: positions in the case file. cut: positions that the size limit leaves out.
    """

    name: str
    level: str
    category: str
    files: dict[str, str]
    tree: str
    compact: tuple[int, ...]
    full: tuple[int, ...]
    cut: tuple[int, ...]
    max_elements: int | None
    seed: int
    case_names: tuple[str, ...]


class FrozenCohort(Record):
    """A cohort with its manifest and the manifest's digest."""

    name: str
    manifest: dict[str, Any]
    digest: str
    operators: tuple[FrozenOperator, ...]


def freeze(cohort: LoadedCohort, *, limit: int | None = None) -> FrozenCohort:
    """Freeze the first `limit` operators (all by default)."""
    operators = tuple(
        freeze_operator(workspace, max_elements=cohort.settings.max_elements)
        for workspace in cohort.operators[:limit]
    )
    manifest = {
        "name": cohort.settings.name,
        "source": cohort.settings.source,
        "max_elements": cohort.settings.max_elements,
        "operators": [_entry(operator) for operator in operators],
    }
    return FrozenCohort(
        name=cohort.settings.name,
        manifest=manifest,
        digest=digest(canonical_json(manifest)),
        operators=operators,
    )


def freeze_operator(workspace: Workspace, *, max_elements: int | None) -> FrozenOperator:
    """Choose the sets of one operator and hash its files."""
    full = tuple(range(len(workspace.cases)))
    cut = tuple(
        index for index in full if max_elements is not None and workspace.cases[index].elements > max_elements
    )
    files = dict(workspace.files)
    return FrozenOperator(
        name=workspace.name,
        level=workspace.level,
        category=workspace.category,
        files=files,
        tree=tree_digest(files),
        compact=compact_set(workspace.cases, max_elements=max_elements),
        full=full,
        cut=cut,
        max_elements=max_elements,
        seed=workspace.seed,
        case_names=tuple(case.name for case in workspace.cases),
    )


def _entry(operator: FrozenOperator) -> dict[str, Any]:
    return {
        "name": operator.name,
        "level": operator.level,
        "category": operator.category,
        "tree": operator.tree,
        "files": {path: digest(bytes_of(text)) for path, text in sorted(operator.files.items())},
        "compact": list(operator.compact),
        "compact_digest": digest(canonical_json([operator.case_names[index] for index in operator.compact])),
        "full": len(operator.full),
        "full_digest": digest(canonical_json(list(operator.case_names))),
        "cut": list(operator.cut),
        "coverage": (len(operator.full) - len(operator.cut)) / len(operator.full),
        "compact_is_full": len(operator.compact) == len(operator.full),
        "seed": operator.seed,
    }
