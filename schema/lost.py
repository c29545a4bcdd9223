"""How work is told that its result can't count any more: an event, and who looks at it.

A worker's heartbeat sets the event when a job's lease is gone (`schema.execute`). Whatever takes longer than a moment
looks at it, ends what it started, and raises JobLost.
"""

import threading

from schema.errors import JobLost


def go_on(lost: threading.Event | None) -> None:
    """Return if the event is not set, or there is none.

    Raises:
        JobLost: it is set.
    """
    if lost is not None and lost.is_set():
        raise JobLost("its lease is gone", mend="nothing: it was cancelled, or another worker has it")
