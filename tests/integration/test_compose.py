"""compose.yaml against a real compose implementation, the images it builds, and the commands it starts."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from coordinator.cli.processes import ROLES
from schema.queues import QUEUES, celery_app

ROOT = Path(__file__).resolve().parents[2]
SERVICES = {"postgres", "redis", "coordinator", "llm-worker", "compile-worker", "npu-worker", "flower"}
SECRETS = {"OPMEND_POSTGRES_PASSWORD": "pg-pass", "FLOWER_BASIC_AUTH": "user:flower-pass"}

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
    for name in ("llm-worker", "compile-worker", "npu-worker"):
        assert "container_name" not in services[name], f"{name}: a fixed name forbids --scale"
        assert not services[name].get("ports"), f"{name}: a host port forbids --scale"


def test_a_worker_gets_the_time_that_celery_takes_to_stop(services: dict[str, dict[str, Any]]) -> None:
    soft = celery_app("compose", "redis://127.0.0.1:6379/0").conf.worker_soft_shutdown_timeout
    for name, service in services.items():
        if service.get("command", [""])[0] == "opmend":
            grace = re.fullmatch(r"(\d+)s", service["stop_grace_period"])
            assert grace is not None, name
            assert int(grace[1]) > soft, name


def test_only_the_servers_are_waited_for_and_they_have_health_checks(
    services: dict[str, dict[str, Any]],
) -> None:
    for name, service in services.items():
        for needed, how in (service.get("depends_on") or {}).items():
            assert needed in {"postgres", "redis"}, name
            assert how["condition"] == "service_healthy"
            assert services[needed]["healthcheck"]["test"]


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
