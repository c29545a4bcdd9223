"""What a candidate, and a compiler that reads a candidate's sources, may use up."""

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True, kw_only=True)
class SandboxLimits:
    """Limits of one sandboxed command and everything it starts.

    Attributes:
        wall_seconds: the whole process tree is killed after it.
        cpu_seconds: CPU time of one process (RLIMIT_CPU); None leaves it to the wall clock.
        memory_bytes: resident memory of the whole tree, watched from outside.
        address_bytes: address space of one process (RLIMIT_AS). torch alone maps about 650 MiB.
        tasks: processes and threads of the tree, watched from outside: RLIMIT_NPROC binds no root user.
        open_files: descriptors of one process.
        file_bytes: size of one written file.
        scratch_bytes: size of the private /tmp.
        output_bytes: standard output and error together; a flood beyond it ends the command.
    """

    wall_seconds: float = 60.0
    cpu_seconds: int | None = None
    memory_bytes: int = 4096 * MIB
    address_bytes: int = 16_384 * MIB
    tasks: int = 64
    open_files: int = 256
    file_bytes: int = 512 * MIB
    scratch_bytes: int = 512 * MIB
    output_bytes: int = 8 * MIB


@dataclass(frozen=True, kw_only=True)
class ValidationLimits:
    """Limits of one validation.

    Attributes:
        case_seconds: one case of the candidate: import, construction and forward.
        total_seconds: the whole validation; what is left then ends as timeout.
        start_seconds: until the runner has imported torch.
        memory_bytes: what one case may allocate on top of torch itself.
        output_bytes: all outputs of one case.
        printed_bytes: what one case may print before it counts as a flood.
        timeouts: cases that may run out of time before the remaining ones are not tried any more.
    """

    case_seconds: float = 30.0
    total_seconds: float = 300.0
    start_seconds: float = 120.0
    memory_bytes: int = 2048 * MIB
    output_bytes: int = 1024 * MIB
    printed_bytes: int = 4 * MIB
    timeouts: int = 3


COMPILE = SandboxLimits(wall_seconds=400.0, tasks=64, file_bytes=512 * MIB)
"""For a compiler on hostile sources (templates can ask for any amount of memory)."""
