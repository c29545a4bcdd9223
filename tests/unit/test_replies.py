"""Reading JSON that models write."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schema.errors import BadInput
from workers.llm.replies import escape_controls, outermost, parse_object

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(), JSON, max_size=4)


@given(OBJECTS)
def test_what_is_right_stays_as_it_is(found: dict) -> None:
    assert parse_object(json.dumps(found)) == found


@given(OBJECTS, st.text(alphabet=st.characters(exclude_characters="{}")), st.text())
def test_prose_around_the_object_does_not_matter(found: dict, before: str, after: str) -> None:
    assert parse_object(f"{before}{json.dumps(found)}{after}") == found


@given(st.text(alphabet='ab\n\t\r\x0b"\\{}', max_size=40))
def test_raw_control_characters_in_strings_are_recovered(text: str) -> None:
    body = text.replace("\\", "\\\\").replace('"', '\\"')  # what a model forgets are the control characters
    assert parse_object(f'{{"text": "{body}"}}') == {"text": text}


@given(st.text(max_size=60))
def test_any_text_is_an_object_or_a_clear_error(text: str) -> None:
    with suppress(BadInput):  # anything else would be a crash
        assert isinstance(parse_object(text), dict)


@given(OBJECTS)
def test_escaping_changes_nothing_that_is_right(found: dict) -> None:
    text = json.dumps(found, indent=1)
    assert escape_controls(text) == text


def test_a_brace_in_a_string_does_not_close_the_object() -> None:
    assert outermost('x {"a": "}"} y }') == '{"a": "}"}'
    with pytest.raises(BadInput, match="object"):
        parse_object("[1]")
