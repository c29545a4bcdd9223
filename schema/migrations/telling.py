"""The triggers of migration 0007: where a line stands in its program is told once, behind the commit of the line.

All else stays refused as 0002 has it. What may be told is no history: it follows from the files of the line's revision.
"""

GUARD_SNIPPET = """
CREATE OR REPLACE FUNCTION opmend_guard_snippet() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.disabled_revision IS NOT NULL THEN
        RAISE EXCEPTION 'snippet %/% is a tombstone already', OLD.file_id, OLD.position_key
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF (NEW.file_id, NEW.position_key, NEW.content, NEW.raw, NEW.created_revision, NEW.created_round)
       IS DISTINCT FROM
       (OLD.file_id, OLD.position_key, OLD.content, OLD.raw, OLD.created_revision, OLD.created_round)
    THEN
        RAISE EXCEPTION 'content, key and history of snippet %/% can not change', OLD.file_id, OLD.position_key
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF (NEW.scope, NEW.node_kind) IS DISTINCT FROM (OLD.scope, OLD.node_kind) THEN
        IF OLD.scope IS NOT NULL OR OLD.node_kind IS NOT NULL OR NEW.scope IS NULL OR NEW.node_kind IS NULL
           OR NEW.disabled_revision IS NOT NULL
        THEN
            RAISE EXCEPTION 'the syntax of snippet %/% can not change: it is told once, whole, while it is live',
                OLD.file_id, OLD.position_key USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF NEW.disabled_revision IS NULL THEN
        RAISE EXCEPTION 'snippet %/%: the only change is to disable it', OLD.file_id, OLD.position_key
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$
"""

# As in 0002, for the rows that the statement disables: a row that is told is live.
SEALED_TOMBSTONES = (
    "SELECT f.task_id, c.revision, c.round FROM ("
    "SELECT DISTINCT file_id, disabled_revision, disabled_round FROM fresh WHERE disabled_revision IS NOT NULL"
    ") AS c (file_id, revision, round) JOIN files f ON f.id = c.file_id"
)
