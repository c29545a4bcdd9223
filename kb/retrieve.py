"""Deterministic retrieval: which entries a failure calls for, with the score written down."""

import re
from collections.abc import Iterable, Mapping

from kb.context import RewriteContext
from kb.entry import Entry, load_entries
from kb.rewrite import cautious_trials, rewrite_named
from schema.results import Record

FINDING, MAIN_HINT, FURTHER_HINT, CATEGORY, ANY_CATEGORY, SOURCE_FACT, REWRITE = (
    9.0,
    4.0,
    2.0,
    3.0,
    1.0,
    1.0,
    0.5,
)
NARROW_TYPES = 3.0
PLACES = 5.0  # the form the entry describes stands in the source: as good as a hint
CONFIDENCE = {"certified": 0.5, "reported": 0.25, "inferred": 0.0}


class Match(Record):
    """An entry that fits a failure; `reasons` are the parts of the score, in words."""

    entry: Entry
    score: float
    reasons: tuple[str, ...]


def retrieve(
    context: RewriteContext,
    *,
    files: Mapping[str, str] | None = None,
    entries: Iterable[Entry] | None = None,
    most: int | None = 12,
) -> tuple[Match, ...]:
    """Entries for a failure, the best first; equal scores go by id.

    The failure type is a gate. An entry whose calls do not occur in the kernel's source is left out. The rest adds up:
    a finding that names the entry, the main forensic hint, further hints, the operator's category, a calling source,
    places in the source that the entry's rewrite applies to, only half-precision dtypes failing where the entry speaks
    of precision, confidence, an executable rewrite. An entry whose rewrite applies is never left out.

    Args:
        context: the failure.
        files: the workspace, path -> text; None leaves the source out of account.
        entries: None means those that are shipped.
        most: how many at most; None for all.

    Returns:
        Matches with a score above 0.
    """
    source = (
        "\n".join(text for path, text in sorted(files.items()) if path.startswith("kernel/"))
        if files is not None
        else None
    )
    rules = {finding.rule for finding in context.findings}
    found = []
    for entry in load_entries() if entries is None else entries:
        if context.failure_type not in entry.failure_types:
            continue
        reasons: list[tuple[float, str]] = []
        if source is not None and entry.calls:
            called = [call for call in entry.calls if re.search(rf"\b{re.escape(call)}\b", source)]
            if not called:
                continue
            reasons.append((SOURCE_FACT, f"the kernel uses {called[0]}"))
        for rule in entry.findings:
            if rule in rules:
                reasons.append((FINDING, f"finding {rule}"))
        if context.hints and context.hints[0] in entry.hints:
            reasons.append((MAIN_HINT, f"main hint {context.hints[0]}"))
        for hint in context.hints[1:]:
            if hint in entry.hints:
                reasons.append((FURTHER_HINT, f"hint {hint}"))
        if not entry.categories:
            reasons.append((ANY_CATEGORY, "known in all categories"))
        elif context.category in entry.categories:
            reasons.append((CATEGORY, f"category {context.category}"))
        narrow = context.failing_dtypes and context.failing_dtypes <= {"float16", "bfloat16"}
        if narrow and "float32" in context.passing_dtypes and "magnitude_correlated" in entry.hints:
            reasons.append((NARROW_TYPES, "only half-precision dtypes fail"))
        if files is not None and entry.rewrite is not None:
            places = cautious_trials(files, rewrite_named(entry.rewrite), context)
            if places:
                reasons.append((PLACES, f"{entry.rewrite} applies at {len(places[0][0])} places"))
        if not reasons:
            continue
        reasons.append((CONFIDENCE[entry.confidence], f"confidence: {entry.confidence}"))
        if entry.rewrite:
            reasons.append((REWRITE, f"rewrite {entry.rewrite}"))
        found.append(
            Match(
                entry=entry,
                score=sum(points for points, _ in reasons),
                reasons=tuple(f"+{points:g} {why}" for points, why in reasons if points),
            )
        )
    found.sort(key=lambda match: (-match.score, match.entry.id))
    return tuple(found if most is None else found[:most])
