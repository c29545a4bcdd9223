"""A spine tells what is between its pairs as a look at every line would."""

from hypothesis import given
from hypothesis import strategies as st

from schema.matching import equal_runs
from schema.pairing import Pairing, Stretch

_LINES = st.lists(st.sampled_from(["alpha = 1;\n", "beta();\n", "}\n", "\n"]), max_size=30)


def _by_every_line(pairing: Pairing, *, equal: bool) -> list[Stretch]:
    spine = pairing.spines["f"]
    found = []
    one = other = 0
    for index, partner in [*enumerate(spine.olds), (len(spine.olds), len(spine.news))]:
        if partner < 0 or (equal and index in spine.changed):
            continue
        if partner > one or index > other:
            found.append(Stretch(path="f", old=range(one, partner), new=range(other, index)))
        one, other = partner + 1, index + 1
    return found


@given(old=_LINES, new=_LINES, data=st.data())
def test_the_stretches_of_a_spine_that_changes(old: list[str], new: list[str], data: st.DataObject) -> None:
    pairing = Pairing({"f": old}, {"f": new})
    spine = pairing.spines["f"]
    runs = equal_runs(old, new)
    spine.pair_runs(runs)
    spine.part_runs([run for run in runs if run[2] == 1])
    for _ in range(6):
        paired = [index for index, one in enumerate(spine.olds) if one >= 0]
        if paired and data.draw(st.booleans()):
            index = data.draw(st.sampled_from(paired))
            spine.part(spine.olds[index], index)
        for stretch in pairing.stretches("f", equal=False):
            if stretch.old and stretch.new and data.draw(st.booleans()):
                spine.pair(stretch.old[0], stretch.new[-1], equal=old[stretch.old[0]] == new[stretch.new[-1]])
        pairing.loosen(("f", data.draw(st.integers(0, 30))), ("f", data.draw(st.integers(0, 30))))
        for equal in (False, True):
            assert pairing.stretches("f", equal=equal) == _by_every_line(pairing, equal=equal)


@given(old=_LINES, new=_LINES)
def test_counts_are_those_of_both_files(old: list[str], new: list[str]) -> None:
    pairing = Pairing({"f": old}, {"f": new})
    pairing.spines["f"].pair_runs(equal_runs(old, new))
    before, after = pairing.counts("f")
    for line in {*old, *new, "nowhere\n"}:
        assert (before[line], after[line]) == (old.count(line), new.count(line))
