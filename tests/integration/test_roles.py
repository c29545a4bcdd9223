"""Least privilege on a real Postgres: what a worker and a viewer try, and what comes of it."""

import re
import secrets
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Table, create_engine, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, ProgrammingError

from npu_worker import devices
from schema import events, leases, roles
from schema.blobs import get_blob, get_tree, put_blob, put_tree
from schema.canonical import digest
from schema.database import Database
from schema.errors import DatabaseUnavailable
from schema.execute import Work, execute
from schema.jobs import CompilePayload, JobKind
from schema.migrations import claiming
from schema.results import Compilation, FailureType
from schema.tables import Base, Blob, Device, Event, Job, ModelCall, Task
from tests.support.played import play
from tests.support.tasks import bare_task

TABLES = sorted(Base.metadata.tables)
DENIED = "permission denied"


@pytest.fixture(scope="module")
def login(postgres: str, template: str) -> Iterator[Callable[[str], tuple[str, str]]]:
    """Makes logins: role → name and password. `template` has made the groups."""
    made: dict[str, tuple[str, str]] = {}
    engine = create_engine(
        make_url(postgres).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT"
    )

    def make(role: str) -> tuple[str, str]:
        if role not in made:
            made[role] = (f"t_{role}_{uuid.uuid4().hex[:8]}", secrets.token_hex(8))
            name, password = made[role]
            with engine.connect() as connection:
                connection.execute(
                    text(f"CREATE ROLE {name} LOGIN PASSWORD '{password}' IN ROLE opmend_{role}")
                )
        return made[role]

    yield make
    with engine.connect() as connection:
        for name, _ in made.values():
            connection.execute(text(f"DROP ROLE {name}"))
    engine.dispose()


@pytest.fixture
def as_role(
    database: Database, login: Callable[[str], tuple[str, str]]
) -> Iterator[Callable[[str], Database]]:
    """The store of a test, as a login of a role reaches it."""
    opened: list[Database] = []

    def connect(role: str) -> Database:
        name, password = login(role)
        url = make_url(database.url).set(username=name, password=password)
        opened.append(Database(url.render_as_string(hide_password=False)))
        return opened[-1]

    yield connect
    for one in opened:
        one.close()


@pytest.fixture
def worker(as_role: Callable[[str], Database]) -> Database:
    return as_role("worker")


@pytest.fixture
def viewer(as_role: Callable[[str], Database]) -> Database:
    return as_role("viewer")


@pytest.fixture
def task(database: Database) -> int:
    """A task with three queued jobs: a, b (compile) and t (turn)."""
    with database.transaction() as session:
        row = bare_task(session)
        for job, kind, queue in (
            ("a", "compile", "compile"),
            ("b", "compile", "compile"),
            ("t", "turn", "llm"),
        ):
            leases.enqueue(session, job_id=job, task_id=row, kind=kind, queue=queue, payload={"tree": "x"})
    return row


def claim(database: Database, job: str, who: str = "w") -> leases.Claim:
    with database.transaction() as session:
        held = leases.claim(session, job, worker=who, lease_seconds=30)
    assert held is not None
    return held


def refused(database: Database, statement: Any, words: str = DENIED, **values: Any) -> None:
    with pytest.raises(DBAPIError, match=words), database.transaction() as session:
        session.execute(text(statement) if isinstance(statement, str) else statement, values)


def attempts(table: Table) -> dict[str, str]:
    """A statement for each way to write a table; rights are asked before any value is looked at."""
    column = next(one.name for one in table.columns if one.identity is None)
    return {
        "INSERT": f"INSERT INTO {table.name} DEFAULT VALUES",
        "UPDATE": f"UPDATE {table.name} SET {column} = {column}",
        "DELETE": f"DELETE FROM {table.name}",
        "TRUNCATE": f"TRUNCATE {table.name}",
        "DROP": f"DROP TABLE {table.name}",
        "ALTER": f"ALTER TABLE {table.name} DISABLE TRIGGER ALL",
    }


def test_every_table_has_its_grants() -> None:
    assert set(roles.GRANTS) == {*TABLES, "alembic_version"}
    assert set(roles.FUNCTIONS) <= set(claiming.FUNCTIONS)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_granted_as_declared_and_no_further(database: Database, name: str) -> None:
    with database.engine.connect() as connection:
        for role, called in roles.names(connection).items():
            whole = set(
                connection.execute(
                    text(
                        "SELECT privilege_type FROM information_schema.role_table_grants "
                        "WHERE grantee = :who AND table_name = :table"
                    ),
                    {"who": called, "table": name},
                ).scalars()
            )
            declared = roles.GRANTS[name].of(role)
            assert whole == {one for one in ("SELECT", "INSERT", "UPDATE", "DELETE") if one in bare(declared)}


def bare(grant: str) -> list[str]:
    """The privileges of a grant that hold for a whole table."""
    return [one.strip() for one in re.sub(r"\w+ \([^)]*\)", "", grant).split(",")]


@pytest.mark.parametrize("name", TABLES)
def test_a_viewer_reads_and_writes_nothing(viewer: Database, name: str) -> None:
    with viewer.transaction() as session:
        session.execute(select(Base.metadata.tables[name])).all()
    for statement in attempts(Base.metadata.tables[name]).values():
        refused(viewer, statement, f"{DENIED}|must be owner")


@pytest.mark.parametrize("name", TABLES)
def test_a_worker_writes_no_table_but_its_own(worker: Database, name: str) -> None:
    grant = roles.GRANTS[name].worker
    for kind, statement in attempts(Base.metadata.tables[name]).items():
        if f"{kind} (" in grant and kind == "INSERT":
            continue  # what it may add is tried below
        refused(worker, statement, f"{DENIED}|must be owner")
    if "SELECT" not in grant:
        refused(worker, select(Base.metadata.tables[name]))
        refused(worker, f"SELECT FROM {name} FOR UPDATE")


def test_only_these_tables_take_anything_from_a_worker() -> None:
    """What is added here has to get a test of its own, of what a worker may not put in it."""
    writes = {name for name, grant in roles.GRANTS.items() if grant.worker.replace("SELECT", "").strip(" ,")}
    assert writes == {"blobs", "devices", "model_calls"}


@pytest.mark.parametrize("function", sorted(claiming.FUNCTIONS))
def test_functions_are_open_to_whom_they_are_declared(database: Database, function: str) -> None:
    called = f"public.{function}({claiming.FUNCTIONS[function]})"
    with database.engine.connect() as connection:
        for role, name in roles.names(connection).items():
            may = connection.execute(
                text("SELECT has_function_privilege(:name, :called, 'EXECUTE')"),
                {"name": name, "called": called},
            ).scalar_one()
            assert may == (role in roles.FUNCTIONS.get(function, ())), (role, function)
        secure, settings = connection.execute(
            text("SELECT prosecdef, proconfig FROM pg_proc WHERE oid = to_regprocedure(:called)"),
            {"called": called},
        ).one()
    assert secure
    assert settings == ["search_path=pg_catalog, pg_temp"]


def test_a_worker_makes_no_event_and_no_function_helps(worker: Database, task: int) -> None:
    refused(worker, "SELECT opmend_append(:task, 'task_finished', '{}', '{}')", task=task)
    refused(worker, "SELECT opmend_release('a', :task, 9, 'r', 0)", task=task)
    refused(worker, "SELECT opmend_expire('a', 0, 'r', 0)")
    refused(worker, "SET ROLE opmend_coordinator")
    refused(worker, "SET SESSION AUTHORIZATION opmend_coordinator")
    refused(worker, "SET session_replication_role = replica")
    with worker.transaction() as session, pytest.raises(ProgrammingError, match=DENIED):
        events.append(session, task, events.TaskFinished(outcome="passed", reason="r"))


@pytest.mark.parametrize("verb", ["complete", "renew", "lose"])
def test_a_fence_alone_holds_nothing(database: Database, worker: Database, task: int, verb: str) -> None:
    held = claim(worker, "a", "honest")
    forged = (None, uuid.uuid4(), claim(worker, "b").token)
    for token in forged:
        fake = leases.Claim(
            job_id=held.job_id,
            task_id=held.task_id,
            kind=held.kind,
            payload=held.payload,
            fence=held.fence,
            attempt=held.attempt,
            token=token,
        )
        with worker.transaction() as session:
            if verb == "complete":
                assert not leases.complete(session, fake, {"forged": True})
            elif verb == "renew":
                assert not leases.renew(session, fake, lease_seconds=1e6)
            else:
                assert not leases.lose(session, fake, reason="forged", most_attempts=0)
    with database.transaction() as session:
        job = session.get_one(Job, "a")
        assert (job.status, job.worker, job.fence) == ("running", "honest", held.fence)
        assert job.claim_hash is not None
        assert held.token is not None
        assert job.claim_hash != held.token.bytes, "the token itself lies nowhere"
        assert events.read(session, task) == []
    with worker.transaction() as session:
        assert leases.complete(session, held, {"honest": True})
    with worker.transaction() as session:
        assert not leases.complete(session, held, {"honest": False}), "a token is good for one claim"
        assert not leases.lose(session, held, reason="r", most_attempts=0)


def test_an_impostor_holds_nobody_up(database: Database, worker: Database, task: int) -> None:
    held = claim(worker, "a")
    fake = leases.Claim(
        job_id="a", task_id=task, kind="compile", payload={}, fence=held.fence, attempt=1, token=uuid.uuid4()
    )
    with worker.transaction() as impostor:
        assert not leases.complete(impostor, fake, {})
        assert not leases.lose(impostor, fake, reason="r", most_attempts=0)
        with database.transaction() as session:
            session.execute(text("SET LOCAL lock_timeout = '500ms'"))
            session.execute(select(Task).where(Task.id == task).with_for_update()).one()
            session.execute(select(Job).where(Job.id == "a").with_for_update()).one()


@pytest.mark.parametrize("result", ["[]", "1", "{", '{"a": 1} {"b": 2}', '{}}, "x": {', "null", ""])
def test_what_is_no_object_is_no_result(database: Database, worker: Database, task: int, result: str) -> None:
    held = claim(worker, "a")
    refused(
        worker,
        "SELECT opmend_finish('a', :fence, :token, :result)",
        "invalid input syntax|is no object",
        fence=held.fence,
        token=held.token,
        result=result,
    )
    with database.transaction() as session:
        assert events.read(session, task) == []
        assert session.get_one(Job, "a").status == "running"


def test_a_lease_has_an_end(database: Database, worker: Database, task: int) -> None:
    for lease in ("'infinity'", "NULL", "1e300", "'NaN'"):
        with worker.transaction() as session:
            session.execute(text(f"SELECT * FROM opmend_claim('a', 'w', {lease})"))
        with database.transaction() as session:
            until = "SELECT lease_expires_at <= now() + interval '1 day' FROM jobs WHERE id = 'a'"
            assert session.execute(text(until)).scalar_one() is True
            session.execute(text("UPDATE jobs SET status = 'queued' WHERE id = 'a'"))


def test_a_callers_search_path_changes_nothing(database: Database, worker: Database, task: int) -> None:
    """Tables, functions and operators of a caller's own, in front of the real ones."""
    held = claim(worker, "a")
    with worker.transaction() as session:
        for statement in (
            "CREATE TEMP TABLE jobs (id text, task_id bigint, fence bigint, status text, claim_hash bytea)",
            "CREATE TEMP TABLE tasks (id bigint, status text, last_sequence int, last_hash text)",
            "CREATE TEMP TABLE events (task_id bigint)",
            f"INSERT INTO pg_temp.jobs VALUES ('a', {task}, {held.fence}, 'running', sha256('x'))",
            "CREATE FUNCTION pg_temp.sha256(bytea) RETURNS bytea LANGUAGE sql AS $$ SELECT '\\x78'::bytea $$",
            "CREATE FUNCTION pg_temp.uuid_send(uuid) RETURNS bytea LANGUAGE sql AS $$ SELECT 'x'::bytea $$",
            "CREATE FUNCTION pg_temp.eq(bytea, bytea) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$",
            "CREATE OPERATOR pg_temp.= (LEFTARG = bytea, RIGHTARG = bytea, FUNCTION = pg_temp.eq)",
            "SET LOCAL search_path = pg_temp, public, pg_catalog",
        ):
            session.execute(text(statement))
        forged = "SELECT public.opmend_finish('a', :fence, gen_random_uuid(), '{}')"
        assert session.execute(text(forged), {"fence": held.fence}).scalar_one() == "late"
        true = "SELECT public.opmend_finish('a', :fence, :token, '{}')"
        assert session.execute(text(true), {"fence": held.fence, "token": held.token}).scalar_one() == "kept"
    with database.transaction() as session:
        assert session.get_one(Job, "a").status == "done"
        assert events.verify_chain(session, task) == 1


def test_a_worker_can_not_name_bytes_by_another_digest(database: Database, worker: Database) -> None:
    row = {"digest": digest(b"to come"), "media_type": "m", "size": 3, "data": b"bad"}
    for wrong in (row, {**row, "digest": digest(b"bad"), "size": 4}):
        refused(worker, insert(Blob.__table__).values(wrong), "row-level security")  # type: ignore[arg-type]
        quiet = insert(Blob.__table__).values(wrong).on_conflict_do_nothing()  # type: ignore[arg-type]
        refused(worker, quiet, "row-level security")
    with worker.transaction() as session:
        assert get_blob(session, put_blob(session, b"good")) == b"good"
        assert put_blob(session, b"good") == digest(b"good")
    with database.transaction() as session:
        assert put_blob(session, b"of the owner") == digest(b"of the owner")


def test_a_worker_bills_a_turn_of_its_task_alone(database: Database, worker: Database, task: int) -> None:
    with database.transaction() as session:
        other = bare_task(session, "Other")
    counts = (
        "input_tokens",
        "output_tokens",
        "cache_creation_tokens",
        "cache_read_tokens",
        "seconds",
        "turn",
    )
    row: dict[str, Any] = {"session": "s", "message": "m", "model": "kb", **dict.fromkeys(counts, 0)}
    wrong = "row-level security"
    refused(worker, insert(ModelCall).values(**row, task_id=task, job_id="t"), wrong)  # nobody claimed it
    claim(worker, "t")
    claim(worker, "a")
    refused(worker, insert(ModelCall).values(**row, task_id=other, job_id="t"), wrong)
    refused(worker, insert(ModelCall).values(**row, task_id=task, job_id="a"), wrong)
    refused(worker, insert(ModelCall).values(**row, task_id=task, job_id="none"), wrong)
    call = insert(ModelCall).values(**row, task_id=task, job_id="t")
    for _ in range(2):
        with worker.transaction() as session:
            session.execute(call.on_conflict_do_nothing(index_elements=["session", "message"]))
    with database.transaction() as session:
        assert len(session.execute(select(ModelCall)).all()) == 1


def test_a_worker_leaves_what_a_device_is_alone(database: Database, worker: Database) -> None:
    devices.register(worker, slots=1)
    for change in ("kind = 'Ascend910B2'", "quarantined_at = NULL", "health = 'healthy'", "slot = 9"):
        refused(worker, f"UPDATE devices SET {change}")
    with devices.hold(worker, job_id="a", seconds=5), database.transaction() as session:
        assert session.execute(select(Device.holder)).scalar_one() == "a"


def test_a_job_from_claim_to_event_as_a_worker(database: Database, worker: Database, task: int) -> None:
    files = {"kernel/a.cpp": "int x;\n"}
    with database.transaction() as session:
        tree = put_tree(session, files)
        leases.enqueue(
            session, job_id="c", task_id=task, kind="compile", queue="compile", payload={"tree": tree}
        )

    def handler(work: Work) -> Compilation:
        assert isinstance(work.payload, CompilePayload)
        with work.database.transaction() as session:
            assert session.get_one(Task, work.claim.task_id).name == "Add"
            assert get_tree(session, work.payload.tree) == files
            artifact = put_blob(session, b"binary")
        with devices.hold(work.database, job_id="c", seconds=5):
            assert leases_alive(work)
        return Compilation(ok=True, failure_type=FailureType.SUCCESS, artifact=artifact, seconds=1e-7)

    def leases_alive(work: Work) -> bool:
        with work.database.transaction() as session:
            return leases.renew(session, work.claim, lease_seconds=30)

    assert execute(worker, "c", {JobKind.COMPILE: handler}, lease_seconds=30, most_attempts=3)
    assert not execute(worker, "c", {JobKind.COMPILE: handler}, lease_seconds=30, most_attempts=3)
    assert not execute(worker, "forged", {JobKind.COMPILE: handler}, lease_seconds=30, most_attempts=3)
    with database.transaction() as session:
        (one,) = events.read(session, task)
        assert isinstance(one.event, events.JobFinished)
        assert one.event.result["artifact"] == digest(b"binary")
        assert events.verify_chain(session, task) == 1


def test_a_worker_gives_back_and_fails_what_it_holds(database: Database, worker: Database, task: int) -> None:
    first = claim(worker, "a")
    with worker.transaction() as session:
        assert leases.lose(session, first, reason="no g++", most_attempts=2)
    second = claim(worker, "a")
    assert (second.fence, second.attempt) == (first.fence + 1, 2)
    with worker.transaction() as session:
        assert not leases.lose(session, first, reason="late", most_attempts=0)
        assert leases.lose(session, second, reason='quote " \\ \x00 \t \x01 \u2028 ü 🙂', most_attempts=2)
    with database.transaction() as session:
        (one,) = events.read(session, task)
        assert one.event == events.JobFailed(
            job_id="a", reason='quote " \\ \ufffd \t \x01 \u2028 ü 🙂', attempts=2
        )
        assert events.verify_chain(session, task) == 1


def test_the_database_makes_these_two_events_as_this_version_has_them() -> None:
    """Whoever changes one of them changes `schema.migrations.claiming` in a migration as well."""
    made = {one.kind: sorted(one.model_fields) for one in (events.JobFinished, events.JobFailed)}
    assert made == {"job_finished": ["job_id", "result"], "job_failed": ["attempts", "job_id", "reason"]}
    for kind, fields in made.items():
        body = claiming.FINISH if kind == "job_finished" else claiming.RELEASE
        assert f"'{kind}'" in body
        assert all(f"'{field}'" in body for field in fields)


def test_the_chain_of_the_database_is_the_chain_of_the_code(database: Database, task: int) -> None:
    wild = {
        "zero": -0.0,
        "small": 5e-324,
        "near": 1e-7,
        "big": 1e22,
        "float": 1e15,
        "deep": [{"ü": [None, True, 1.0]}, "\x7f\u2028\x00"],
        "Z": 1,
        "a": 2,
        "aa": 3,
        "é": 4,
    }
    with database.transaction() as session:
        events.append(session, task, events.ClockNoted())
    for job, whole_second in (("a", False), ("b", True)):
        held = claim(database, job)
        with database.transaction() as session:
            if whole_second:
                # A moment without a fraction is written without one; a real one comes once in a million.
                moment = "date_trunc('second', clock_timestamp())"
                source = session.execute(
                    text("SELECT pg_get_functiondef('opmend_append(bigint,text,jsonb,text)'::regprocedure)")
                ).scalar_one()
                changed = source.replace(":= clock_timestamp()", f":= {moment}")
                assert changed != source
                session.connection().exec_driver_sql(changed.replace("%", "%%"))
            assert leases.complete(session, held, wild)
    with database.transaction() as session:
        assert (
            session.execute(select(Event.at).order_by(Event.sequence.desc()).limit(1))
            .scalar_one()
            .microsecond
            == 0
        )
        events.append(session, task, events.ClockNoted())
        assert events.verify_chain(session, task) == 4


def test_two_workers_of_one_task_make_one_chain(database: Database, worker: Database, task: int) -> None:
    with database.transaction() as session:
        for number in range(12):
            leases.enqueue(
                session, job_id=f"n{number}", task_id=task, kind="compile", queue="compile", payload={}
            )

    def work(first: int) -> None:
        for number in range(first, 12, 3):
            held = claim(worker, f"n{number}")
            with worker.transaction() as session:
                assert leases.complete(session, held, {"n": number})

    threads = [threading.Thread(target=work, args=(first,)) for first in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with database.transaction() as session:
        assert events.verify_chain(session, task) == 12


def test_the_coordinator_needs_no_owner(
    as_role: Callable[[str], Database], worker: Database, task: int
) -> None:
    coordinator = as_role("coordinator")
    coordinator.migrate()  # nothing to do, and nothing it may not do
    held = claim(worker, "a")
    with coordinator.transaction() as session:
        session.execute(text("UPDATE jobs SET lease_expires_at = now() - interval '1 second' WHERE id = 'a'"))
    with coordinator.transaction() as session:
        (found,) = leases.expired(session)
        assert found == held
        assert leases.lose(session, found, reason="dead", most_attempts=1, only_expired=True)
        events.append(session, task, events.TaskFinished(outcome="stopped", reason="r"))
        assert events.verify_chain(session, task) == 2
    refused(coordinator, "UPDATE events SET kind = 'x'")
    refused(coordinator, "DELETE FROM jobs")


def test_a_task_is_played_to_its_end_without_the_owner(
    database: Database, as_role: Callable[[str], Database], login: Callable[[str], tuple[str, str]]
) -> None:
    """Submit, driver, store and jobs, by one login that is coordinator and worker."""
    both = as_role("coordinator")
    with database.transaction() as session:
        session.execute(text(f"GRANT opmend_worker TO {login('coordinator')[0]}"))
    try:
        (played,) = play(both, "Add", model="some-model")
    finally:
        with database.transaction() as session:
            session.execute(text(f"REVOKE opmend_worker FROM {login('coordinator')[0]}"))
    with database.transaction() as session:
        assert session.get_one(Task, played).outcome == "passed"
        assert events.verify_chain(session, played) > 20


def test_who_is_bound_by_what_can_be_told(
    database: Database, as_role: Callable[[str], Database], worker: Database
) -> None:
    assert database.missing_roles() == worker.missing_roles() == []
    assert database.in_force().endswith("(owner)")
    assert worker.in_force().endswith("(opmend_worker)")
    assert as_role("viewer").in_force().endswith("(opmend_viewer)")


def test_a_database_may_have_roles_of_its_own(database: Database) -> None:
    name = f"p{uuid.uuid4().hex[:8]}"
    with database.engine.begin() as connection:
        called = connection.execute(text("SELECT quote_ident(current_database())")).scalar_one()
        connection.execute(text(f"ALTER DATABASE {called} SET opmend.role_prefix = '{name}'"))
    database.engine.dispose()  # the setting holds for new connections
    own = [f"{name}_{role}" for role in roles.ROLES]
    try:
        assert database.missing_roles() == own
        assert database.grant_roles()
        assert database.missing_roles() == []
    finally:
        with database.engine.begin() as connection:
            connection.execute(text(f"DROP OWNED BY {', '.join(own)}"))
            connection.execute(text(f"DROP ROLE {', '.join(own)}"))


def test_an_owner_who_may_make_no_role_goes_on(
    database: Database, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a managed server: the schema is whole, jobs run, and the log says what an administrator has to do."""
    # Whatever a test before this one has done to logging in this process.
    monkeypatch.setattr(roles.log, "disabled", False)
    monkeypatch.setattr(roles.log, "handlers", [caplog.handler])
    caplog.set_level("WARNING", logger=roles.log.name)
    owner, home = f"o{uuid.uuid4().hex[:8]}", f"d{uuid.uuid4().hex[:8]}"
    url = make_url(database.url)
    with database.engine.connect() as connection:
        connection.execution_options(isolation_level="AUTOCOMMIT")
        connection.execute(text(f"CREATE ROLE {owner} LOGIN PASSWORD 'pw'"))
        connection.execute(text(f"CREATE DATABASE {home} OWNER {owner}"))
        connection.execute(text(f"ALTER DATABASE {home} SET opmend.role_prefix = '{owner}'"))
        own = url.set(username=owner, password="pw", database=home).render_as_string(hide_password=False)
        managed = Database(own)
        try:
            managed.migrate()
            assert "let an administrator run: CREATE ROLE" in caplog.text
            assert len(managed.missing_roles()) == 3
            with managed.transaction() as session:
                row = bare_task(session)
                leases.enqueue(session, job_id="a", task_id=row, kind="compile", queue="q", payload={})
            held = claim(managed, "a")
            with managed.transaction() as session:
                assert leases.complete(session, held, {})
            for role in roles.ROLES:
                connection.execute(text(f"CREATE ROLE {owner}_{role}"))
            assert managed.grant_roles()
            assert managed.missing_roles() == []
        finally:
            managed.close()
            connection.execute(text(f"DROP DATABASE {home} WITH (FORCE)"))
            for role in roles.ROLES:
                connection.execute(text(f"DROP ROLE IF EXISTS {owner}_{role}"))
            connection.execute(text(f"DROP ROLE {owner}"))


def test_the_embedded_server_lets_nobody_in_without_a_password(service_home: Path, postgres: str) -> None:
    from coordinator.local.postgres import USER, WORKER, EmbeddedPostgres

    server = EmbeddedPostgres(service_home)
    if server.url != postgres or (service_home / "postgres.as-system-user").exists():
        pytest.skip("another server, or one that the wheel looks after")
    assert (service_home / "postgres.keys").stat().st_mode & 0o777 == 0o600
    owner = Database(server.url)
    owner.migrate()
    owner.close()
    workers = Database(server.worker_url())
    assert workers.in_force() == f"{WORKER} (opmend_worker)"
    assert server.worker_url() == workers.url.replace("+psycopg", "")
    refused(workers, f"SET ROLE {USER}")
    workers.close()
    stolen = make_url(server.worker_url())
    for url in (stolen.set(username=USER), stolen.set(username=USER, password="")):
        stranger = Database(url.render_as_string(hide_password=False))
        with pytest.raises(DatabaseUnavailable, match="password"):
            stranger.check()
        stranger.close()
