"""Check that a task's records hold together: what `opmend verify` does."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from schema.blobs import get_tree
from schema.canonical import canonical_json, digest
from schema.errors import OpmendError
from schema.events import verify_chain
from schema.snippets import read_files
from schema.tables import Evidence, Revision, Task


def verify_task(session: Session, task: Task) -> tuple[list[str], str]:
    """Recompute the chain, the evidence digests, and every revision from its snippets.

    Returns:
        The problems found, one line each, and what was checked, in words.
    """
    problems: list[str] = []
    count = 0
    try:
        count = verify_chain(session, task.id)
    except OpmendError as error:
        problems.append(str(error))
    evidence = session.execute(select(Evidence).where(Evidence.task_id == task.id)).scalars().all()
    problems += [
        f"evidence {row.id} differs from its digest"
        for row in evidence
        if digest(canonical_json(row.body)) != row.digest
    ]
    revisions = session.execute(
        select(Revision).where(Revision.task_id == task.id).order_by(Revision.revision)
    ).scalars()
    numbers = 0
    for row in revisions:
        numbers += 1
        try:
            if read_files(session, task.id, revision=row.revision) != get_tree(session, row.tree):
                problems.append(f"revision {row.revision} does not come back from its snippets")
        except OpmendError as error:
            problems.append(f"revision {row.revision}: {error}")
    return problems, (
        f"{count} events in an unbroken chain, {len(evidence)} pieces of evidence, "
        f"{numbers} revisions byte for byte"
    )
