"""compose.yaml against a real compose implementation, the images it builds, and the commands it starts."""

import json
import os
import re
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import URL, create_engine, make_url, text

from coordinator.cli.processes import ROLES
from schema.database import Database
from schema.errors import DatabaseUnavailable
from schema.prepare import prepare
from schema.queues import QUEUES, celery_app
from schema.roles import ROLES as ROLES_OF_DATABASE

ROOT = Path(__file__).resolve().parents[2]
WORKERS = {"llm-worker", "compile-worker", "npu-worker"}
SERVICES = {"postgres", "redis", "schema", "coordinator", "flower", *WORKERS}
OWNER, COORDINATOR, WORKER = (f"OPMEND_{who}_PASSWORD" for who in ("POSTGRES", "COORDINATOR", "WORKER"))
SECRETS = {
    OWNER: "owner-pass",
    COORDINATOR: "coordinator-pass",
    WORKER: "worker-pass",
    "FLOWER_BASIC_AUTH": "user:flower-pass",
}

# podman-compose's command asks for a podman binary even to print a file. Its parser does not: this runs the
# same two steps that its command runs before it starts anything, in a process of their own, because the
# parser changes the environment and the logging of whoever calls it.
PARSE = """
import json, sys
from podman_compose import podman_compose as compose
compose._parse_args(["--file", sys.argv[1], "config"])
compose._parse_compose_file()
services = {
    name: {key: value for key, value in service.items() if not key.startswith("_")}
    for name, service in compose.services.items()
}
print(json.dumps({"services": services, "volumes": compose.vols, "project": compose.project_name,
                  "containers": [one["name"] for one in compose.containers]}))
"""


def parse(path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    plain = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("OPMEND_", "COMPOSE_", "PODMAN_")) and name not in SECRETS
    }
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", PARSE, str(path)],
        cwd=ROOT,
        env={**plain, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def composed() -> dict[str, Any]:
    done = parse(ROOT / "compose.yaml", **SECRETS)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "a compose implementation complains"
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def services(composed: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return composed["services"]


def test_all_parts_of_the_system_are_there(composed: dict[str, Any]) -> None:
    assert set(composed["services"]) == SERVICES
    assert composed["project"] == "opmend"
    assert len(composed["containers"]) == len(SERVICES)


def test_the_parser_complains_about_a_broken_file(tmp_path: Path) -> None:
    # Otherwise "no complaint" would say nothing.
    broken = tmp_path / "compose.yaml"
    broken.write_text((ROOT / "compose.yaml").read_text().replace("  store:\n", "  stored:\n"))
    done = parse(broken, **SECRETS)
    assert done.returncode != 0
    assert "store" in done.stderr


@pytest.mark.parametrize("missing", sorted(SECRETS))
def test_a_missing_secret_says_what_to_set(missing: str) -> None:
    done = parse(ROOT / "compose.yaml", **{name: value for name, value in SECRETS.items() if name != missing})
    assert done.returncode != 0
    assert f"set {missing}" in done.stderr


def test_every_command_is_one_that_the_command_line_offers(services: dict[str, dict[str, Any]]) -> None:
    ours = {
        name: service["command"]
        for name, service in services.items()
        if service.get("command", [""])[0] == "opmend"
    }
    assert ours["coordinator"] == ["opmend", "coordinator"]
    for role in ROLES:
        name = f"{role}-worker"
        assert ours[name] == ["opmend", "worker", role]
    # Every queue has a service that consumes it.
    assert {ROLES[command[2]][1] for command in ours.values() if command[1] == "worker"} == set(
        QUEUES.values()
    )
    for command in ours.values():
        done = subprocess.run(
            [sys.executable, "-m", "coordinator.cli", command[1], "--help"],
            cwd=ROOT,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, command


def test_flower_is_a_celery_command_and_stays_on_loopback(services: dict[str, dict[str, Any]]) -> None:
    flower = services["flower"]
    assert flower["command"][0] == "celery"
    assert "flower" in flower["command"]
    assert flower["environment"]["BROKER_URL"] in flower["command"][1]
    assert all(str(port).startswith("127.0.0.1:") for port in flower["ports"])
    assert flower["environment"]["FLOWER_BASIC_AUTH"] == SECRETS["FLOWER_BASIC_AUTH"]


def test_workers_can_be_scaled(services: dict[str, dict[str, Any]]) -> None:
    for name in WORKERS:
        assert "container_name" not in services[name], f"{name}: a fixed name forbids --scale"
        assert not services[name].get("ports"), f"{name}: a host port forbids --scale"


def test_a_worker_gets_the_time_that_celery_takes_to_stop(services: dict[str, dict[str, Any]]) -> None:
    soft = celery_app("compose", "redis://127.0.0.1:6379/0").conf.worker_soft_shutdown_timeout
    for name, service in services.items():
        if service.get("command", [""])[0] == "opmend":
            grace = re.fullmatch(r"(\d+)s", service["stop_grace_period"])
            assert grace is not None, name
            assert int(grace[1]) > soft, name


def test_only_the_servers_and_the_schema_are_waited_for(services: dict[str, dict[str, Any]]) -> None:
    for name, service in services.items():
        waits = service.get("depends_on") or {}
        if name in {"coordinator", *WORKERS}:
            assert set(waits) == {"postgres", "redis", "schema"}
        for needed, how in waits.items():
            if needed == "schema":
                assert how["condition"] == "service_completed_successfully"
                assert services[needed]["restart"] == "on-failure"
                continue
            assert needed in {"postgres", "redis"}, name
            assert how["condition"] == "service_healthy"
            assert services[needed]["healthcheck"]["test"]


def test_each_password_is_known_to_those_who_need_it(services: dict[str, dict[str, Any]]) -> None:
    def knowing(secret: str) -> set[str]:
        return {name for name, service in services.items() if SECRETS[secret] in json.dumps(service)}

    assert knowing(OWNER) == {"postgres", "schema"}
    assert knowing(COORDINATOR) == {"schema", "coordinator"}
    assert knowing(WORKER) == {"schema", *WORKERS}
    assert knowing("FLOWER_BASIC_AUTH") == {"flower"}


@pytest.fixture
def prepared(services: dict[str, dict[str, Any]], postgres: str) -> Iterator[Callable[[str], URL]]:
    """Runs the service `schema` on a new database of a real server; gives the addresses of the others there."""
    name, owner = f"compose_{uuid.uuid4().hex[:10]}", make_url(postgres)
    engine = create_engine(owner.set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
        # Roles belong to the server, and others are tested on it.
        connection.execute(text(f"ALTER DATABASE {name} SET opmend.role_prefix = '{name}'"))

    def address(service: str) -> URL:
        environment = services[service]["environment"]
        url = make_url(environment.get("OPMEND_WORKER_DATABASE_URL") or environment["DATABASE_URL"])
        assert (url.host, url.port, url.database) == ("postgres", 5432, "opmend")
        user = str(url.username).replace("opmend_", f"{name}_", 1)
        return owner.set(database=name, username=user, password=url.password)

    def run() -> None:
        service = services["schema"]
        here = {"DATABASE_URL": owner.set(database=name).render_as_string(hide_password=False)}
        done = subprocess.run(
            [sys.executable, *service["command"][1:]],
            cwd=ROOT,
            env={**os.environ, **service["environment"], **here},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert not any(secret in done.stdout + done.stderr for secret in SECRETS.values())

    run()
    run()  # as after an update
    yield address
    with engine.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
        for role in ("coordinator_login", "worker_login", *ROLES_OF_DATABASE):
            connection.execute(text(f"DROP ROLE IF EXISTS {name}_{role}"))
    engine.dispose()


def test_each_service_comes_as_its_role(prepared: Callable[[str], URL]) -> None:
    for service in ("coordinator", *sorted(WORKERS)):
        role = "coordinator" if service == "coordinator" else "worker"
        database = Database(prepared(service).render_as_string(hide_password=False), pool_size=1)
        database.migrate()  # as every command does: there is nothing left to do
        held = re.fullmatch(r"(\w+)_login \((\w+)\)", database.in_force())
        assert held is not None, service
        assert held[1] == held[2]
        assert held[2].endswith(f"_{role}")
        assert database.missing_roles() == []
        database.close()
        wrong = Database(prepared(service).set(password="guessed").render_as_string(hide_password=False))
        with pytest.raises(DatabaseUnavailable, match="password authentication failed"):
            wrong.check()
        wrong.close()


def test_a_password_is_changed_by_the_next_start(prepared: Callable[[str], URL], database: Database) -> None:
    before = prepared("npu-worker")
    owner = Database(
        make_url(database.url).set(database=before.database).render_as_string(hide_password=False)
    )
    assert prepare(owner, {"worker": "another 'pass'"}) == [before.username]
    owner.close()
    for password, works in ((before.password, False), ("another 'pass'", True)):
        login = Database(before.set(password=password).render_as_string(hide_password=False), pool_size=1)
        with nullcontext() if works else pytest.raises(DatabaseUnavailable, match="password"):
            login.check()
        login.close()


def test_no_secret_stands_in_the_file() -> None:
    text = (ROOT / "compose.yaml").read_text()
    for line in text.splitlines():
        found = re.match(r"\s*(\w*(?:PASSWORD|API_KEY|AUTH|TOKEN|SECRET))\s*:\s*(.+)", line)
        if found:
            assert found[2].startswith("${"), f"{found[1]} has a value in the file"
    for url in re.findall(r"\w+://[^\s:@/]+:([^@\s]+)@", text):
        assert url.startswith("${"), "a password stands in an address"


def test_keys_of_model_providers_reach_the_llm_worker_alone(services: dict[str, dict[str, Any]]) -> None:
    with_keys = {
        name
        for name, service in services.items()
        if any(key.endswith("_API_KEY") for key in service.get("environment") or {})
    }
    assert with_keys == {"llm-worker"}


def test_only_workers_that_run_candidates_loosen_their_profile(services: dict[str, dict[str, Any]]) -> None:
    assert {name for name, service in services.items() if service.get("security_opt")} == {
        "compile-worker",
        "npu-worker",
    }
    assert not any(service.get("privileged") or service.get("cap_add") for service in services.values())
    done = parse(ROOT / "compose.yaml", **SECRETS, OPMEND_UNMASK="unmask=ALL")
    podman = json.loads(done.stdout)["services"]["npu-worker"]["security_opt"]
    assert "unmask=ALL" in podman
    assert "systempaths=unconfined" not in podman


def test_images_are_built_from_files_that_are_there(services: dict[str, dict[str, Any]]) -> None:
    recipes = {service["build"]["dockerfile"] for service in services.values() if "build" in service}
    assert recipes == {path.relative_to(ROOT).as_posix() for path in (ROOT / "ops").glob("*.Dockerfile")}
    for recipe in recipes:
        role = Path(recipe).stem
        copied: set[str] = set()
        for line in (ROOT / recipe).read_text().splitlines():
            if line.startswith("COPY "):
                *sources, _ = line.split()[1:]
                copied |= set(sources)
        assert f"requirements/{role}.txt" in copied
        assert {name for name in copied if not (ROOT / name).exists()} == set(), recipe
        # All the build needs, and nothing like "." that would carry stores and keys into the image.
        assert {
            "pyproject.toml",
            "README.md",
            "LICENSE",
            "schema",
            "kb",
            "coordinator",
            "workers",
            "npu_worker",
            "cohorts",
        } <= copied
        assert not copied & {".", "./", "*"}


def test_images_hold_only_the_packages_of_their_role() -> None:
    def pinned(role: str) -> set[str]:
        text = (ROOT / "requirements" / f"{role}.txt").read_text()
        return {match[1].lower() for match in re.finditer(r"^([A-Za-z0-9_.-]+)==", text, re.MULTILINE)}

    assert "litellm" in pinned("llm-worker")
    assert not pinned("coordinator") & {"torch", "litellm"}
    assert not pinned("npu-worker") & {"litellm"}
    assert not pinned("llm-worker") & {"torch"}
    for role in ("coordinator", "llm-worker", "npu-worker"):
        # `pip install --no-build-isolation` finds its build backend among the pinned packages.
        assert {"celery", "psycopg", "hatchling"} <= pinned(role)
