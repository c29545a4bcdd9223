"""What hostile code can see and use up inside the sandbox."""

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from npu_worker.control_groups import task_group
from npu_worker.limits import SandboxLimits
from npu_worker.sandbox import KEPT_BYTES, SCRATCH, Mode, Stop, View, command_wrapper, probe, run

MIB = 1 << 20


@pytest.fixture(autouse=True, scope="module")
def _sandbox():
    probe()


def python(code, *, view=None, environment=None, mode=Mode.ON, **limits):
    limits = SandboxLimits(**{"wall_seconds": 20, **limits})
    return run(
        [sys.executable, "-I", "-c", textwrap.dedent(code)],
        limits=limits,
        view=view or View(python=True),
        environment=environment,
        mode=mode,
    )


def test_a_command_runs_with_python_and_an_empty_environment(monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "hunter2")
    ended = python("import os; print(sorted(os.environ)); print(os.getuid(), os.uname().nodename)")
    assert ended.ok
    assert "SECRET" not in ended.output
    assert ended.output.splitlines()[1] == "65534 sandbox"


def test_it_sees_neither_this_checkout_nor_homes_nor_other_processes():
    checkout = Path(__file__).parents[2]
    ended = python(
        f"""
        import os
        print(os.path.exists({str(checkout / "pyproject.toml")!r}), os.path.exists("/etc/passwd"))
        print(len([name for name in os.listdir("/proc") if name.isdigit()]) < 6)
        print(os.path.exists("/sys/kernel"))
        """
    )
    assert ended.output.split() == ["False", "False", "True", "False"]


def test_the_packages_of_this_project_are_hidden_even_where_site_packages_shows_them(tmp_path, monkeypatch):
    # An installed wheel puts cohorts/, with the references, beside torch.
    from npu_worker import sandbox

    package = tmp_path / "site-packages" / "cohorts"
    package.mkdir(parents=True)
    (package / "model.py").write_text("reference")
    monkeypatch.setattr(
        sandbox, "_python_paths", lambda: (Path(sys.prefix), Path(sys.base_prefix), package.parent)
    )
    monkeypatch.setattr(sandbox, "_own_paths", lambda: (package,))
    ended = python(f"import os; print(os.listdir({str(package)!r}))")
    assert ended.output.strip() == "[]"


def test_only_the_scratch_and_what_is_named_can_be_written(tmp_path):
    view = View(python=True, writable=(tmp_path,))
    ended = python(
        f"""
        places = ["/", "/dev", "/dev/shm", "/usr", {sys.prefix!r}, "/proc", {SCRATCH!r}, {str(tmp_path)!r}]
        for place in places:
            try:
                open(place + "/x", "w").write("x")
                print(place + "/x")
            except OSError:
                pass
        """,
        view=view,
    )
    assert ended.output.split() == [f"{SCRATCH}/x", f"{tmp_path}/x"]
    assert (tmp_path / "x").read_text() == "x"


def test_the_temporary_folder_is_the_scratch_unless_something_shown_lies_below_it(tmp_path):
    write = "import os, tempfile; open('/tmp/y', 'w').write('y'); print(os.listdir(tempfile.gettempdir()))"
    if Path("/tmp") not in Path(sys.prefix).parents:
        assert python(write).output.split() == ["['y']"]
    if Path("/tmp") not in tmp_path.parents:
        pytest.skip("pytest's folders are elsewhere")
    crowded = python(write, view=View(python=True, readable=(tmp_path,)))
    assert not crowded.ok
    assert "Read-only" in crowded.errors


def test_there_is_no_network_and_no_privilege():
    ended = python(
        """
        import os, socket, ctypes
        try:
            socket.create_connection(("127.0.0.1", 22), 2)
        except OSError as error:
            print(type(error).__name__)
        print(ctypes.CDLL(None).unshare(0x10000000) == 0)
        print([line.split()[1] for line in open("/proc/self/status") if line.startswith("CapEff")])
        """
    )
    assert ended.output.split() == ["ConnectionRefusedError", "False", "['0000000000000000']"]


def test_a_flood_of_output_ends_the_command_and_keeps_head_and_tail():
    ended = python("print('head')\nwhile True: print('x' * 1000)", output_bytes=2 * MIB)
    assert ended.stopped is Stop.OUTPUT
    assert ended.output.startswith("head\n")
    assert len(ended.output) < KEPT_BYTES + 200
    assert "left out" in ended.output


def test_a_fork_bomb_is_stopped_and_leaves_nothing():
    marker = f"opmend-bomb-{time.time_ns()}"
    ended = python(
        f"""
        import os, time
        {marker!r}
        for _ in range(8):  # 256 of them: a bomb without end can take a busy machine with it
            os.fork()
        time.sleep(60)
        """,
        tasks=40,
    )
    assert ended.stopped in (Stop.TASKS, Stop.MEMORY)
    # The kernel takes a while to bury thousands of killed processes.
    deadline = time.monotonic() + 60
    while _alive(marker) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not _alive(marker)


def test_the_kernel_bounds_the_tasks_where_it_can():
    """A bomb without end: no watcher is fast enough on a busy machine, so this asks for the kernel's own bound."""
    group = task_group(40)
    if group is None and os.getuid() == 0:
        pytest.skip("this machine lets root make no control group")
    if group is not None:
        group.remove()
    ended = python(
        """
        import os, time
        refused = 0
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline:
            try:
                if not os.fork():
                    time.sleep(60)
            except OSError:
                refused += 1
        print("refused", refused > 0)
        """,
        tasks=40,
    )
    assert ended.stopped is Stop.TASKS or ended.output.split() == ["refused", "True"]
    assert python("print(1)").ok  # and the next has all its tasks again


def test_a_group_leaves_nothing_behind():
    group = task_group(8)
    if group is None:
        pytest.skip("this machine lets us make no control group")
    assert group.directory.is_dir()
    group.remove()
    assert not group.directory.exists()
    assert python("print(1)").ok
    assert not list(group.directory.parent.glob(f"opmend-{os.getpid()}-*"))


def _alive(marker):
    return [one for one in psutil.process_iter(["cmdline"]) if marker in " ".join(one.info["cmdline"] or [])]


def test_ignored_signals_and_detached_children_do_not_outlive_it():
    marker = f"opmend-test-{time.time_ns()}"
    ended = python(
        f"""
        import os, signal, time
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if os.fork() == 0:
            os.setsid()
            if os.fork():
                os._exit(0)
        print({marker!r}, flush=True)
        time.sleep(60)
        """,
        wall_seconds=4.0,
    )
    assert ended.stopped is Stop.TIMEOUT
    assert marker in ended.output
    assert not _alive(marker)


def test_killing_everything_it_can_see_harms_nobody_outside():
    ended = python("import os; os.kill(1, 9); os.kill(os.getppid(), 9); os.kill(-1, 9); print('alive')")
    assert ended.output.strip() in ("", "alive")
    assert python("print(1)").ok


def test_files_scratch_memory_and_cpu_are_bounded():
    big = python(f"open('{SCRATCH}/x', 'wb').write(b'x' * 40_000_000)", scratch_bytes=16 * MIB)
    assert "No space left" in big.errors
    one = python(f"open('{SCRATCH}/x', 'wb').write(b'x' * 40_000_000)", file_bytes=4 * MIB)
    assert "File too large" in one.errors
    assert "MemoryError" in python("bytearray(3 << 30)", address_bytes=1024 * MIB).errors
    assert python("while True: pass", cpu_seconds=1).signal == 9
    grown = python(
        "import time\nkept = []\nwhile True:\n    kept.append(b'x' * (50 << 20))\n    time.sleep(0.05)",
        memory_bytes=400 * MIB,
    )
    assert grown.stopped is Stop.MEMORY


def test_a_crash_is_told_by_its_signal_and_a_status_by_its_number():
    assert python("import ctypes; ctypes.string_at(0)").signal == 11
    assert python("raise SystemExit(7)").exit_code == 7


def test_the_compiler_is_wrapped_and_reads_no_file_of_the_host(tmp_path):
    build = tmp_path / "build"
    (build / "tmp").mkdir(parents=True)
    secret = tmp_path / "secret.h"
    secret.write_text("#error TOP-SECRET\n")
    (build / "bad.cpp").write_text(f'#include "{secret}"\n')
    (build / "good.cpp").write_text("int main() { return 0; }\n")
    wrapped = command_wrapper(limits=SandboxLimits(), view=View())

    def compile_it(name):
        argv = wrapped(["g++", "-c", name, "-o", f"{name}.o"], build)
        return subprocess.run(argv, cwd=build, capture_output=True, text=True, env={}, timeout=60)

    assert compile_it("good.cpp").returncode == 0
    assert (build / "good.cpp.o").is_file()
    bad = compile_it("bad.cpp")
    assert bad.returncode != 0
    assert "TOP-SECRET" not in bad.stderr
    assert "No such file" in bad.stderr


def test_without_the_sandbox_the_limits_still_hold():
    ended = python("while True: pass", mode=Mode.OFF, wall_seconds=1.0)
    assert ended.stopped is Stop.TIMEOUT
    assert "MemoryError" in python("bytearray(3 << 30)", mode=Mode.OFF, address_bytes=1024 * MIB).errors


def test_the_death_of_the_one_who_started_it_ends_everything_inside():
    marker = f"opmend-test-{time.time_ns()}"
    script = f"""
import sys
from npu_worker.limits import SandboxLimits
from npu_worker.sandbox import SCRATCH, View, start
code = "import os, time; print({marker!r}, flush=True); os.fork() or os.setsid(); time.sleep(60)"
child = start([sys.executable, "-I", "-c", code], limits=SandboxLimits(), view=View(python=True))
while {marker!r} not in child._streams["output"].text():
    child.check()
print("inside", flush=True)
child.wait()
"""
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    assert parent.stdout.readline() == "inside\n"
    assert _with(marker)
    parent.kill()
    parent.communicate()
    deadline = time.monotonic() + 10
    while _with(marker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _with(marker)


def _with(marker):
    """Sandboxed processes whose command line has the marker, without the script that started them."""
    found = []
    for one in psutil.process_iter(["cmdline"]):
        words = one.info["cmdline"] or []
        if any(marker in word and "npu_worker" not in word for word in words):
            found.append(one)
    return found
