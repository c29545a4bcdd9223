"""The format in which values cross the wall of a sandbox: a frame is a JSON header and raw bytes.

    "OPM1" | header length, u32 | payload length, u64 | header, UTF-8 JSON | payload

No pickle and nothing that runs code: the reader trusts no length, dtype or shape before checking it against
what arrived. A value is described by a small tree (`describe`), its tensors' bytes lie in the payload.
"""

import json
import math
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

MAGIC = b"OPM1"
PREFIX = struct.Struct("<4sIQ")
MOST_HEADER_BYTES = 8 << 20
MOST_DEPTH = 16
MOST_ITEMS = 4096

DTYPES: dict[str, int] = {
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "uint8": 1,
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
    "bool": 1,
    "complex64": 8,
    "complex128": 16,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
}
"""Dtypes that may cross, by torch's name, with their size in bytes."""


class WireError(Exception):
    """What arrived breaks the format; the message says how."""


def pack(header: dict[str, Any], payload: Sequence[bytes | bytearray | memoryview] = ()) -> list[Any]:
    """The parts of a frame, to be written one after the other."""
    text = json.dumps(header, separators=(",", ":")).encode()
    size = sum(len(part) for part in payload)
    return [PREFIX.pack(MAGIC, len(text), size), text, *payload]


def unpack_prefix(prefix: bytes, *, most_payload: int) -> tuple[int, int]:
    """Header and payload length of a frame.

    Raises:
        WireError: no frame, or too large.
    """
    if len(prefix) != PREFIX.size:
        raise WireError("a frame is cut short")
    magic, header, payload = PREFIX.unpack(prefix)
    if magic != MAGIC:
        raise WireError("no frame where one should be")
    if header > MOST_HEADER_BYTES or payload > most_payload:
        raise WireError(f"a frame of {header} + {payload} bytes is too large")
    return header, payload


def unpack_header(text: bytes) -> dict[str, Any]:
    """The header of a frame.

    Raises:
        WireError: no JSON object.
    """
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise WireError("the header of a frame is no JSON") from error
    if not isinstance(header, dict):
        raise WireError("the header of a frame is no object")
    return header


def unpack(frame: bytes | bytearray, *, most_payload: int) -> tuple[dict[str, Any], memoryview]:
    """Header and payload of a whole frame held in memory.

    Raises:
        WireError: it breaks the format.
    """
    header, payload = unpack_prefix(bytes(frame[: PREFIX.size]), most_payload=most_payload)
    if len(frame) != PREFIX.size + header + payload:
        raise WireError("a frame has not the length it says")
    end = PREFIX.size + header
    return unpack_header(bytes(frame[PREFIX.size : end])), memoryview(frame)[end:]


def describe(value: Any, payload: list[Any], *, most_bytes: int) -> dict[str, Any]:
    """Describe a value as a tree of JSON and append the bytes of its tensors to `payload`.

    Tensors are taken as values: contiguous, on the CPU, without history.

    Raises:
        WireError: a type that can't cross, too deep, too many items or bytes.
    """
    offset = sum(len(part) for part in payload)
    state = {"offset": offset, "items": 0}
    return _describe(value, payload, state, most_bytes, 0)


def _describe(value: Any, payload: list[Any], state: dict[str, int], most: int, depth: int) -> dict[str, Any]:
    import torch

    state["items"] += 1
    if depth > MOST_DEPTH or state["items"] > MOST_ITEMS:
        raise WireError("a value is nested too deeply or has too many parts")
    if value is None:
        return {"kind": "none"}
    if isinstance(value, torch.Tensor):
        return _describe_tensor(value, payload, state, most)
    if isinstance(value, bool):
        return {"kind": "bool", "value": value}
    if isinstance(value, int):
        return {"kind": "int", "value": str(int(value))}
    if isinstance(value, float):
        return {"kind": "float", "value": float(value).hex()}
    if isinstance(value, str):
        return {"kind": "str", "value": value}
    if isinstance(value, torch.dtype):
        return {"kind": "dtype", "value": str(value).removeprefix("torch.")}
    if isinstance(value, list | tuple):
        items = [_describe(item, payload, state, most, depth + 1) for item in value]
        return {"kind": "tuple" if isinstance(value, tuple) else "list", "items": items}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        entries = [[key, _describe(item, payload, state, most, depth + 1)] for key, item in value.items()]
        return {"kind": "dict", "items": entries}
    raise WireError(f"a value of type {type(value).__name__} can't be passed")


def _describe_tensor(
    value: "torch.Tensor", payload: list[Any], state: dict[str, int], most: int
) -> dict[str, Any]:
    import torch

    dtype = str(value.dtype).removeprefix("torch.")
    if dtype not in DTYPES:
        raise WireError(f"a tensor of dtype {dtype} can't be passed")
    if value.device.type != "cpu" or value.layout != torch.strided:
        raise WireError(f"a tensor on {value.device} in layout {value.layout} can't be passed")
    size = value.numel() * DTYPES[dtype]
    if state["offset"] + size > most:
        raise WireError(f"more than {most} bytes of tensors")
    if size:
        plain = value.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
        payload.append(memoryview(plain.view(torch.uint8).numpy()).cast("B"))
    described = {
        "kind": "tensor",
        "dtype": dtype,
        "shape": list(value.shape),
        "offset": state["offset"],
        "bytes": size,
    }
    state["offset"] += size
    return described


def rebuild(tree: Any, payload: bytes | bytearray | memoryview) -> Any:
    """The value that `describe` described; tensors own their memory.

    Raises:
        WireError: the tree breaks the format, or does not fit the payload.
    """
    return _rebuild(tree, memoryview(payload), [0], 0)


def _rebuild(tree: Any, payload: memoryview, count: list[int], depth: int) -> Any:
    count[0] += 1
    if not isinstance(tree, dict) or depth > MOST_DEPTH or count[0] > MOST_ITEMS:
        raise WireError("a described value is malformed, too deep or too large")
    kind, value = tree.get("kind"), tree.get("value")
    match kind:
        case "none":
            return None
        case "tensor":
            return _rebuild_tensor(tree, payload)
        case "bool" if isinstance(value, bool):
            return value
        case "int" if isinstance(value, str) and len(value) <= 4000:
            return _number(int, value)
        case "float" if isinstance(value, str):
            return _number(float.fromhex, value)
        case "str" if isinstance(value, str):
            return value
        case "dtype" if isinstance(value, str) and value in DTYPES:
            import torch

            return getattr(torch, value)
        case "list" | "tuple" if isinstance(tree.get("items"), list):
            items = [_rebuild(item, payload, count, depth + 1) for item in tree["items"]]
            return tuple(items) if kind == "tuple" else items
        case "dict" if isinstance(tree.get("items"), list):
            pairs = {}
            for entry in tree["items"]:
                if not isinstance(entry, list) or len(entry) != 2 or not isinstance(entry[0], str):
                    raise WireError("a described mapping is malformed")
                pairs[entry[0]] = _rebuild(entry[1], payload, count, depth + 1)
            return pairs
    raise WireError(f"a described value has kind {kind!r}")


def _number(read: Any, text: str) -> Any:
    try:
        return read(text)
    except (ValueError, OverflowError) as error:
        raise WireError("a described number is malformed") from error


def _rebuild_tensor(tree: dict[str, Any], payload: memoryview) -> "torch.Tensor":
    import torch

    dtype, shape, offset, size = (tree.get(key) for key in ("dtype", "shape", "offset", "bytes"))
    whole = [offset, size, *shape] if isinstance(shape, list) else [None]
    if not all(isinstance(number, int) and not isinstance(number, bool) and number >= 0 for number in whole):
        raise WireError("a described tensor has no plain shape and place")
    assert isinstance(shape, list)
    assert isinstance(offset, int)
    assert isinstance(size, int)
    if dtype not in DTYPES or len(shape) > 64 or math.prod(shape) * DTYPES[dtype] != size:
        raise WireError("a described tensor has not the size of its shape and dtype")
    if offset + size > len(payload):
        raise WireError("a described tensor lies outside the payload")
    tensor = torch.empty(tuple(shape), dtype=getattr(torch, dtype))
    if size:
        # Straight into place: a second copy of a large input would count against the candidate's memory.
        raw = tensor.reshape(-1).view(torch.uint8)
        memoryview(raw.numpy()).cast("B")[:] = payload[offset : offset + size]
        if dtype == "bool":
            raw.clamp_(max=1)  # any other byte is no bool; torch would behave unpredictably on it
    return tensor
