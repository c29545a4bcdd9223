"""Read JSON that models write, also where it is a little broken. Pure; a reply is data, never code.

TraceCoder 6.4, C5: models put raw newlines and tabs into JSON strings, or wrap the object in prose or
fences. A cascade of four readings recovers from those: as it is; with control characters escaped; the
outermost object alone; both. What then does not parse is told to the model.
"""

import json
from typing import Any

from schema.errors import BadInput


def parse_object(text: str) -> dict[str, Any]:
    """The JSON object in a reply.

    Raises:
        BadInput: there is none; the message says where parsing stopped.
    """
    if not text.strip():
        return {}
    first: json.JSONDecodeError | None = None
    for candidate in (text, escape_controls(text), outermost(text), escape_controls(outermost(text))):
        try:
            found = json.loads(candidate)
        except json.JSONDecodeError as error:
            first = first or error
            continue
        if isinstance(found, dict):
            return found
        raise BadInput(
            f"a JSON object is needed, this is a {type(found).__name__}", mend="answer with one object"
        )
    assert first is not None
    raise BadInput(
        f"not JSON: {first.msg} at line {first.lineno}, column {first.colno}",
        mend="answer with one JSON object",
    )


def escape_controls(text: str) -> str:
    """Escape raw control characters inside string literals; everything else stays."""
    out: list[str] = []
    inside = escaped = False
    for char in text:
        if inside and not escaped and ord(char) < 0x20:
            out.append(json.dumps(char)[1:-1])
            continue
        out.append(char)
        if escaped:
            escaped = False
        elif inside and char == "\\":
            escaped = True
        elif char == '"':
            inside = not inside
    return "".join(out)


def outermost(text: str) -> str:
    """From the first brace to the one that closes it, string literals respected; the rest of the text if none does."""
    start = text.find("{")
    if start < 0:
        return text
    depth = 0
    inside = escaped = False
    for place in range(start, len(text)):
        char = text[place]
        if escaped:
            escaped = False
        elif inside and char == "\\":
            escaped = True
        elif char == '"':
            inside = not inside
        elif not inside and char == "{":
            depth += 1
        elif not inside and char == "}":
            depth -= 1
            if depth == 0:
                return text[start : place + 1]
    return text[start:]
