"""The executable path: ModelNew.forward → extension function → binding → host functions → launch → kernel.

Source: papers/debug-agent.txt S2.3, criterion 1. A link that is missing is a reason.
"""

from collections.abc import Sequence

from coordinator.integrity import cpp_values as values
from coordinator.integrity.adapter_scan import ADAPTER, AdapterTrace
from coordinator.integrity.cpp_source import CppFunction, walk
from coordinator.integrity.host_walk import Launch, Unit
from coordinator.integrity.kernel_scan import Binding, KernelScan
from coordinator.integrity.report import Findings, PathStep


def trace_path(adapter: AdapterTrace, kernel: KernelScan, findings: Findings) -> tuple[PathStep, ...]:
    """Follow the path and record every missing link.

    Args:
        adapter: what the adapter scan found.
        kernel: the judged kernel scan.
        findings: takes the reasons.
    """
    steps: list[PathStep] = []
    if adapter.entry is not None:
        file, line = adapter.entry
        steps.append(PathStep(kind="adapter", name="ModelNew.forward", file=file, line=line))
    if not kernel.sources:
        return tuple(steps)
    tracer = _Tracer(kernel=kernel, findings=findings, steps=steps)
    if not any(unit.launches for unit in kernel.walk.units.values()):
        first = kernel.bindings[0] if kernel.bindings else None
        findings.add(
            "no-launch",
            file=first.file if first else kernel.sources[0].path,
            line=first.line if first else 0,
            message="no launch of a kernel was found in the sources",
        )
        return tuple(steps)
    for name, file, line in adapter.calls:
        steps.append(PathStep(kind="call", name=name, file=file, line=line))
        bindings = [
            one
            for one in kernel.bindings
            if name in (one.name, "*", "jit") or one.operator.endswith(f".{name}")
        ]
        bindings = [one for one in bindings if one.functions] or bindings
        if not bindings:
            findings.add(
                "binding-missing",
                file=file,
                line=line,
                message=f"no m.def registers {name} in the kernel sources",
            )
            continue
        for binding in bindings:
            tracer.follow(binding)
    return tuple(dict.fromkeys(steps))


class _Tracer:
    def __init__(self, *, kernel: KernelScan, findings: Findings, steps: list[PathStep]) -> None:
        self.kernel = kernel
        self.findings = findings
        self.steps = steps

    def follow(self, binding: Binding) -> None:
        """Follow one registered function down to its kernels."""
        self.steps.append(PathStep(kind="binding", name=binding.name, file=binding.file, line=binding.line))
        functions = [one for name in binding.functions for one in self.kernel.functions.get(name, ())]
        if not functions:
            self.findings.add(
                "binding-missing",
                file=binding.file,
                line=binding.line,
                message=f"the function behind {binding.name} is not defined in the kernel sources",
            )
            return
        launches: list[Launch] = []
        for function in functions:
            launches += self._host(function, set())
        if not launches:
            self.findings.add(
                "launch-unreachable",
                file=functions[0].source.path,
                line=functions[0].line,
                message=f"{functions[0].name} reaches no kernel launch",
            )
            return
        for function in functions:
            self._check_returned(self.kernel.walk.unit_of(function), launches)

    def _host(self, function: CppFunction, seen: set[int]) -> list[Launch]:
        if id(function) in seen:
            return []
        seen.add(id(function))
        unit = self.kernel.walk.unit_of(function)
        position = len(self.steps)
        launches = list(unit.launches.values())
        for launch in launches:
            self._kernels(launch)
        for name in unit.calls:
            for callee in self.kernel.functions.get(name, ()):
                launches += self._host(callee, seen)
        if launches:
            kind = "launcher" if unit.launches else "host"
            self.steps.insert(
                position,
                PathStep(kind=kind, name=function.name, file=function.source.path, line=function.line),
            )
        return launches

    def _kernels(self, launch: Launch) -> None:
        for name in launch.kernels:
            if name == "*":
                for kernel in self.kernel.kernels.values():
                    self._kernel(kernel)
                continue
            found = self.kernel.kernels.get(name)
            if found is None:
                self.findings.add(
                    "kernel-undefined",
                    file=launch.file,
                    line=launch.line,
                    message=f"the launched kernel {name} is not defined in the workspace",
                )
                continue
            self._kernel(found)

    def _kernel(self, kernel: CppFunction) -> None:
        self.steps.append(
            PathStep(kind="kernel", name=kernel.name, file=kernel.source.path, line=kernel.line)
        )
        working = {"call_expression", "assignment_expression", "update_expression"}
        if not any(node.type in working for node in walk(kernel.body)):
            self.findings.add(
                "empty-kernel",
                file=kernel.source.path,
                line=kernel.line,
                message=f"kernel {kernel.name} does nothing",
            )

    def _check_returned(self, unit: Unit, launches: Sequence[Launch]) -> None:
        launched = frozenset().union(*(launch.origins for launch in launches))
        given = [value for value in unit.parameters.values() if value.tensor]
        tensors = [(value, line) for value, line, empty in unit.returned if value.tensor and not empty]
        file = unit.function.source.path
        for value, line in tensors:
            if values.STATIC in value.marks:
                self.findings.add(
                    "result-cache", file=file, line=line, message="a tensor kept between calls is returned"
                )
            if value.origins and not value.origins & launched:
                self.findings.add(
                    "launch-output-unused",
                    file=file,
                    line=line,
                    message="what is returned was never given to a kernel",
                )
            elif not value.origins and values.COMPUTED not in value.marks:
                self.findings.add(
                    "launch-output-unused",
                    file=file,
                    line=line,
                    message="the scan can't see that a kernel wrote what is returned",
                    level="suspect",
                )
            elif len(value.origins - launched) > 0 and value.origins & launched:
                self.findings.add(
                    "output-not-from-extension",
                    file=file,
                    line=line,
                    message="one of the returned tensors was never given to a kernel",
                )
        if not tensors and given and not any(value.origins & launched for value in given):
            self.findings.add(
                "launch-output-unused",
                file=file,
                line=unit.function.line,
                message="nothing is returned, and no tensor of the caller is given to a kernel",
            )


__all__ = ["ADAPTER", "trace_path"]
