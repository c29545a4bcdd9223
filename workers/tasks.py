"""Which kinds of job an LLM worker runs, and by what."""

from schema.execute import Handler, Work
from schema.jobs import JobKind
from schema.results import Record
from workers.rewrite_repair import rewrite


def _turn(work: Work) -> Record:
    # LiteLLM takes seconds to import: only a worker that is asked for a turn pays.
    from workers.session import turn

    return turn(work)


HANDLERS: dict[JobKind, Handler] = {JobKind.REWRITE: rewrite, JobKind.TURN: _turn}
