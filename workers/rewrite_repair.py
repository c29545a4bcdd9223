"""Zero-token repair: apply the executable rewrites of entries to a tree and offer what comes out."""

from kb.context import RewriteContext
from kb.entry import load_entries
from kb.rewrite import propose
from schema.blobs import get_tree, put_tree, tree_digest
from schema.execute import Work
from schema.jobs import Proposal, Proposals, RewritePayload
from schema.texts import shown


def rewrite(work: Work) -> Proposals:
    """Handle a rewrite job: proposals in the order of the entries, no tree twice.

    Trees that the task has tried before are left out; the engine counts trials, not this worker.

    Raises:
        JobLost: the result can't count any more.
    """
    payload = RewritePayload.model_validate(work.payload)
    context = RewriteContext.model_validate(payload.failure)
    by_id = {entry.id: entry for entry in load_entries()}
    with work.database.transaction() as session:
        files = get_tree(session, payload.tree)
    seen = {payload.tree, *payload.known_trees}
    found: list[tuple[dict[str, str], Proposal]] = []
    # Entries take turns, each with its most plausible proposal first: one entry with many sites
    # must not use up the trials of a round.
    queues = []
    for entry in payload.entries:
        work.go_on()
        if entry in by_id:
            queues.append(list(propose(files, by_id[entry], context)))
    while len(found) < payload.most and any(queues):
        for queue in queues:
            if not queue or len(found) >= payload.most:
                continue
            proposal = queue.pop(0)
            changed = {**files, **proposal.files}
            digest = tree_digest(changed)
            if digest in seen:
                continue
            seen.add(digest)
            targets = sorted(proposal.files)
            found.append(
                (
                    changed,
                    Proposal(
                        tree=digest,
                        entry=proposal.entry,
                        rewrite=proposal.rewrite,
                        title=shown(proposal.title),
                        direction=f"{proposal.rewrite} @ {', '.join(targets)}",
                        explanation=shown(proposal.explanation),
                        locations=proposal.locations,
                    ),
                )
            )
    work.go_on()
    with work.database.transaction() as session:
        for changed, _ in found:
            put_tree(session, changed)
    return Proposals(proposals=tuple(proposal for _, proposal in found))
