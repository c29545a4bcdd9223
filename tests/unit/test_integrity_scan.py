"""Laws of the integrity scan: it is total, it compares with the baseline, and it says why."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coordinator.integrity import RULES, IntegrityReport, Reason, scan, verdict_of
from schema.texts import shown

CHEATS = Path(__file__).resolve().parents[1] / "cheats"
ADAPTER = "model_new_ascendc.py"


def _base() -> dict[str, str]:
    files: dict[str, str] = {}
    for part in ("\n" + (CHEATS / "base.workspace").read_text()).split("\n=== ")[1:]:
        name, _, content = part.partition("\n")
        files[name] = content + "\n"
    return files


BASE = _base()


def _rules(report: IntegrityReport) -> dict[str, Reason]:
    return {reason.rule: reason for reason in report.reasons}


def test_an_unchanged_workspace_is_clean_against_its_baseline() -> None:
    assert scan(BASE, baseline=BASE).verdict == "CLEAN"


@pytest.mark.parametrize(
    ("path", "rule", "verdict"),
    [
        ("model.py", "reference-changed", "CHEAT"),
        ("Add.jsonl", "cases-changed", "CHEAT"),
        ("operator.toml", "operator-changed", "CHEAT"),
        (ADAPTER, "adapter-changed", "SUSPECT"),
        ("notes.txt", "file-outside-kernel-changed", "SUSPECT"),
    ],
)
def test_a_change_outside_kernel_is_a_reason(path: str, rule: str, verdict: str) -> None:
    changed = {**BASE, path: BASE.get(path, "") + "# changed\n"}
    report = scan(changed, baseline=BASE)
    assert report.verdict == verdict
    assert rule in _rules(report)


def test_a_removed_case_file_is_a_cheat_and_a_kernel_edit_is_not() -> None:
    without = {path: content for path, content in BASE.items() if path != "Add.jsonl"}
    assert "cases-changed" in _rules(scan(without, baseline=BASE))
    edited = {**BASE, "kernel/add.cpp": BASE["kernel/add.cpp"].replace("Muls(y", "Muls (y")}
    assert edited != BASE
    assert scan(edited, baseline=BASE).verdict == "CLEAN"


def test_a_changed_line_is_named() -> None:
    lines = BASE["model.py"].split("\n")
    lines[6] = "        return torch.add(x, y)"
    reason = _rules(scan({**BASE, "model.py": "\n".join(lines)}, baseline=BASE))["reference-changed"]
    assert (reason.line, reason.source_line) == (7, "return torch.add(x, y)")


def test_a_compiled_object_is_no_source() -> None:
    assert "prebuilt-binary" in _rules(scan({**BASE, "kernel/build/_add_ext.so": "\x7fELF"}))


def test_nothing_at_all_is_suspect_with_reasons() -> None:
    report = scan({})
    assert report.verdict == "SUSPECT"
    assert set(_rules(report)) == {"adapter-missing", "kernel-missing"}


@pytest.mark.parametrize(
    "adapter",
    [
        "def (",
        "class ModelNew:\n\tdef forward(self):\n        return 1\n",
        "x = " + "(" * 5000 + ")" * 5000,
        "x = 1" + " + 1" * 20000,
        "x = '\\d'\n",
        "\x00",
        "while True:\n    pass\n" * 3,
        "import _add_ext\nclass ModelNew(ModelNew):\n    def forward(self, x): return self.forward(x)\n",
        "f = lambda: f()\nclass ModelNew:\n    def forward(self, x): return f()\n",
        "class ModelNew:\n    forward = 3\n",
        "class A: pass\nclass ModelNew(A, object):\n    def forward(self, *a, **k):\n        yield from a\n",
    ],
)
def test_a_broken_or_odd_adapter_gets_a_verdict_not_a_crash(adapter: str) -> None:
    report = scan({**BASE, ADAPTER: adapter})
    assert report.verdict in ("SUSPECT", "CHEAT")
    assert report.reasons


def test_deeply_nested_kernel_sources_get_a_verdict() -> None:
    deep = (
        BASE["kernel/pybind11.cpp"]
        .replace("double scale", "")
        .replace("    return z;", "    int64_t d = " + "(" * 3000 + "1" + ")" * 3000 + ";\n    return z;")
    )
    assert scan({**BASE, "kernel/pybind11.cpp": deep}).verdict in ("SUSPECT", "CHEAT", "CLEAN")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_the_scan_is_total_on_damaged_workspaces(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from([ADAPTER, "kernel/pybind11.cpp", "kernel/add.cpp", "model.py"]))
    text = BASE[path]
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 60)))
    inserted = data.draw(st.text(alphabet="(){}<>[]\"'\\#;:,.*&=\n\t xé\x00/", max_size=12))
    report = scan({**BASE, path: text[:start] + inserted + text[end:]})
    assert report.verdict == verdict_of(report.reasons)
    for reason in report.reasons:
        assert reason.rule in RULES
        lines = {**BASE, path: text[:start] + inserted + text[end:]}.get(reason.file, "").split("\n")
        if reason.line:
            assert reason.source_line == shown(lines[reason.line - 1].strip())[:240]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(blank=st.integers(0, 12), comment=st.text(alphabet="abc torch.add(x, y) @+", max_size=30))
def test_blank_lines_and_comments_change_only_line_numbers(blank: int, comment: str) -> None:
    cheat = BASE[ADAPTER].replace("return _ext.run_add(x, y, alpha)", "return _ext.run_add(x, y, alpha) * 2")
    shifted = "\n" * blank + "# " + comment.replace("\n", " ") + "\n" + cheat
    before, after = scan({**BASE, ADAPTER: cheat}), scan({**BASE, ADAPTER: shifted})
    moved = [(r.rule, r.line + blank + 1, r.source_line) for r in before.reasons]
    assert [(r.rule, r.line, r.source_line) for r in after.reasons] == moved
    assert after.verdict == "CHEAT"


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(name=st.from_regex(r"[a-z][a-z0-9]{1,8}_q", fullmatch=True))
def test_names_do_not_matter(name: str) -> None:
    renamed = {
        path: content.replace("run_add", f"run_{name}").replace("_add_ext", f"_{name}_ext")
        for path, content in BASE.items()
    }
    report = scan(renamed)
    assert (report.verdict, report.reasons) == ("CLEAN", ())
    assert len(report.path) == 6


def test_every_rule_is_kebab_case_and_explained() -> None:
    for name, rule in RULES.items():
        assert name == name.lower()
        assert " " not in name
        assert "_" not in name
        assert rule.summary
