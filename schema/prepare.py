"""Prepares a database server for processes that are not its owner: the schema, the roles, and a login for each.

`python -m schema.prepare` needs the owner's DATABASE_URL. It brings the schema to its newest version, and gives a login
to each role for which OPMEND_COORDINATOR_PASSWORD, OPMEND_WORKER_PASSWORD or OPMEND_VIEWER_PASSWORD is set:
`opmend_coordinator_login` and so on. Run it again after an update, or with another password: it changes what differs.
"""

import logging
import os
import sys
from collections.abc import Mapping

from schema.database import Database
from schema.errors import BadInput, OpmendError
from schema.roles import COORDINATOR, VIEWER, WORKER
from schema.settings import Settings


def prepare(database: Database, passwords: Mapping[str, str]) -> list[str]:
    """Migrate a database, put its roles in force, and make logins.

    Args:
        database: as its owner reaches it, who may create roles.
        passwords: role → password of its login. The server is sent SCRAM verifiers alone.

    Returns:
        The names of the logins.

    Raises:
        BadInput: the owner may not create roles.
        DatabaseUnavailable: Postgres refused.
    """
    database.migrate()
    if not database.grant_roles():
        raise BadInput(
            "this database user may not create roles",
            where=str(database),
            mend="let DATABASE_URL name a user with CREATEROLE, or let an administrator make the logins",
        )
    return [database.make_login(role, password) for role, password in passwords.items()]


def main() -> int:
    """Entry of the process; the exit code, as of every command."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    given = {
        COORDINATOR: os.environ.get("OPMEND_COORDINATOR_PASSWORD"),
        WORKER: os.environ.get("OPMEND_WORKER_PASSWORD"),
        VIEWER: os.environ.get("OPMEND_VIEWER_PASSWORD"),
    }
    passwords = {role: password for role, password in given.items() if password}
    try:
        database = Database(Settings.load().require_database_url(), pool_size=1)
        try:
            made = prepare(database, passwords)
        finally:
            database.close()
    except OpmendError as error:
        sys.stderr.write(f"opmend: {error}\n")
        return error.exit_code
    sys.stdout.write(f"the schema is the newest; logins: {', '.join(made) or 'none'}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
