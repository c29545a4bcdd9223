"""Who may do what in the database: three group roles, and what each is granted, table by table.

| role                 | who                                    | what                                               |
|----------------------|----------------------------------------|----------------------------------------------------|
| `opmend_coordinator` | driver, relay, sweeper, commands       | writes all, changes only what is no history        |
| `opmend_worker`      | compile, NPU and LLM workers           | claims, renews, finishes, gives back; adds blobs   |
| `opmend_viewer`      | dashboards, people                     | reads                                              |

They can't log in: a login role is made a member of one (`make_login`). They are the server's, not the database's; a
database that must not share them says `ALTER DATABASE … SET opmend.role_prefix = 'other'`. What is not in GRANTS and
FUNCTIONS is granted to nobody, and a test fails for a table that is not in GRANTS. The schema's owner may do all of it.
"""

import logging
import re
from dataclasses import dataclass

import psycopg
from psycopg import sql
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from schema.errors import BadInput
from schema.migrations.claiming import FUNCTIONS as SIGNATURES

log = logging.getLogger(__name__)

COORDINATOR, WORKER, VIEWER = "coordinator", "worker", "viewer"
ROLES = (COORDINATOR, WORKER, VIEWER)
PREFIX = "opmend"


@dataclass(frozen=True, kw_only=True)
class Grant:
    """What each role may do with a table, as GRANT takes it; "" is nothing."""

    coordinator: str = "SELECT, INSERT"
    worker: str = ""
    viewer: str = "SELECT"

    def of(self, role: str) -> str:
        """What one role may do."""
        return str(getattr(self, role))


_CALL = (
    "task_id, job_id, session, turn, message, model, input_tokens, output_tokens, cache_creation_tokens, "
    "cache_read_tokens, seconds"
)

GRANTS: dict[str, Grant] = {
    "alembic_version": Grant(coordinator="SELECT", worker="SELECT"),
    "benchmark_runs": Grant(),
    "benchmarks": Grant(),
    "blobs": Grant(worker="SELECT, INSERT (digest, media_type, size, data)"),
    "cohorts": Grant(),
    "devices": Grant(
        coordinator="SELECT, INSERT, UPDATE, DELETE",
        worker="SELECT, INSERT (host, slot, kind, health), UPDATE (holder, fence, lease_expires_at)",
    ),
    "events": Grant(),
    "evidence": Grant(),
    "files": Grant(),
    "jobs": Grant(coordinator="SELECT, INSERT, UPDATE"),
    "lineage": Grant(),
    "model_calls": Grant(worker=f"SELECT (id, session, message), INSERT ({_CALL})"),
    "outbox": Grant(coordinator="SELECT, INSERT, UPDATE, DELETE"),
    "revisions": Grant(),
    "runs": Grant(),
    "snippet_explanations": Grant(),
    "snippet_failures": Grant(),
    "snippets": Grant(coordinator="SELECT, INSERT, UPDATE"),
    "tasks": Grant(coordinator="SELECT, INSERT, UPDATE", worker="SELECT"),
    "verdicts": Grant(),
}

# Function → who may call it. opmend_append and opmend_release are for the others alone.
FUNCTIONS: dict[str, tuple[str, ...]] = {
    "opmend_claim": (WORKER,),
    "opmend_renew": (WORKER,),
    "opmend_finish": (WORKER,),
    "opmend_lose": (WORKER,),
    "opmend_expire": (COORDINATOR,),
    "opmend_may_bill": (WORKER,),
}

# Table → what a row has to be for a worker to add it. All others are as free as their grants.
CHECKS: dict[str, str] = {
    # Else a worker could put its own bytes under the digest of a file that is yet to come.
    "blobs": "digest = encode(sha256(data), 'hex') AND size = length(data)",
    "model_calls": "{schema}.opmend_may_bill(job_id, task_id)",
}


def home_schema(connection: Connection) -> str:
    """The quoted name of the schema that holds the tables: the first of the search path."""
    return str(connection.exec_driver_sql("SELECT quote_ident(current_schema())").scalar_one())


def names(connection: Connection) -> dict[str, str]:
    """What the roles of this database are called: role → name.

    Raises:
        BadInput: the prefix that was set is no simple name.
    """
    found = connection.exec_driver_sql("SELECT current_setting('opmend.role_prefix', true)").scalar_one()
    prefix = found or PREFIX
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,40}", prefix):
        raise BadInput(
            f"opmend.role_prefix is {prefix!r}",
            mend="ALTER DATABASE … SET opmend.role_prefix = 'lower_case_letters'",
        )
    return {role: f"{prefix}_{role}" for role in ROLES}


def missing(connection: Connection) -> list[str]:
    """Roles of this database that the server does not have, or that were granted nothing here."""
    known = names(connection)
    rows = connection.exec_driver_sql(
        "SELECT rolname FROM pg_roles WHERE rolname = ANY(%(names)s) "
        "AND has_table_privilege(oid, to_regclass('tasks'), 'SELECT')",
        {"names": list(known.values())},
    )
    there = set(rows.scalars())
    return [name for name in known.values() if name not in there]


def in_force(connection: Connection) -> str:
    """What the user of this connection is, for people: its name, and how it is bound."""
    user, superuser, owner = connection.exec_driver_sql(
        "SELECT current_user, rolsuper, pg_has_role(current_user, t.relowner, 'MEMBER') "
        "FROM pg_roles, pg_class t WHERE rolname = current_user AND t.oid = to_regclass('tasks')"
    ).one()
    if superuser or owner:
        return f"{user} (owner)"
    held = connection.exec_driver_sql(
        "SELECT rolname FROM pg_roles WHERE rolname = ANY(%(names)s) "
        "AND pg_has_role(current_user, oid, 'MEMBER') ORDER BY rolname",
        {"names": list(names(connection).values())},
    ).scalars()
    return f"{user} ({', '.join(held) or 'no role of opmend'})"


def install(connection: Connection) -> bool:
    """Make the roles that are not there, and grant each what it may do and no more. Safe to call again.

    A user who may not create roles goes on as before, with a word in the log: the store works for its owner.

    Returns whether the roles are in force.
    """
    wanted = names(connection)
    present = set(connection.exec_driver_sql("SELECT rolname FROM pg_roles").scalars())
    absent = [name for name in wanted.values() if name not in present]
    try:
        with connection.begin_nested():
            for name in absent:
                # Another database of this server may make it at the same moment.
                connection.exec_driver_sql(
                    f"DO $$ BEGIN CREATE ROLE {name} NOLOGIN; "
                    "EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$"
                )
            for statement in _statements(connection, wanted):
                connection.exec_driver_sql(statement)
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) != "42501":  # insufficient_privilege
            raise
        log.warning(
            "no least privilege here: this database user may not create roles or grant. Everything works as "
            "the owner; for roles, let an administrator run: %s; then `opmend coordinator` grants the rest",
            "; ".join(f"CREATE ROLE {name} NOLOGIN" for name in absent) or "the migrations",
        )
        return False
    return True


def make_login(connection: Connection, role: str, password: str) -> str:
    """Make the login of a role, or give it another password; returns its name.

    The password itself is not sent: a server that logs statements logs a SCRAM verifier.
    """
    group = names(connection)[role]
    login = f"{group}_login"
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    verifier = driver.pgconn.encrypt_password(password.encode(), login.encode(), b"scram-sha-256")
    there = connection.exec_driver_sql(
        "SELECT FROM pg_roles WHERE rolname = %(name)s", {"name": login}
    ).one_or_none()
    way = sql.SQL(
        "ALTER ROLE {} LOGIN PASSWORD {}" if there is not None else "CREATE ROLE {} LOGIN PASSWORD {}"
    )
    with driver.cursor() as cursor:
        cursor.execute(way.format(sql.Identifier(login), sql.Literal(verifier.decode())))
        cursor.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(group), sql.Identifier(login)))
    return login


def remove(connection: Connection) -> None:
    """Take from the roles what they were granted here. The roles stay: other databases may use them."""
    schema, wanted = home_schema(connection), names(connection)
    present = set(connection.exec_driver_sql("SELECT rolname FROM pg_roles").scalars())
    for table in CHECKS:
        for policy in ("opmend_all", "opmend_worker_adds"):
            connection.exec_driver_sql(f"DROP POLICY IF EXISTS {policy} ON {schema}.{table}")
        connection.exec_driver_sql(f"ALTER TABLE {schema}.{table} DISABLE ROW LEVEL SECURITY")
    for name in wanted.values():
        if name in present:
            for table in _tables(connection):
                connection.exec_driver_sql(f"REVOKE ALL ON {schema}.{table} FROM {name}")
            connection.exec_driver_sql(f"REVOKE ALL ON SCHEMA {schema} FROM {name}")


def _tables(connection: Connection) -> list[str]:
    """The tables of GRANTS that this version of the schema has."""
    there = connection.exec_driver_sql(
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = to_regnamespace(current_schema()::text)"
    )
    return sorted(set(there.scalars()) & set(GRANTS))


def _statements(connection: Connection, wanted: dict[str, str]) -> list[str]:
    schema = home_schema(connection)
    statements = [f"GRANT USAGE ON SCHEMA {schema} TO {', '.join(wanted.values())}"]
    for table in _tables(connection):
        statements.append(f"REVOKE ALL ON {schema}.{table} FROM {', '.join(wanted.values())}")
        for role, name in wanted.items():
            if GRANTS[table].of(role):
                statements.append(f"GRANT {GRANTS[table].of(role)} ON {schema}.{table} TO {name}")
    for function, arguments in SIGNATURES.items():
        called = f"FUNCTION {schema}.{function}({arguments})"
        statements.append(f"REVOKE ALL ON {called} FROM PUBLIC, {', '.join(wanted.values())}")
        for role in FUNCTIONS.get(function, ()):
            statements.append(f"GRANT EXECUTE ON {called} TO {wanted[role]}")
    for table, check in CHECKS.items():
        on = f"ON {schema}.{table}"
        statements += [
            f"DROP POLICY IF EXISTS opmend_all {on}",
            f"DROP POLICY IF EXISTS opmend_worker_adds {on}",
            # Rows are hidden from nobody; only what a worker adds is looked at.
            f"CREATE POLICY opmend_all {on} USING (true) WITH CHECK (true)",
            f"CREATE POLICY opmend_worker_adds {on} AS RESTRICTIVE FOR INSERT TO {wanted[WORKER]} "
            f"WITH CHECK ({check.format(schema=schema)})",
            f"ALTER TABLE {schema}.{table} ENABLE ROW LEVEL SECURITY",
        ]
    return statements
