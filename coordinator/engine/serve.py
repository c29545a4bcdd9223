"""The coordinator's process: driver, relay and sweeper, each in a thread, until told to stop."""

import logging
import threading
from collections.abc import Callable

from coordinator.engine.driver import Driver
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
) -> None:
    """Decide, publish and sweep until `stop` is set. Several coordinators at once are harmless.

    Raises:
        InfrastructureError: one of the three ended before it was told to; the process should be started again.
    """
    relay = Relay(database, broker_url)
    driver = Driver(database, on_jobs=relay.wake)
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
        threading.Thread(target=guarded, args=("sweeper", sweeper.run), name="sweeper", daemon=True),
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
