"""The benchmarks of a task: checks that can fail, each with a name of its own."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlalchemy import text
from sqlalchemy.orm import Session

from schema.events import storable
from schema.tables.base import Json
from schema.texts import shown


@dataclass(frozen=True, kw_only=True)
class NamedCheck:
    """A benchmark that may not be on record yet.

    Attributes:
        name: unique in the task, for people ("float16[128,128] dim=1", "BUILD").
        kind: case, command or build.
        spec: what is needed to run it again.
    """

    name: str
    kind: str
    spec: Json = field(default_factory=dict)


# One statement for all: a validation has hundreds. What is known is not inserted in vain, which would use up an id.
_FIND_OR_MAKE = text("""
WITH asked AS (
    SELECT * FROM json_to_recordset(CAST(:checks AS json)) AS u (number integer, name text, kind text, spec jsonb)
), known AS (
    SELECT b.id, b.name FROM asked CROSS JOIN LATERAL (
        SELECT id, name FROM benchmarks WHERE task_id = :task_id AND name = asked.name OFFSET 0
    ) AS b
), made AS (
    INSERT INTO benchmarks (task_id, name, kind, spec)
    SELECT :task_id, name, kind, spec FROM asked WHERE name NOT IN (SELECT name FROM known) ORDER BY number
    ON CONFLICT (task_id, name) DO NOTHING
    RETURNING id, name
)
SELECT name, id FROM known UNION ALL SELECT name, id FROM made
""")


def benchmark_ids(session: Session, task_id: int, checks: Iterable[NamedCheck]) -> dict[str, int]:
    """Find or make the benchmarks of these names; the first spec of each stays.

    Args:
        session: an open transaction.
        task_id: the task they check.
        checks: the benchmarks; of two with one name, the first.

    Returns:
        Name, as it was given → id.
    """
    stored: dict[str, NamedCheck] = {}
    names: dict[str, str] = {}
    for check in checks:
        names[check.name] = shown(check.name)
        stored.setdefault(names[check.name], check)
    rows = [
        {"number": number, "name": name, "kind": check.kind, "spec": storable(check.spec)}
        for number, (name, check) in enumerate(stored.items())
    ]
    found: dict[str, int] = {}
    while rows:
        # Who writes the name at the same moment, and commits first, has it; the next look sees it.
        answer = session.execute(_FIND_OR_MAKE, {"task_id": task_id, "checks": json.dumps(rows)})
        found.update((name, identifier) for name, identifier in answer)
        rows = [row for row in rows if row["name"] not in found]
    return {given: found[name] for given, name in names.items()}


def benchmark_id(session: Session, *, task_id: int, name: str, kind: str, spec: Json) -> int:
    """Find or make the benchmark of this name; its first spec stays. Arguments as in `NamedCheck`."""
    return benchmark_ids(session, task_id, [NamedCheck(name=name, kind=kind, spec=spec)])[name]
