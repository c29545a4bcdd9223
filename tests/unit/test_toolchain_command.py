"""Limits around compiler commands, the cache, and the reader of findings."""

import os
import threading
import time
from pathlib import Path

import pytest

from npu_worker.sim.report import read_report
from npu_worker.toolchains import cache
from npu_worker.toolchains.command import run_command
from schema.errors import JobLost

ENVIRONMENT = {"PATH": os.environ["PATH"]}


def test_timeout_ends_the_whole_group(tmp_path: Path) -> None:
    marker = tmp_path / "late"
    start = time.monotonic()
    result = run_command(
        ["sh", "-c", f"(sleep 2; touch {marker}) & sleep 60"],
        cwd=tmp_path,
        output=tmp_path / "log",
        timeout=0.3,
        environment=ENVIRONMENT,
    )
    assert result.code is None
    assert time.monotonic() - start < 2
    time.sleep(2.2)
    assert not marker.exists()


def test_a_command_that_nobody_wants_ends_with_its_group(tmp_path: Path) -> None:
    marker, lost = tmp_path / "late", threading.Event()
    threading.Timer(0.3, lost.set).start()
    start = time.monotonic()

    def run() -> None:
        run_command(
            ["sh", "-c", f"(sleep 3; touch {marker}) & sleep 60"],
            cwd=tmp_path,
            output=tmp_path / "log",
            timeout=60,
            environment=ENVIRONMENT,
            lost=lost,
        )

    with pytest.raises(JobLost):
        run()
    assert time.monotonic() - start < 3
    with pytest.raises(JobLost):
        run()  # and none is started
    time.sleep(3.2)
    assert not marker.exists()


def test_who_waits_for_another_builder_can_be_told_to_stop(tmp_path: Path) -> None:
    building, done, lost = threading.Event(), threading.Event(), threading.Event()

    def build(scratch: Path) -> None:
        building.set()
        done.wait(30)

    builder = threading.Thread(target=cache.entry, args=(tmp_path, "entry", build))
    builder.start()
    assert building.wait(30)
    threading.Timer(0.3, lost.set).start()
    with pytest.raises(JobLost):
        cache.entry(tmp_path, "entry", build, lost=lost)
    assert not done.is_set()
    done.set()
    builder.join()
    assert (tmp_path / "entry").is_dir()


def test_output_is_capped_and_memory_is_bounded(tmp_path: Path) -> None:
    long = run_command(
        ["sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x"],
        cwd=tmp_path,
        output=tmp_path / "log",
        timeout=20,
        environment=ENVIRONMENT,
    )
    assert long.code == 0
    assert len(long.output) < 70_000
    assert "bytes more" in long.output
    greedy = run_command(
        ["python3", "-c", "x = bytearray(1 << 30)"],
        cwd=tmp_path,
        output=tmp_path / "log",
        timeout=20,
        environment=ENVIRONMENT,
        memory_kib=400_000,
    )
    assert greedy.code not in (0, None)


def test_a_cache_entry_is_built_once_and_whole(tmp_path: Path) -> None:
    calls = []

    def build(scratch: Path) -> None:
        calls.append(scratch)
        (scratch / "made").write_text("yes")

    first = cache.entry(tmp_path, "entry", build)
    assert cache.entry(tmp_path, "entry", build) == first
    assert ((first / "made").read_text(), len(calls)) == ("yes", 1)

    def broken(scratch: Path) -> None:
        (scratch / "half").write_text("")
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        cache.entry(tmp_path, "other", broken)
    assert not (tmp_path / "other").exists()


def test_old_entries_make_room_for_a_new_one(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"sim-runtime-{number}").mkdir()
        os.utime(tmp_path / f"sim-runtime-{number}", (1000 + number, 1000 + number))
    fresh = tmp_path / "sim-runtime-in-use"
    fresh.mkdir()
    cache.entry(tmp_path, "sim-runtime-new", lambda scratch: None)
    kept = {path.name for path in tmp_path.iterdir() if path.is_dir()}
    assert kept >= {"sim-runtime-new", "sim-runtime-4"}
    assert kept.isdisjoint({"sim-runtime-0", "sim-runtime-1", "sim-runtime-2", "sim-runtime-3"})


def test_objects_are_found_again_and_old_ones_go(tmp_path: Path) -> None:
    store = cache.ObjectStore(tmp_path / "objects", most=4)
    source, target = tmp_path / "a.o", tmp_path / "b.o"
    assert not store.get("k0", target)
    for number in range(6):
        source.write_text(str(number))
        store.put(f"k{number}", source)
        os.utime(tmp_path / "objects" / f"k{number}.o", (number + 1, number + 1))
    assert store.get("k5", target)
    assert target.read_text() == "5"
    assert not store.get("k0", target)


def test_reports_are_merged_and_forged_lines_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "report"
    path.write_text(
        '{"rule": "queue-leak", "severity": "violation", "message": "m", "file": "a.cpp", "line": 3, "count": 2}\n'
        "not json\n[1]\n"
        '{"rule": "x", "severity": "passed", "message": "m", "count": 1}\n'
        '{"rule": "ub-overflow", "severity": "error", "message": "m", "count": 1}\n'
        '{"rule": "queue-leak", "severity": "violation", "message": "m", "file": "a.cpp", "line": 3, "count": 5}\n'
    )
    assert [(finding.rule, finding.count) for finding in read_report(path)] == [
        ("ub-overflow", 1),
        ("queue-leak", 7),
    ]
    assert read_report(tmp_path / "none") == ()
