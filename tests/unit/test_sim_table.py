"""The simulator's table of names agrees with its headers, its tests and docs/simulator.md."""

from dataclasses import replace
from pathlib import Path

import pytest

from npu_worker.sim import table
from npu_worker.sim.table import Entry, State
from schema.errors import BadInput


def test_every_name_has_a_line_whose_state_and_evidence_hold() -> None:
    assert not list(table.faults(table.read()))


def test_the_document_is_what_the_data_say() -> None:
    text = table.DOCUMENT.read_text("utf-8")
    assert table.markdown(table.read()) in text, "run: python -m npu_worker.sim.table --write"


def test_what_kernels_call_is_there() -> None:
    for one in table.coverage(table.read()):
        assert one.share >= one.wanted, one


def test_nothing_is_exact_without_a_proof() -> None:
    exact = [one for one in table.read() if one.state is State.EXACT]
    assert len(exact) >= 150
    assert not [one.name for one in exact if not table.proven(one)]
    for one in exact:
        assert one.evidence in {proof.test for proof in table.proofs_of(one.name)}, one


def test_a_claim_without_a_proof_and_a_proof_without_its_claim_are_faults() -> None:
    entries = {one.name: one for one in table.read() if one.kind == "functions"}
    claimed = replace(entries["Exp"], state=State.EXACT, note="")
    found = [line for line in table.faults((claimed,)) if line.startswith("functions.Exp is")]
    assert found == [
        "functions.Exp is exact, and no test proves it: mark one by @proves, or call it approximated"
    ]
    modest = replace(entries["Add"], state=State.APPROXIMATED, note=table.UNPROVEN, evidence="")
    assert any(line.startswith("functions.Add is approximated, and ") for line in table.faults((modest,)))
    assert {"Add", "Select", "WholeReduceSum", "Gather"} <= table.masked()
    assert not {"DataCopy", "SyncAll"} & table.masked()


def test_a_proof_of_a_form_is_none_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    add = next(one for one in table.read() if one.name == "Add")
    counted = table.Proof(test="t.py::t", kernel="k.cpp", names=("Add",), forms=frozenset({"count"}))
    monkeypatch.setattr(table, "proofs", lambda: (counted,))
    assert not table.proven(add)
    monkeypatch.setattr(table, "proofs", lambda: (counted, replace(counted, forms=frozenset({"mask"}))))
    assert table.proven(add)


def test_a_word_in_a_header_is_no_call() -> None:
    assert table.there("functions", "Add")
    assert table.there("functions", "FusedMulAdd")
    # a number of an enumeration, and what sizes for the host are named after
    assert "Subs" in table.header_words()
    assert not table.there("functions", "Subs")
    assert not table.there("functions", "Rint")


def test_a_proof_names_a_kernel_that_calls_what_it_proves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = table.Proof(test="t.py::t", kernel="sim/cast.cpp", names=("Hccl", "Nobody"), forms=frozenset())
    monkeypatch.setattr(table, "proofs", lambda: (wrong,))
    found = list(table.faults(table.read()))
    assert "t.py::t proves Hccl, which kernels/sim/cast.cpp does not call" in found
    assert "t.py::t proves Nobody, which is no name of the interface" in found


def test_faults_are_found() -> None:
    entries = table.read()
    add = next(one for one in entries if one.name == "Add")
    lacking = next(one for one in entries if one.name == "Hccl")
    rest = tuple(one for one in entries if one.name not in ("Add", "Hccl"))
    assert "functions.Add has no line in api.toml" in list(table.faults((*rest, lacking)))
    claimed = replace(lacking, state=State.EXACT)
    assert "types.Hccl is exact, and no header has it" in list(table.faults((*rest, add, claimed)))
    elsewhere = replace(add, evidence="kernels/sim/nowhere.cpp")
    assert len(list(table.faults((*rest, elsewhere, lacking)))) == 1
    stale = replace(add, state=State.UNSUPPORTED)
    assert list(table.gained((*rest, stale, lacking)))


def test_taking_up_demotes_what_no_test_shows_and_keeps_the_rest() -> None:
    entries = table.taken_up(table.read())
    assert entries == table.taken_up(entries)
    bare = Entry(kind="functions", name="Add", state=State.UNSUPPORTED)
    taken = next(one for one in table.taken_up((bare,)) if one.name == "Add")
    assert taken.state is State.EXACT
    assert "::" in taken.evidence
    boast = Entry(kind="functions", name="Exp", state=State.EXACT)
    taken = next(one for one in table.taken_up((boast,)) if one.name == "Exp")
    assert (taken.state, taken.note) == (State.APPROXIMATED, table.UNPROVEN)


def test_the_data_are_written_as_they_are_read(tmp_path: Path) -> None:
    copy = tmp_path / "api.toml"
    copy.write_text(table.toml(table.read()))
    assert copy.read_text() == table.API.read_text()
    assert table.read(copy) == table.read()


@pytest.mark.parametrize("line", ['Add = "exact"', 'Add = ["perfect"]', "Add = []", 'Add = ["exact", 1]'])
def test_a_line_that_is_no_entry_says_so(tmp_path: Path, line: str) -> None:
    path = tmp_path / "api.toml"
    path.write_text(f"[functions]\n{line}\n")
    with pytest.raises(BadInput, match=r"functions\.Add is no entry"):
        table.read(path)
