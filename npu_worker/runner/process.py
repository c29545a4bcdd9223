"""The outer end of the sandbox: start it, hand over a candidate, ask for cases, believe nothing.

One `Runner` serves many validations: torch stays imported in it, and each case runs in a fork of its own, so a
crash costs milliseconds. Should the warm process itself fall (a hostile child killed it, say), the next case
starts another.
"""

import select
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from npu_worker.limits import MIB, SandboxLimits, ValidationLimits
from npu_worker.runner import wire
from npu_worker.runner.poison import CANARY
from npu_worker.sandbox import SCRATCH, Mode, Sandboxed, Stop, View, start
from npu_worker.sim.report import parse_report
from schema.errors import BadInput, SandboxUnavailable, ToolchainMissing
from schema.lost import go_on
from schema.results import CostCounters, Finding

_INSIDE = "/opmend/runner"
_GRACE_SECONDS = 10.0
_LOOK_SECONDS = 0.2  # how soon a case ends that nobody wants any more
_BOOT = (
    "import sys; sys.path.insert(0, {path!r}); from {package}.candidate import main; main({fd}, {scratch!r})"
)


class Ending(StrEnum):
    """How a case of the candidate ended, as seen from outside."""

    OUTPUTS = "outputs"
    ERROR = "error"  # a Python exception, with its text
    CRASH = "crash"  # a signal, or an exit without a result
    TIMEOUT = "timeout"
    LIMIT = "limit"  # memory, tasks, printed text or size of outputs
    MALFORMED = "malformed"  # a result that breaks the format


@dataclass(frozen=True, kw_only=True)
class CaseRun:
    """One case of the candidate.

    Attributes:
        phase: import, construct, forward or output: how far it came.
        seconds: forward alone where it ended by itself, else the whole case.
        outputs: what forward returned, as values; only if `ending` is OUTPUTS.
        message: what went wrong, one line.
        printed: the last text that it printed.
        findings: what the simulator reported.
        costs: what the simulator counted; None where it counted nothing.
    """

    ending: Ending
    phase: str
    seconds: float = 0.0
    outputs: Any = None
    message: str = ""
    printed: str = ""
    findings: tuple[Finding, ...] = ()
    costs: CostCounters | None = None


@dataclass(frozen=True, kw_only=True)
class SimMachine:
    """A simulator that differs from the usual one where no right kernel can tell.

    Attributes:
        order: OPMEND_SIM_ORDER: "" (block order), "reverse" or "seed:N".
        poison: the four bytes, in memory order, that fill memory nobody wrote: local, and new tensors' too.
    """

    order: str = ""
    poison: bytes = CANARY


class Runner:
    """A warm sandbox that runs cases of one candidate after the other. Close it, or use it as a context manager."""

    def __init__(self, *, limits: ValidationLimits | None = None, mode: Mode = Mode.ON) -> None:
        self.limits = limits or ValidationLimits()
        self.mode = mode
        self.starts = 0
        self._process: Sandboxed | None = None
        self._channel: socket.socket | None = None
        self._scratch: Path | None = None
        self._ready = False
        self._candidate: tuple[dict[str, str], str, bytes] | None = None
        self._handed = False
        self._lost: threading.Event | None = None

    def __enter__(self) -> "Runner":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the sandbox if it does not run; returns at once, while torch is imported inside.

        Raises:
            SandboxUnavailable: this machine can't isolate a candidate.
        """
        if self._process is not None and self._process.alive:
            return
        self.close()
        here, there = socket.socketpair()
        sources = Path(__file__).parent
        if self.mode is Mode.OFF:
            self._scratch = Path(tempfile.mkdtemp(prefix="opmend-candidate-"))
            scratch = str(self._scratch)
            boot = _BOOT.format(
                path=str(sources.parent.parent),
                package="npu_worker.runner",
                fd=there.fileno(),
                scratch=scratch,
            )
        else:
            boot = _BOOT.format(
                path=str(Path(_INSIDE).parent), package="runner", fd=there.fileno(), scratch=SCRATCH
            )
        try:
            self._process = start(
                [sys.executable, "-I", "-B", "-c", boot],
                limits=self._sandbox_limits(),
                view=View(
                    python=True,
                    placed={
                        f"{_INSIDE}/{name}.py": sources / f"{name}.py"
                        for name in ("__init__", "wire", "poison", "calling", "torch_npu", "candidate")
                    },
                ),
                environment={
                    "OMP_NUM_THREADS": "1",
                    "MKL_NUM_THREADS": "1",
                    "USER": "nobody",
                    "PATH": "/usr/bin:/bin",
                    "LANG": "C.UTF-8",
                },
                mode=self.mode,
                inherited=(there.fileno(),),
            )
        except SandboxUnavailable:
            here.close()
            raise
        finally:
            there.close()
        here.setblocking(False)
        self._channel = here
        self.starts += 1

    def load(
        self,
        files: Mapping[str, str],
        *,
        extension: str,
        artifact: bytes,
        lost: threading.Event | None = None,
    ) -> None:
        """Choose the candidate of the cases that follow.

        Args:
            files: the Python files it may see, by path; model_new_ascendc.py is one of them.
            extension: import name of the extension.
            artifact: the built extension.
            lost: ends the case that runs as soon as it is set, and the sandbox with it.
        """
        self._lost = lost
        self._candidate = (dict(files), extension, artifact)
        self._handed = False

    def run(
        self,
        inputs: Mapping[str, Any],
        *,
        seed: int,
        init: Sequence[Any] = (),
        seconds: float | None = None,
        machine: SimMachine | None = None,
    ) -> CaseRun:
        """Run one case: import the adapter, construct ModelNew(*init), call forward.

        Args:
            inputs: values by name, in the order of forward's parameters; copied, never shared.
            seed: what torch's generator is seeded with before the construction and before forward.
            seconds: a tighter limit than the validation's own.
            machine: how the simulator runs the case; None as always.

        Raises:
            BadInput: a value that can't be passed.
            SandboxUnavailable, ToolchainMissing: no candidate could run here; not its fault.
            JobLost: nobody wants the result any more.
        """
        seconds = self.limits.case_seconds if seconds is None else min(seconds, self.limits.case_seconds)
        payload: list[Any] = []
        header = {
            "op": "case",
            "seed": seed,
            "seconds": seconds,
            "memory": self.limits.memory_bytes,
            "most": self.limits.output_bytes,
            "printed": self.limits.printed_bytes,
            "names": list(inputs),
        }
        if machine is not None:
            header["environment"] = {
                "OPMEND_SIM_ORDER": machine.order,
                "OPMEND_SIM_POISON": machine.poison[::-1].hex(),
            }
            header["canary"] = machine.poison.hex()
        try:
            header["inputs"] = wire.describe(list(inputs.values()), payload, most_bytes=1 << 40)
            header["init"] = wire.describe(list(init), payload, most_bytes=1 << 40)
        except wire.WireError as error:
            raise BadInput(
                f"an input can't be passed to a candidate: {error}",
                where="model.py",
                mend="use tensors and plain values",
            ) from error
        self._hand_over(header, payload)
        try:
            done, frame = self._receive(deadline=time.monotonic() + seconds + _GRACE_SECONDS)
            return self._judge(done, frame)
        except wire.WireError as error:
            self.close()
            message = f"the runner was disturbed: {error}"
            return CaseRun(ending=Ending.MALFORMED, phase="forward", message=message)
        except _Broken as broken:
            self.close()
            return CaseRun(ending=broken.ending, phase="forward", seconds=seconds, message=broken.message)

    def _hand_over(self, header: dict[str, Any], payload: list[Any]) -> None:
        """Send a case; a warm process that fell between cases is replaced once, since no case is to blame."""
        for attempt in (1, 2):
            self._prepare()
            try:
                self._send(header, payload, deadline=time.monotonic() + self.limits.start_seconds)
                return
            except _Broken as error:
                self.close()
                if attempt == 2:
                    raise SandboxUnavailable(
                        f"the runner falls: {error}", mend="look for memory pressure"
                    ) from error

    def close(self) -> None:
        """End the sandbox and everything in it."""
        if self._channel is not None:
            self._channel.close()
        if self._process is not None:
            self._process.close()
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
        self._process = self._channel = self._scratch = None
        self._ready = self._handed = False

    def _sandbox_limits(self) -> SandboxLimits:
        limits = self.limits
        room = 2 * limits.output_bytes + 2 * limits.memory_bytes
        return SandboxLimits(
            memory_bytes=1024 * MIB + room,
            address_bytes=8192 * MIB + 2 * room,
            file_bytes=limits.output_bytes + 64 * MIB,
            scratch_bytes=512 * MIB,
        )

    def _prepare(self) -> None:
        """A warm process that has the candidate."""
        if self._candidate is None:
            raise ValueError("load a candidate before running a case")
        for attempt in (1, 2):
            self.start()
            try:
                if not self._ready:
                    self._receive(deadline=time.monotonic() + self.limits.start_seconds)
                    self._ready = True
                if not self._handed:
                    files, extension, artifact = self._candidate
                    deadline = time.monotonic() + self.limits.start_seconds
                    self._send(
                        {"op": "load", "files": files, "extension": extension}, [artifact], deadline=deadline
                    )
                    self._receive(deadline=deadline)
                    self._handed = True
                return
            except (_Broken, wire.WireError) as error:
                said = self._process.errors[-300:] if self._process is not None else ""
                was_ready = self._ready
                self.close()
                if attempt == 2 or not was_ready:
                    raise ToolchainMissing(
                        f"the runner did not start ({error}) {said}".strip(),
                        mend="run: python -c 'import torch'",
                    ) from error

    def _send(self, header: dict[str, Any], payload: list[Any], *, deadline: float) -> None:
        for part in wire.pack(header, payload):
            view = memoryview(part)
            while len(view):
                self._await(select.POLLOUT, deadline)
                assert self._channel is not None
                try:
                    view = view[self._channel.send(view[: 1 << 20]) :]
                except (BrokenPipeError, ConnectionResetError) as error:
                    raise _Broken(Ending.CRASH, "the runner was killed") from error

    def _receive(self, *, deadline: float) -> tuple[dict[str, Any], bytearray]:
        prefix = self._exactly(wire.PREFIX.size, deadline)
        most = self.limits.output_bytes + 2 * wire.MOST_HEADER_BYTES
        size, more = wire.unpack_prefix(bytes(prefix), most_payload=most)
        return wire.unpack_header(bytes(self._exactly(size, deadline))), self._exactly(more, deadline)

    def _exactly(self, size: int, deadline: float) -> bytearray:
        buffer = bytearray(size)
        view = memoryview(buffer)
        while len(view):
            self._await(select.POLLIN, deadline)
            assert self._channel is not None
            try:
                count = self._channel.recv_into(view)
            except ConnectionResetError:
                count = 0
            if not count:
                raise _Broken(Ending.CRASH, "the runner was killed")
            view = view[count:]
        return buffer

    def _await(self, event: int, deadline: float) -> None:
        """Wait until the channel is ready; watch the limits of the whole sandbox meanwhile."""
        assert self._channel is not None
        assert self._process is not None
        poll = select.poll()
        poll.register(self._channel, event)
        pause = 0.25
        look = time.monotonic() + pause
        while True:
            if self._lost is not None and self._lost.is_set():
                self.close()
                go_on(self._lost)
            left = deadline - time.monotonic()
            if left <= 0:
                raise _Broken(Ending.TIMEOUT, "no answer in time")
            if poll.poll(min(left, _LOOK_SECONDS) * 1000):
                return
            if time.monotonic() < look:
                continue
            pause = min(pause * 1.5, 1.0)  # a look at the whole tree reads /proc, which costs
            look = time.monotonic() + pause
            stopped = self._process.check()
            if stopped is Stop.OUTPUT:
                raise _Broken(Ending.LIMIT, "it printed without end")
            if stopped is not None:
                raise _Broken(Ending.LIMIT, f"it used more {stopped.value} than allowed")

    def _judge(self, done: dict[str, Any], frame: bytearray) -> CaseRun:
        how, code = done.get("how"), done.get("code")
        facts: dict[str, Any] = {
            "phase": str(done.get("phase")),
            "printed": str(done.get("printed", "")),
        }
        report = parse_report(str(done.get("report", "")))
        facts["findings"], facts["costs"] = report.findings, report.costs
        whole = float(done.get("seconds", 0.0))
        if not done.get("clean"):
            self.close()  # something in the scratch directory resists: the next case gets a new sandbox
        last = facts["printed"].strip().splitlines()[-1:] or [""]
        tail = f": {last[0][:300]}" if last[0] else ""
        match how:
            case "timeout":
                message = f"no end after {whole:.1f} s in {facts['phase']}"
                return CaseRun(ending=Ending.TIMEOUT, seconds=whole, message=message, **facts)
            case "flood":
                return CaseRun(ending=Ending.LIMIT, seconds=whole, message="it printed without end", **facts)
            case "too_large":
                return CaseRun(
                    ending=Ending.LIMIT, seconds=whole, message="its outputs are too large", **facts
                )
            case "signal":
                name = _signal_name(code)
                message = f"killed by {name} in {facts['phase']}{tail}"
                return CaseRun(ending=Ending.CRASH, seconds=whole, message=message, **facts)
            case "exit" if code != 0 or not frame:
                message = f"the process ended with status {code} in {facts['phase']}, without a result{tail}"
                return CaseRun(ending=Ending.CRASH, seconds=whole, message=message, **facts)
        try:
            header, payload = wire.unpack(frame, most_payload=self.limits.output_bytes)
            if "error" in header:
                message = " ".join(str(header["error"]).split())[:2000]
                return CaseRun(ending=Ending.ERROR, seconds=whole, message=message, **facts)
            outputs = wire.rebuild(header.get("outputs"), payload)
            forward = header.get("seconds")
            # The candidate's process wrote this number; it can't be more than the whole case took.
            seconds = min(float(forward), whole) if isinstance(forward, float) and forward >= 0 else whole
            return CaseRun(ending=Ending.OUTPUTS, seconds=seconds, outputs=outputs, **facts)
        except wire.WireError as error:
            return CaseRun(
                ending=Ending.MALFORMED, seconds=whole, message=f"a forged result: {error}", **facts
            )


class _Broken(Exception):
    """The runner itself fell, or had to be ended."""

    def __init__(self, ending: Ending, message: str) -> None:
        self.ending = ending
        self.message = message
        super().__init__(message)


def _signal_name(number: Any) -> str:
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
