"""Renamed files: their lines are moves, and every line stays in exactly one operation."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from schema.diff import Change
from schema.renames import align_files, renamed

BODY = [f"    step_{number}(value);\n" for number in range(8)]
SMALL = ["{\n", "}\n", "\n", "x\n"]

LINES = st.lists(st.sampled_from([*BODY, *SMALL]), max_size=8)
FILES = st.dictionaries(st.sampled_from(["a.cpp", "b.cpp", "c/a.cpp", "d"]), LINES, max_size=4)


def changes(old: dict[str, list[str]], new: dict[str, list[str]]) -> list[tuple[str, str | None, str | None]]:
    return [
        (
            operation.change.value,
            operation.old and f"{operation.old.path}:{operation.old.index}",
            operation.new and f"{operation.new.path}:{operation.new.index}",
        )
        for operation in align_files(old, new)
    ]


def test_all_lines_of_a_renamed_file_are_moves_however_small() -> None:
    assert changes({"a": SMALL, "z": []}, {"b": SMALL}) == [
        ("moved", f"a:{index}", f"b:{index}") for index in range(4)
    ]


def test_an_edited_line_of_a_renamed_file_is_modified() -> None:
    edited = [*BODY[:3], "    step_3(other_value);\n", *BODY[4:]]
    found = changes({"a": BODY}, {"b": edited})
    assert found[3] == ("modified", "a:3", "b:3")
    assert {change for change, _, _ in [*found[:3], *found[4:]]} == {"moved"}


def test_the_most_alike_file_is_the_one_that_was_renamed() -> None:
    assert renamed({"a": BODY, "b": BODY[:5]}, {"c": BODY, "d": BODY[:5]}) == {"c": "a", "d": "b"}
    # Equally alike: the one that kept its name.
    assert renamed({"x/a": BODY, "x/b": BODY}, {"y/b": BODY, "y/a": BODY}) == {"y/a": "x/a", "y/b": "x/b"}


def test_files_with_less_than_half_in_common_are_no_pair() -> None:
    assert renamed({"a": BODY}, {"b": [*BODY[:3], *(line.upper() for line in BODY)]}) == {}
    assert renamed({"a": BODY, "b": BODY}, {"a": BODY, "b": BODY}) == {}
    assert renamed({"a": []}, {"b": []}) == {}


def test_a_copy_is_no_rename() -> None:
    assert renamed({"a": BODY}, {"a": BODY, "b": BODY}) == {}


def test_a_rename_over_a_file_that_was_empty() -> None:
    assert renamed({"a": BODY, "b": []}, {"b": BODY}) == {"b": "a"}


@given(FILES, FILES)
def test_every_line_has_one_fate_whatever_was_renamed(
    old: dict[str, list[str]], new: dict[str, list[str]]
) -> None:
    operations = align_files(old, new)
    gone = Counter((o.old.path, o.old.index) for o in operations if o.old)
    come = Counter((o.new.path, o.new.index) for o in operations if o.new)
    assert gone == Counter((path, index) for path, lines in old.items() for index in range(len(lines)))
    assert come == Counter((path, index) for path, lines in new.items() for index in range(len(lines)))
    for operation in operations:
        if operation.change is Change.EQUAL:
            assert operation.old
            assert operation.new
            assert operation.old.path == operation.new.path
        if operation.change in (Change.EQUAL, Change.MOVED):
            assert operation.old
            assert operation.new
            one = old[operation.old.path][operation.old.index]
            assert one.strip() == new[operation.new.path][operation.new.index].strip()
