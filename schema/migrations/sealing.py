"""The triggers of migration 0002: a revision is written in one transaction and sealed with it.

0001 refuses to change or delete what is there. What is added here: nothing joins a revision later. Rows of
`snippets`, `lineage`, `snippet_failures` and `snippet_explanations` are taken only while the transaction that
made their revision is open, and a snippet becomes a tombstone only of such a revision; so no line can be slipped into
the past, and none out of it. Blobs, which trees and failure texts live in, become append-only as well.
"""

# Tables that became append-only after 0001.
APPEND_ONLY = ("blobs",)

# As in 0001, and `raw` is frozen as well.
GUARD_SNIPPET = """
CREATE OR REPLACE FUNCTION opmend_guard_snippet() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.disabled_revision IS NOT NULL THEN
        RAISE EXCEPTION 'snippet %/% is a tombstone already', OLD.file_id, OLD.position_key
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF (NEW.file_id, NEW.position_key, NEW.content, NEW.raw, NEW.created_revision, NEW.created_round,
        NEW.scope, NEW.node_kind)
       IS DISTINCT FROM
       (OLD.file_id, OLD.position_key, OLD.content, OLD.raw, OLD.created_revision, OLD.created_round,
        OLD.scope, OLD.node_kind)
    THEN
        RAISE EXCEPTION 'content, key and history of snippet %/% can not change', OLD.file_id, OLD.position_key
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF NEW.disabled_revision IS NULL THEN
        RAISE EXCEPTION 'snippet %/%: the only change is to disable it', OLD.file_id, OLD.position_key
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$
"""

# Revisions count on without a gap, and the database says when: the seals below trust created_at.
NEXT_REVISION = """
CREATE FUNCTION opmend_next_revision() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    newest record;
BEGIN
    SELECT revision, round INTO newest FROM revisions
        WHERE task_id = NEW.task_id ORDER BY revision DESC LIMIT 1;
    IF NEW.revision IS DISTINCT FROM coalesce(newest.revision + 1, 0) THEN
        RAISE EXCEPTION 'revision % of task % is not the next one', NEW.revision, NEW.task_id
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF NEW.round < coalesce(newest.round, 0) THEN
        RAISE EXCEPTION 'revision % of task % goes back to round %', NEW.revision, NEW.task_id, NEW.round
            USING ERRCODE = 'restrict_violation';
    END IF;
    NEW.created_at := transaction_timestamp();
    RETURN NEW;
END $$
"""

# A statement's rows are few (task, revision, round) triples however many lines it has. The plan is cached for a
# session, maybe one that began with an empty store: it must be by index, or every write reads the whole table.
_SEAL = """
CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    stray record;
BEGIN
    SELECT n.task_id, n.revision, n.round INTO stray
    FROM ({rows}) AS n (task_id, revision, round)
    WHERE NOT EXISTS (
        SELECT FROM revisions r
        WHERE r.task_id = n.task_id AND r.revision = n.revision AND r.round = n.round
          AND r.created_at = transaction_timestamp()
    )
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION '%: revision % (round %) of task % is sealed', TG_TABLE_NAME, stray.revision,
            stray.round, stray.task_id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$
"""

# Function → (table, statement, the triples of its new rows).
_SEALS = {
    "opmend_seal_snippets": (
        "snippets",
        "INSERT",
        "SELECT f.task_id, c.revision, c.round FROM ("
        "SELECT DISTINCT file_id, created_revision, created_round FROM fresh"
        ") AS c (file_id, revision, round) JOIN files f ON f.id = c.file_id",
    ),
    "opmend_seal_tombstones": (
        "snippets",
        "UPDATE",
        "SELECT f.task_id, c.revision, c.round FROM ("
        "SELECT DISTINCT file_id, disabled_revision, disabled_round FROM fresh"
        ") AS c (file_id, revision, round) JOIN files f ON f.id = c.file_id",
    ),
    "opmend_seal_lineage": (
        "lineage",
        "INSERT",
        # OFFSET 0: one look at the primary key for each edge, whatever the planner thinks of joins.
        "SELECT f.task_id, c.revision, c.round FROM ("
        "SELECT DISTINCT e.child_file_id, s.created_revision, s.created_round FROM fresh e CROSS JOIN LATERAL ("
        "SELECT created_revision, created_round FROM snippets "
        "WHERE file_id = e.child_file_id AND position_key = e.child_key OFFSET 0) s"
        ") AS c (file_id, revision, round) JOIN files f ON f.id = c.file_id",
    ),
    "opmend_seal_failures": (
        "snippet_failures",
        "INSERT",
        "SELECT f.task_id, c.revision, c.round FROM ("
        "SELECT DISTINCT file_id, revision, round FROM fresh"
        ") AS c (file_id, revision, round) JOIN files f ON f.id = c.file_id",
    ),
    "opmend_seal_explanations": (
        "snippet_explanations",
        "INSERT",
        "SELECT DISTINCT task_id, revision, round FROM fresh",
    ),
}

# A tombstone is made by disabling, never inserted as one.
BORN_LIVE = """
CREATE FUNCTION opmend_born_live() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'snippet %/% can not be born a tombstone', NEW.file_id, NEW.position_key
        USING ERRCODE = 'restrict_violation';
END $$
"""


def seal(name: str, rows: str | None = None) -> str:
    """The statement that puts the function of a seal in the place of the one that is there.

    Args:
        name: of the function.
        rows: the triples of its new rows; None: as 0002 has them.
    """
    return _SEAL.format(name=name, rows=_SEALS[name][2] if rows is None else rows).replace(
        "CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"
    )


def install() -> list[str]:
    """The statements that put the functions and triggers of 0002 in place."""
    statements = [GUARD_SNIPPET, NEXT_REVISION, BORN_LIVE]
    statements += [_SEAL.format(name=name, rows=rows) for name, (_, _, rows) in _SEALS.items()]
    statements += [
        "CREATE TRIGGER revisions_next BEFORE INSERT ON revisions "
        "FOR EACH ROW EXECUTE FUNCTION opmend_next_revision()",
        "CREATE TRIGGER snippets_born_live BEFORE INSERT ON snippets FOR EACH ROW "
        "WHEN (NEW.disabled_revision IS NOT NULL) EXECUTE FUNCTION opmend_born_live()",
    ]
    for name, (table, event, _) in _SEALS.items():
        statements.append(
            f"CREATE TRIGGER {name.removeprefix('opmend_')} AFTER {event} ON {table} "
            f"REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION {name}()"
        )
    for table in APPEND_ONLY:
        statements += [
            f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE ON {table} "
            "FOR EACH ROW EXECUTE FUNCTION opmend_refuse()",
            f"CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION opmend_refuse()",
        ]
    return statements


def remove(guard_before: str) -> list[str]:
    """The statements that take them away.

    Args:
        guard_before: the CREATE FUNCTION statement of the guard as it was before 0002.
    """
    statements = []
    for table in APPEND_ONLY:
        statements += [
            f"DROP TRIGGER {table}_append_only ON {table}",
            f"DROP TRIGGER {table}_no_truncate ON {table}",
        ]
    for name, (table, _, _) in _SEALS.items():
        statements += [
            f"DROP TRIGGER {name.removeprefix('opmend_')} ON {table}",
            f"DROP FUNCTION {name}()",
        ]
    return [
        *statements,
        "DROP TRIGGER snippets_born_live ON snippets",
        "DROP TRIGGER revisions_next ON revisions",
        "DROP FUNCTION opmend_born_live()",
        "DROP FUNCTION opmend_next_revision()",
        guard_before.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"),
    ]
