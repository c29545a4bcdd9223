"""Blobs: bytes by their SHA-256, and trees: a workspace as one digest.

Texts are files of a workspace, byte for byte (`schema.texts`). A tree manifest is canonical JSON
{"path": "digest of its bytes", …}; two equal workspaces share one digest, so "the same candidate again" is
one comparison.
"""

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from schema.canonical import canonical_json, digest
from schema.errors import NotFound
from schema.pipeline import Pipeline
from schema.tables import Blob
from schema.texts import bytes_of, text_of

# Bytes as they stood in a workspace; mostly text, and nobody says in which encoding.
FILE_MEDIA_TYPE = "text/plain"
TREE_MEDIA_TYPE = "application/vnd.opmend.tree+json"

# %b: as they are; in hexadecimal, as arrays are sent else, bytes would be twice as many, and quoted.
_SEND = b"""
INSERT INTO blobs (digest, media_type, size, data)
SELECT digest, media_type, length(data), data
FROM unnest(%(digests)s::text[], %(media_types)s::text[], %(parts)b::bytea[]) AS u (digest, media_type, data)
ON CONFLICT (digest) DO NOTHING
"""


def put_blob(session: Session, data: bytes, *, media_type: str = "application/octet-stream") -> str:
    """Store bytes once and return their digest."""
    return put_blobs(session, [data], media_type=media_type)[0]


def put_blobs(session: Session, parts: list[bytes], *, media_type: str) -> list[str]:
    """Store several byte strings in one statement; digests in the same order."""
    digests = [digest(part) for part in parts]
    # Sorted, so that two writers of overlapping sets take their row locks in one order: no deadlock.
    rows = [
        {"digest": key, "media_type": media_type, "size": len(part), "data": part}
        for key, part in sorted(dict(zip(digests, parts, strict=True)).items())
    ]
    _put(session, rows)
    return digests


def _put(session: Session, rows: list[dict[str, Any]]) -> None:
    if rows:
        # The table, not the model, and no VALUES list: SQLAlchemy then compiles the statement once, not each time.
        session.execute(
            insert(Blob.__table__).on_conflict_do_nothing(index_elements=["digest"]),  # type: ignore[arg-type]
            rows,
        )


def get_blob(session: Session, key: str) -> bytes:
    """Read a blob.

    Raises:
        NotFound: no blob has this digest.
    """
    data = session.execute(select(Blob.data).where(Blob.digest == key)).scalar_one_or_none()
    if data is None:
        raise NotFound(f"no blob {key[:16]}…", mend="the store was cut: restore it from a backup")
    return bytes(data)


def tree_digest(files: Mapping[str, str]) -> str:
    """The digest of a workspace, without storing it.

    Raises:
        BadInput: a text stands for no bytes.
    """
    return digest(_manifest({path: digest(bytes_of(text, path)) for path, text in files.items()}))


def put_tree(session: Session, files: Mapping[str, str]) -> str:
    """Store a workspace (path → text) and return its tree digest.

    Raises:
        BadInput: a text stands for no bytes.
    """
    tree, _, blobs = next_tree(files, {})
    _put(
        session,
        [
            {"digest": key, "media_type": media_type, "size": len(part), "data": part}
            for key, (media_type, part) in sorted(blobs.items())
        ],
    )
    return tree


def next_tree(
    files: Mapping[str, str], before: Mapping[str, str]
) -> tuple[str, dict[str, str], dict[str, tuple[str, bytes]]]:
    """A workspace that follows another one, and the blobs it brings: files that are as they were bring none.

    Args:
        files: path → text.
        before: the manifest of a tree in the store.

    Returns:
        The tree digest; the manifest: path → digest; and for `send_blobs`: digest → media type and bytes.

    Raises:
        BadInput: a text stands for no bytes.
    """
    parts = {path: bytes_of(files[path], path) for path in sorted(files)}
    manifest = {path: digest(part) for path, part in parts.items()}
    whole = _manifest(manifest)
    tree = digest(whole)
    if before and manifest == before:
        return tree, manifest, {}
    known = set(before.values())
    new = {key: (FILE_MEDIA_TYPE, parts[path]) for path, key in manifest.items() if key not in known}
    new[tree] = (TREE_MEDIA_TYPE, whole)
    return tree, manifest, new


def send_blobs(pipeline: Pipeline, blobs: Mapping[str, tuple[str, bytes]]) -> None:
    """Send blobs to be stored once: digest → media type and bytes."""
    if blobs:
        # Sorted for the same reason as in put_blobs.
        rows = sorted(blobs.items())
        pipeline.send(
            _SEND,
            {
                "digests": [key for key, _ in rows],
                "media_types": [media_type for _, (media_type, _) in rows],
                "parts": [part for _, (_, part) in rows],
            },
        )


def get_tree(session: Session, key: str) -> dict[str, str]:
    """Read a workspace back: path → text, sorted by path; bytes that are no UTF-8 as in `schema.texts`.

    Raises:
        NotFound: the tree or one of its files is not in the store.
    """
    manifest: dict[str, str] = json.loads(get_blob(session, key))
    rows = session.execute(
        select(Blob.digest, Blob.data).where(Blob.digest.in_(set(manifest.values())))
    ).all()
    texts = {row.digest: text_of(bytes(row.data)) for row in rows}
    missing = sorted(path for path, part in manifest.items() if part not in texts)
    if missing:
        raise NotFound(
            f"tree {key[:16]}… lacks {missing[0]}", mend="the store was cut: restore it from a backup"
        )
    return {path: texts[part] for path, part in sorted(manifest.items())}


def _manifest(entries: Mapping[str, str]) -> bytes:
    return canonical_json(dict(entries))
