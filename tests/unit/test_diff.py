"""The diff: what became of each line."""

import random
import time
from collections import Counter
from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from schema.diff import Change, Operation, Place, align, difference, split_lines


def changes(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[Operation, ...]:
    return align(
        {path: split_lines(text) for path, text in old.items()},
        {path: split_lines(text) for path, text in new.items()},
    )


def brief(operations: tuple[Operation, ...]) -> list[tuple[str, int | None, int | None]]:
    return [
        (
            str(operation.change),
            operation.old.index if operation.old else None,
            operation.new.index if operation.new else None,
        )
        for operation in operations
        if operation.change is not Change.EQUAL
    ]


def put_together(
    operations: tuple[Operation, ...], old: Mapping[str, list[str]], new: Mapping[str, list[str]]
) -> dict[str, list[str]]:
    """The new files, from the old ones by the operations: only lines that are not equal are read from the new ones."""
    files: dict[str, list[str]] = {path: [] for path in new}
    for operation in operations:
        if operation.new is None:
            continue
        assert operation.new.index == len(files[operation.new.path])
        if operation.change is Change.EQUAL:
            assert operation.old is not None
            line = old[operation.old.path][operation.old.index]
        else:
            line = new[operation.new.path][operation.new.index]
        files[operation.new.path].append(line)
    return files


TEXTS = st.text(alphabet="ab{} \n\r\f\u2028\ud7ff", max_size=60)


@given(TEXTS)
def test_lines_split_at_newline_only_and_join_back(text: str) -> None:
    lines = split_lines(text)
    assert "".join(lines) == text
    assert all(line and "\n" not in line[:-1] for line in lines)


def test_form_feed_and_line_separator_end_no_line() -> None:
    assert split_lines("a\fb\u2028c\r\nd") == ["a\fb\u2028c\r\n", "d"]


@settings(deadline=None)
@given(
    st.dictionaries(st.sampled_from("xyz"), TEXTS, max_size=3),
    st.dictionaries(st.sampled_from("xyz"), TEXTS, max_size=3),
)
def test_every_line_has_one_fate(old: dict[str, str], new: dict[str, str]) -> None:
    operations = changes(old, new)
    before = {path: split_lines(text) for path, text in old.items()}
    after = {path: split_lines(text) for path, text in new.items()}
    places = [(path, index) for path, lines in before.items() for index in range(len(lines))]
    assert Counter((o.old.path, o.old.index) for o in operations if o.old) == Counter(places)
    places = [(path, index) for path, lines in after.items() for index in range(len(lines))]
    assert Counter((o.new.path, o.new.index) for o in operations if o.new) == Counter(places)
    assert put_together(operations, before, after) == after
    kept: dict[str, int] = {}
    for operation in operations:
        match operation:
            case Operation(change=Change.EQUAL, old=Place() as one, new=Place() as other):
                assert one.path == other.path
                assert before[one.path][one.index] == after[other.path][other.index]
                # Kept keys must stay in order, or the file would be put together wrongly.
                assert kept.get(one.path, -1) < one.index
                kept[one.path] = one.index
            case Operation(change=Change.INSERTED):
                assert operation.old is None
            case Operation(change=Change.DELETED):
                assert operation.new is None
            case Operation(change=Change.MODIFIED | Change.MOVED):
                assert operation.old is not None
                assert operation.new is not None


@settings(deadline=None)
@given(
    st.dictionaries(st.sampled_from("xyz"), TEXTS, max_size=3),
    st.dictionaries(st.sampled_from("xyz"), TEXTS, max_size=3),
)
def test_the_stretches_are_what_is_not_equal(old: dict[str, str], new: dict[str, str]) -> None:
    before = {path: split_lines(text) for path, text in old.items()}
    after = {path: split_lines(text) for path, text in new.items()}
    found = difference(before, after)
    assert all(operation.change is not Change.EQUAL for operation in found.operations)
    for path, lines in after.items():
        one = other = 0
        for stretch in found.stretches[path]:
            gap = stretch.new.start - other
            assert before.get(path, [])[one : one + gap] == lines[other : other + gap]
            assert stretch.old.start == one + gap
            one, other = stretch.old.stop, stretch.new.stop
        assert before.get(path, [])[one:] == lines[other:]


FUNCTION_NAMES = st.permutations(range(7))


@settings(deadline=None)
@given(FUNCTION_NAMES, st.sampled_from([0, 1, 2]), st.booleans())
def test_functions_in_another_order_are_all_moves(order: list[int], blanks: int, python: bool) -> None:
    """Whatever stands between them: no brace and no blank line is left over."""

    def function(number: int) -> list[str]:
        if python:
            body = [f"def compute_number_{number}(values):\n", f"    total = weights_{number}(values)\n"]
            body += [
                "    for value in values:\n",
                f"        total += value * {number}\n",
                "    return total\n",
            ]
        else:
            body = [f"void compute_number_{number}(float* values)\n", "{\n"]
            body += [f"    total = weights_{number}(values);\n", "    if (total) {\n", "        return;\n"]
            body += ["    }\n", "}\n"]
        return body + ["\n"] * blanks

    old = [line for number in range(7) for line in function(number)]
    new = [line for number in order for line in function(number)]
    operations = align({"f": old}, {"f": new})
    assert {operation.change for operation in operations} <= {Change.EQUAL, Change.MOVED}
    assert len(operations) == len(new)


@given(TEXTS)
def test_same_text_is_equal(text: str) -> None:
    assert all(operation.change is Change.EQUAL for operation in changes({"a": text}, {"a": text}))


def test_a_missing_last_terminator_is_a_modification() -> None:
    assert brief(changes({"a": "one\ntwo\n"}, {"a": "one\ntwo"})) == [("modified", 1, 1)]


def test_one_insertion_into_a_repetitive_file_is_one_insertion() -> None:
    """difflib's junk heuristic re-keys every line here."""
    lines = ["a\n", "b\n"] * 100
    operations = align({"f": lines}, {"f": [*lines[:77], "new line\n", *lines[77:]]})
    assert brief(operations) == [("inserted", None, 77)]


def test_similar_lines_are_paired_inside_an_unequal_replacement() -> None:
    old = "head();\nDataCopy(local, global[offset], length);\nfree(local);\ntail();\n"
    new = (
        "head();\n// pad the tail of the last block\nuint32_t blocks = 1;\n"
        "DataCopyPad(local, global[offset], params);\nfree(local, blocks);\ntail();\n"
    )
    assert brief(changes({"a": old}, {"a": new})) == [
        ("inserted", None, 1),
        ("inserted", None, 2),
        ("modified", 1, 3),
        ("modified", 2, 4),
    ]


def test_an_equal_replacement_pairs_in_place_even_unlike_lines() -> None:
    assert brief(changes({"a": "x\nfoo(1)\ny\n"}, {"a": "x\n~~~\ny\n"})) == [("modified", 1, 1)]


def test_indentation_alone_is_a_modification_in_place() -> None:
    old = "f() {\nfirst_statement_here(alpha);\nsecond_statement_here(beta);\n}\n"
    new = "f() {\n    first_statement_here(alpha);\n    second_statement_here(beta);\n}\n"
    assert brief(changes({"a": old}, {"a": new})) == [("modified", 1, 1), ("modified", 2, 2)]


BLOCK = "for (int i = 0; i < n; ++i) {\n    total += weights[i] * values[i];\n}\n"


def test_a_block_moves_within_a_file() -> None:
    keep = "".join(f"statement_number_{number}();\n" for number in range(8))
    assert brief(changes({"a": BLOCK + keep}, {"a": keep + BLOCK})) == [
        ("moved", 0, 8),
        ("moved", 1, 9),
        ("moved", 2, 10),
    ]


def test_a_block_moves_across_files_and_a_renamed_file_moves_whole() -> None:
    operations = changes({"a": "x\n" + BLOCK, "b": "y\n"}, {"a": "x\n", "b": "y\n" + BLOCK})
    moved = [o for o in operations if o.change is Change.MOVED]
    assert [(o.old, o.new) for o in moved] == [
        (Place(path="a", index=1 + n), Place(path="b", index=1 + n)) for n in range(3)
    ]
    renamed = changes({"old.cpp": BLOCK * 3}, {"new.cpp": BLOCK * 3})
    assert [str(o.change) for o in renamed] == ["moved"] * 9


def test_edited_lines_of_a_moved_function_are_modified_from_where_they_were() -> None:
    """Modified tells more than moved, and that the line moved shows in its places."""
    body = [
        "static inline float reduce_rows(const float* rows, int count)\n",
        "{\n",
        "    float total = 0.0f;\n",
        "    for (int row = 0; row < count; ++row) {\n",
        "        total += rows[row];\n",
        "    }\n",
        "    return total / count;\n",
        "}\n",
    ]
    keep = [f"keep_{number}(this_line);\n" for number in range(6)]
    edited = [line.replace("total += rows[row]", "total += rows[row] * scale") for line in body]
    operations = align({"a.cpp": [*keep, *body], "b.h": ["x\n"]}, {"a.cpp": keep, "b.h": ["x\n", *edited]})
    fates = [
        (str(o.change), o.old and (o.old.path, o.old.index))
        for o in operations
        if o.new and o.new.path == "b.h"
    ]
    assert fates[0] == ("equal", ("b.h", 0))
    assert fates[1:] == [("modified" if index == 4 else "moved", ("a.cpp", 6 + index)) for index in range(8)]
    assert not [o for o in operations if o.change is Change.DELETED]


def test_a_block_indented_under_a_new_condition_stays_in_place() -> None:
    block = [
        "    first(alpha);\n",
        "\n",
        "    {\n",
        "        second(beta);\n",
        "    }\n",
        "    first(alpha);\n",
    ]
    # The same block is there again: it must not be taken for the origin.
    old = ["void f()\n", *block, "void g()\n", *block, "end();\n"]
    wrapped = ["    if (ready) {\n", *("    " + line if line.strip() else line for line in block), "    }\n"]
    new = ["void f()\n", *block, "void g()\n", *wrapped, "end();\n"]
    found = {
        o.new.index: (str(o.change), o.old and o.old.index) for o in align({"f": old}, {"f": new}) if o.new
    }
    assert [found[index] for index in range(8)] == [("equal", index) for index in range(8)]
    assert found[8] == ("inserted", None)
    assert [found[9 + index][1] for index in range(6)] == [8 + index for index in range(6)]
    assert found[15] == ("inserted", None)


def test_a_common_line_that_goes_here_and_comes_there_did_not_move() -> None:
    common = "    PipeBarrier<PIPE_ALL>(everything);\n"
    rest = [f"    step_{number}(local);\n" for number in range(12)]
    old = [*rest[:2], common, *rest[2:6], common, *rest[6:]]
    new = [*rest[:2], common, *rest[2:6], *rest[6:9], common, *rest[9:]]
    assert [fate for fate, _, _ in brief(align({"f": old}, {"f": new}))] == ["inserted", "deleted"]
    # A block of common lines is rare, and moves.
    pair = [common, "    offset += tileLength + blockLength;\n"]
    old = [*rest[:2], *pair, *rest[2:], pair[1], pair[0]]
    new = [*rest[:2], *rest[2:9], *pair, *rest[9:], pair[1], pair[0]]
    assert {fate for fate, _, _ in brief(align({"f": old}, {"f": new}))} == {"moved"}


def test_a_brace_that_both_sides_have_joins_nothing() -> None:
    """Two functions change places: their braces at the same height did not stay."""

    def body(name: str) -> list[str]:
        lines = [
            f"void {name}_function(int value)\n",
            "{\n",
            f"    prepare_{name}(value);\n",
            "    }\n",
            "\n",
        ]
        return [*lines, f"    finish_{name}(value, value);\n", f"    release_{name}(value);\n", "}\n", "\n"]

    middle = [f"middle_{number}(part);\n" for number in range(30)]
    operations = align(
        {"f": [*body("first"), *middle, *body("second")]}, {"f": [*body("second"), *middle, *body("first")]}
    )
    assert {str(o.change) for o in operations} == {"equal", "moved"}
    moved = [o for o in operations if o.change is Change.MOVED and o.old and o.new]
    assert all(abs(o.old.index - o.new.index) == 39 for o in moved if o.old and o.new)


def test_a_small_block_does_not_move() -> None:
    operations = changes(
        {"a": "int i;\nbody_of_the_function();\n"}, {"a": "body_of_the_function();\nint i;\n"}
    )
    assert brief(operations) == [("inserted", None, 1), ("deleted", 0, None)]


def test_merged_and_split_lines_know_all_their_parents() -> None:
    apart = "head();\ncompute_first(alpha);\ncompute_second(beta);\ntail();\n"
    joined = "head();\ncompute_first(alpha); compute_second(beta);\ntail();\n"
    (merged,) = [o for o in changes({"a": apart}, {"a": joined}) if o.merged]
    assert merged.new == Place(path="a", index=1)
    parents = {place.index for place in (*merged.merged, *([merged.old] if merged.old else []))}
    assert parents == {1, 2}
    (split,) = [o for o in changes({"a": joined}, {"a": apart}) if o.split]
    assert split.change is Change.INSERTED
    assert split.split == Place(path="a", index=1)


def test_huge_lines_and_rewritten_files_stay_quick() -> None:
    chosen = random.Random(5)

    def some(count: int) -> list[str]:
        return ["".join(chosen.choices("abcdefgh ();", k=40)) + "\n" for _ in range(count)]

    started = time.perf_counter()
    align({"a": some(3_000)}, {"a": some(2_900)})
    align({"a": ["x" * 10_000_000 + "\n"]}, {"a": ["x" * 9_999_999 + "y\n", "z\n"]})
    assert time.perf_counter() - started < 20


def test_scattered_edits_find_their_predecessors() -> None:
    """Every edited line of a long file keeps its lineage; every kept line keeps its key."""
    chosen = random.Random(11)
    old = [
        f"    result_{chosen.randrange(10**6)} = compute({chosen.randrange(10**6)}, tile);\n"
        for _ in range(2_000)
    ]
    new, truth, kept = [], {}, 0
    for index, line in enumerate(old):
        fate = chosen.random()
        if fate < 0.03:
            truth[len(new)] = index
            new.append(line.replace("tile", "tile + 1"))
        elif fate < 0.05:
            new.append(f"    // remark {chosen.randrange(10**9)}\n")
            new.append(line)
            kept += 1
        elif fate < 0.07:
            continue
        else:
            new.append(line)
            kept += 1
    operations = align({"f": old}, {"f": new})
    assert sum(o.change is Change.EQUAL for o in operations) == kept
    found = {o.new.index: o.old.index for o in operations if o.change is Change.MODIFIED and o.new and o.old}
    wrong = {new_index for new_index, old_index in found.items() if truth.get(new_index) != old_index}
    # A line that went where an unlike one came, one for one, counts as replaced in place.
    assert len(wrong) <= 2
    assert len(found) >= 0.95 * len(truth)
