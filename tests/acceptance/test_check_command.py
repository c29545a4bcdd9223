"""`opmend check` and `opmend integrity`: one workspace, no queue, no store."""

from pathlib import Path

import pytest

from tests.support.command import Opmend
from tests.support.operators import lay_out

pytestmark = pytest.mark.timeout(600)

KEYS = {"outcome", "failure_type", "match_rate", "cases", "findings", "forensics", "verdict", "reasons"} | {
    "coverage",
    "timings",
}


def test_a_right_kernel_holds(opmend: Opmend, tmp_path: Path) -> None:
    done = opmend("check", str(lay_out(tmp_path, "RightAdd")), "--json", "--cases", "full")
    assert done.code == 0, done
    found = done.json()
    assert set(found) >= KEYS
    assert (found["outcome"], found["failure_type"], found["verdict"]) == ("passed", "success", "CLEAN")
    assert (found["match_rate"], found["coverage"]) == (1.0, 1.0)
    assert [case["status"] for case in found["cases"]] == ["passed"] * 12
    assert not found["findings"]
    assert {"compile", "total"} <= set(found["timings"])


def test_a_near_miss_does_not_hold_and_forensics_say_why(opmend: Opmend, tmp_path: Path) -> None:
    place = lay_out(tmp_path, "TailAdd")
    done = opmend("check", str(place), "--json")
    assert done.code == 1, done
    found = done.json()
    assert set(found) >= KEYS
    assert (found["outcome"], found["failure_type"]) == ("failed", "precision_failed")
    assert found["match_rate"] == 0.6
    assert len(found["cases"]) == 10
    assert found["forensics"]["hint"] == "tail_spike"
    broken = next(case for case in found["cases"] if case["status"] == "mismatch")
    assert broken["deviations"][0]["mismatched"] > 0
    finding = found["findings"][0]
    line = (place / finding["file"]).read_text().splitlines()[finding["line"] - 1]
    assert "DataCopy(outGm[start]" in line


def test_kernels_that_do_not_run(opmend: Opmend, tmp_path: Path) -> None:
    # The run of all variants has the others: tests/acceptance/test_first_light.py.
    places = [str(lay_out(tmp_path, variant)) for variant in ("BrokenAdd", "EndlessAdd")]
    broken, endless = opmend.together(*(["check", place] for place in places))
    assert (broken.code, endless.code) == (1, 1)
    assert not broken.err + endless.err
    assert "failed: build_failed" in broken.out
    assert "kernel/tiny_add.h:51" in broken.out
    assert "failed: timeout" in endless.out
    assert "no end after" in " ".join(endless.out.split())


def test_an_operator_project_holds(opmend: Opmend, tmp_path: Path) -> None:
    samples = Path(__file__).resolve().parents[1] / "cheats"
    for sample in (samples / "base.workspace", samples / "clean" / "cpp-op-project.workspace"):
        for part in ("\n" + sample.read_text()).split("\n=== ")[1:]:
            path, _, text = part.partition("\n")
            place = tmp_path / "Add" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(f"{text}\n")
    done = opmend("check", str(tmp_path / "Add"), "--json", "--cases", "full")
    assert done.code == 0, done
    found = done.json()
    assert (found["outcome"], found["verdict"], found["match_rate"]) == ("passed", "CLEAN", 1.0)
    assert not found["findings"]


def test_integrity_alone(opmend: Opmend, tmp_path: Path) -> None:
    right, cheat = lay_out(tmp_path, "RightAdd"), lay_out(tmp_path, "CheatAdd")
    done = opmend("integrity", str(right), "--json")
    assert done.code == 0, done
    assert set(done.json()) >= {"verdict", "reasons", "path"}
    assert done.json()["verdict"] == "CLEAN"
    done = opmend("integrity", str(cheat), "--json")
    assert done.code == 1, done
    assert done.json()["verdict"] == "CHEAT"
    places = {(reason["file"], reason["line"]) for reason in done.json()["reasons"]}
    assert ("model_new_ascendc.py", 11) in places
    done = opmend("integrity", str(cheat))
    assert done.code == 1
    assert "CHEAT" in done.out
    assert "model_new_ascendc.py:11" in done.out
    assert opmend("integrity", str(cheat), "--baseline", str(right)).code == 1


def test_check_leaves_no_process(opmend: Opmend, tmp_path: Path) -> None:
    alone = Opmend(tmp_path / "h", tmp_path)
    done = alone("check", str(lay_out(tmp_path, "BrokenAdd")))
    assert done.code == 1
    assert not alone.processes()
