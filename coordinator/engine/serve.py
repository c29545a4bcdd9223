"""The coordinator's process: driver, relay and sweeper, each in a thread, until told to stop."""

import logging
import threading
from collections.abc import Callable

from coordinator.engine.driver import Driver, Retriever, Scanner, retrieve_entries, scan_integrity
from coordinator.engine.relay import Relay
from coordinator.engine.sweeper import Sweeper
from schema.database import Database
from schema.errors import InfrastructureError

log = logging.getLogger(__name__)


def serve(
    database: Database,
    *,
    broker_url: str,
    stop: threading.Event,
    most_attempts: int = 3,
    poll_seconds: float = 0.05,
    sweep_seconds: float = 1.0,
    scan: Scanner = scan_integrity,
    retrieve: Retriever = retrieve_entries,
) -> None:
    """Decide, publish and sweep until `stop` is set. Several coordinators at once are harmless.

    Args:
        database: where everything is.
        broker_url: the Redis to publish to.
        stop: ends all three.
        most_attempts: lost leases after which a job fails for good.
        poll_seconds: how often the driver looks for what is due.
        sweep_seconds: how often the sweeper looks for what is stuck.
        scan: verdict on a tree.
        retrieve: entries for a failure.

    Raises:
        InfrastructureError: one of the three ended before it was told to; the process should be started again.
    """
    relay = Relay(database, broker_url)
    driver = Driver(database, scan=scan, retrieve=retrieve, on_jobs=relay.wake)
    sweeper = Sweeper(database, waiting=relay.waiting, most_attempts=most_attempts)
    failed: list[str] = []

    def guarded(name: str, run: Callable[[threading.Event], None]) -> None:
        try:
            run(stop)
        except Exception:
            log.exception("the %s broke", name)
            failed.append(name)
        stop.set()
        relay.wake()

    threads = [
        threading.Thread(target=guarded, args=("relay", relay.run), name="relay", daemon=True),
        threading.Thread(
            target=guarded,
            args=("sweeper", lambda stopped: sweeper.run(stopped, poll_seconds=sweep_seconds)),
            name="sweeper",
            daemon=True,
        ),
    ]
    for thread in threads:
        thread.start()
    guarded("driver", lambda stopped: driver.run(stopped, poll_seconds=poll_seconds))
    for thread in threads:
        thread.join()
    relay.close()
    if failed:
        raise InfrastructureError(
            f"the coordinator's {', '.join(failed)} broke",
            mend="its log has the cause; start the coordinator again",
        )
