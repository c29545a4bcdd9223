"""Inside the sandbox: a warm process that has imported torch and forks one child a case.

A child imports the adapter and its extension afresh, so a crash, a leak or a cache of one case reaches no
other; the warm process watches its time, ends whatever it started, hands its result over and wipes what it
left. It never looks into a result: the parent outside checks every byte.

Messages (frames of `wire`), from outside: load {files, extension} + the extension's bytes; case {seed, seconds,
memory, most, printed, names, inputs, init} + tensors. To outside: ready; loaded; done {how, ...} + the
child's own frame.
"""

import gc
import mmap
import os
import re
import resource
import select
import signal
import socket
import stat
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

from . import calling, poison, torch_npu, wire

PHASES = ("import", "construct", "forward", "output")
MOST_MESSAGE = 2000
MOST_REPORT_BYTES = 1 << 20
KEPT_PRINTED = 8 << 10
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 1, 4, 36


def main(descriptor: int, scratch: str) -> None:
    """Serve until the other end closes. `scratch` is emptied after every case."""
    _prctl(_PR_SET_DUMPABLE, 0)  # a child of the same user can't attach to this process or reach its socket
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)  # what a child leaves behind becomes ours to end
    import torch

    calling.reseed(0)  # imports what children would import again and again
    torch.set_num_threads(1)
    # A collection would walk all of torch's objects, and in a child copy every page that holds one.
    gc.collect()
    gc.freeze()
    channel = socket.socket(fileno=descriptor)
    _send(channel, {"op": "ready", "torch": torch.__version__})
    loaded: dict[str, Any] = {}
    while True:
        message = _receive(channel)
        if message is None:
            return
        header, payload = message
        if header["op"] == "load":
            loaded = {"files": header["files"], "extension": header["extension"], "bytes": bytes(payload)}
            _send(channel, {"op": "loaded"})
        elif header["op"] == "case":
            _send(channel, *_supervise(header, payload, loaded, Path(scratch), channel))
        del message, header, payload


def _supervise(
    header: dict[str, Any], payload: bytearray, loaded: dict[str, Any], scratch: Path, channel: socket.socket
) -> tuple[dict[str, Any], list[Any]]:
    """Run one case in a child and say how that ended."""
    result = os.memfd_create("result")
    phase = mmap.mmap(-1, 1)
    reading, writing = os.pipe()
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        status = 70
        try:
            os.setsid()
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            channel.close()
            os.close(reading)
            os.dup2(writing, 1)
            os.dup2(writing, 2)
            os.close(writing)
            null = os.open(os.devnull, os.O_RDONLY)
            os.dup2(null, 0)
            _Case(header, payload, loaded, scratch, result, phase).run()
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    how, code, printed, total = _watch(child, reading, header["seconds"], header["printed"])
    seconds = time.monotonic() - started
    os.close(reading)
    _end_descendants()
    frame = b""
    if how == "exit" and code == 0:
        size = os.fstat(result).st_size
        if size > header["most"] + wire.MOST_HEADER_BYTES:
            how = "too_large"
        else:
            frame = os.pread(result, size, 0) if size < 1 << 30 else _read_all(result, size)
    os.close(result)
    done = {
        "op": "done",
        "how": how,
        "code": code,
        "phase": PHASES[min(phase[0], len(PHASES) - 1)],
        "seconds": seconds,
        "printed": printed.decode("utf-8", "replace"),
        "printed_bytes": total,
        "report": _report(scratch),
        "clean": _wipe(scratch),
    }
    phase.close()
    return done, [frame]


def _watch(child: int, reading: int, seconds: float, most_printed: int) -> tuple[str, int, bytes, int]:
    """Wait for a child: (exit | signal | timeout | flood, its code or signal, what it printed last, bytes printed)."""
    deadline = time.monotonic() + seconds
    handle = os.pidfd_open(child)
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    poll.register(reading, select.POLLIN)
    kept = bytearray()
    total = 0
    how = ""
    while not how:
        left = deadline - time.monotonic()
        if left <= 0:
            how = "timeout"
            break
        for descriptor, _ in poll.poll(min(left, 1.0) * 1000):
            if descriptor == handle:
                how = "over"
            else:
                piece = os.read(reading, 1 << 16)
                if not piece:
                    poll.unregister(reading)
                total += len(piece)
                kept += piece
                del kept[:-KEPT_PRINTED]
                if total > most_printed:
                    how = "flood"
    if how != "over":
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(handle)
    os.set_blocking(reading, False)
    with suppress(BlockingIOError):
        while len(piece := os.read(reading, 1 << 16)) > 0 and total <= most_printed:
            total += len(piece)
            kept += piece
            del kept[:-KEPT_PRINTED]
    code = os.waitstatus_to_exitcode(status)
    if how == "over":
        how = "signal" if code < 0 else "exit"
    return how, abs(code), bytes(kept), total


class _Case:
    """The child's side of one case."""

    def __init__(
        self,
        header: dict[str, Any],
        payload: bytearray,
        loaded: dict[str, Any],
        scratch: Path,
        result: int,
        phase: mmap.mmap,
    ) -> None:
        self._header = header
        self._payload = payload
        self._loaded = loaded
        self._home = scratch / "candidate"
        self._scratch = scratch
        self._result = result
        self._phase = phase

    def run(self) -> None:
        """Compute, and write one frame into the result: the outputs, or the error."""
        parts: list[Any]
        try:
            outputs, seconds = self._compute()
            self._enter("output")
            payload: list[Any] = []
            tree = wire.describe(outputs, payload, most_bytes=self._header["most"])
            parts = wire.pack({"outputs": tree, "seconds": seconds}, payload)
        except BaseException as error:  # noqa: BLE001  (SystemExit and the like end a case too, and are told)
            text = _error_text(error, self._home)
            parts = wire.pack({"error": text, "type": type(error).__name__})
        for part in parts:
            view = memoryview(part)
            while len(view):
                view = view[os.write(self._result, view) :]
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()

    def _enter(self, name: str) -> None:
        self._phase[0] = PHASES.index(name)

    def _compute(self) -> tuple[Any, float]:
        import torch

        header = self._header
        self._limit()
        self._lay_out()
        values = wire.rebuild(header["inputs"], self._payload)
        start = wire.rebuild(header["init"], self._payload)
        with suppress(BufferError):
            self._payload.clear()  # the fork's copy; the values are what counts against its memory
        poison.install(bytes.fromhex(header.get("canary", "")) or poison.CANARY)
        torch_npu.install()
        module = _import(self._home / "model_new_ascendc.py")
        self._enter("construct")
        with torch.no_grad():
            model = calling.construct(module.ModelNew, start, header["seed"])
        self._enter("forward")
        began = time.perf_counter()
        outputs = calling.call(model, header["names"], values, header["seed"])
        return outputs, time.perf_counter() - began

    def _limit(self) -> None:
        header = self._header
        with Path("/proc/self/statm").open() as file:
            mapped = int(file.read().split()[0]) * resource.getpagesize()
        for kind, wanted in (
            (resource.RLIMIT_AS, mapped + header["memory"] + len(self._payload)),
            (resource.RLIMIT_CPU, int(header["seconds"]) * 2 + 2),
            (resource.RLIMIT_FSIZE, header["most"] + wire.MOST_HEADER_BYTES),
            (resource.RLIMIT_CORE, 0),
        ):
            hard = resource.getrlimit(kind)[1]
            limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(kind, (limit, limit))

    def _lay_out(self) -> None:
        """Write the workspace as people have it: the extension in kernel/build, found by import."""
        build = self._home / "kernel" / "build"
        build.mkdir(parents=True)
        for path, text in self._loaded["files"].items():
            place = self._home / path
            place.parent.mkdir(parents=True, exist_ok=True)
            # As schema.texts has it: bytes that are no UTF-8 come as lone surrogates.
            place.write_bytes(text.encode("utf-8", "surrogateescape"))
        (build / f"{self._loaded['extension']}.so").write_bytes(self._loaded["bytes"])
        os.chdir(self._home)
        os.environ["OPMEND_SIM_REPORT"] = str(self._scratch / "report.jsonl")
        os.environ["TMPDIR"] = str(self._scratch)
        os.environ.update(self._header.get("environment", {}))
        sys.dont_write_bytecode = True
        sys.path[:0] = [str(self._home), str(build)]


def _import(path: Path) -> Any:
    import importlib.util

    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} can't be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _error_text(error: BaseException, home: Path) -> str:
    """One line: the error, and the last line of the candidate's own sources on its way."""
    text = "".join(traceback.format_exception_only(error)).strip()
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(str(home))
    ]
    place = f" (at {os.path.relpath(frames[-1].filename, home)}:{frames[-1].lineno})" if frames else ""
    if isinstance(error, wire.WireError):
        text = f"forward returned what can't be an output: {error}"
    elif str(error).startswith(torch_npu.UNSUPPORTED):
        text = str(error)
    return text.replace(str(home) + "/", "")[:MOST_MESSAGE] + place


def _report(scratch: Path) -> str:
    """What the simulator wrote beside the case. A link or a device put in its place is not followed."""
    try:
        descriptor = os.open(
            scratch / "report.jsonl", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        )
    except OSError:
        return ""
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        return os.read(descriptor, MOST_REPORT_BYTES).decode("utf-8", "replace")
    finally:
        os.close(descriptor)


def _wipe(scratch: Path) -> bool:
    """Empty the scratch directory; False if something resists."""
    import shutil

    for entry in os.scandir(scratch):
        if entry.is_dir(follow_symlinks=False):
            # A candidate may have closed directories to us; they are ours, so open them again, top down.
            with suppress(OSError):
                os.chmod(entry.path, 0o700)
            for folder, folders, _ in os.walk(entry.path, onerror=lambda _: None):
                for name in folders:
                    place = os.path.join(folder, name)
                    if not os.path.islink(place):
                        with suppress(OSError):
                            os.chmod(place, 0o700)
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            with suppress(OSError):
                os.unlink(entry.path)
    return not os.listdir(scratch)


def _end_descendants() -> None:
    """End and reap what a case left running; as subreaper this process is its parent now."""
    me = os.getpid()
    for _ in range(100):
        found = list(_children(me))
        if not found:
            return
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in found:
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _children(parent: int) -> list[int]:
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                text = Path("/proc", name, "stat").read_text()
            except OSError:
                continue
            after = re.sub(r"^.*\) ", "", text, flags=re.DOTALL).split()
            if int(after[1]) == parent:
                found.append(int(name))
    return found


def _prctl(option: int, value: int) -> None:
    import ctypes

    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _read_all(descriptor: int, size: int) -> bytes:
    pieces, place = [], 0
    while place < size:
        piece = os.pread(descriptor, min(size - place, 1 << 28), place)
        if not piece:
            break
        pieces.append(piece)
        place += len(piece)
    return b"".join(pieces)


def _send(channel: socket.socket, header: dict[str, Any], payload: list[Any] | None = None) -> None:
    for part in wire.pack(header, payload or []):
        channel.sendall(part)


def _receive(channel: socket.socket) -> tuple[dict[str, Any], bytearray] | None:
    prefix = _exactly(channel, wire.PREFIX.size)
    if prefix is None:
        return None
    size, more = wire.unpack_prefix(bytes(prefix), most_payload=1 << 40)
    text, payload = _exactly(channel, size), _exactly(channel, more)
    if text is None or payload is None:
        return None
    return wire.unpack_header(bytes(text)), payload


def _exactly(channel: socket.socket, size: int) -> bytearray | None:
    buffer = bytearray(size)
    view = memoryview(buffer)
    while len(view):
        count = channel.recv_into(view)
        if not count:
            return None
        view = view[count:]
    return buffer
