"""The triggers that make history append-only. The database itself refuses, whoever asks."""

# Rows of these tables are written once.
APPEND_ONLY = (
    "events",
    "evidence",
    "verdicts",
    "revisions",
    "lineage",
    "benchmarks",
    "benchmark_runs",
    "snippet_failures",
    "snippet_explanations",
    "files",
    "cohorts",
    "model_calls",
)

REFUSE = """
CREATE FUNCTION opmend_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END $$
"""

# A snippet may change in one way, once: from live to tombstone.
GUARD_SNIPPET = """
CREATE FUNCTION opmend_guard_snippet() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.disabled_revision IS NOT NULL THEN
        RAISE EXCEPTION 'snippet %/% is a tombstone already', OLD.file_id, OLD.position_key
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF (NEW.file_id, NEW.position_key, NEW.content, NEW.created_revision, NEW.created_round,
        NEW.scope, NEW.node_kind)
       IS DISTINCT FROM
       (OLD.file_id, OLD.position_key, OLD.content, OLD.created_revision, OLD.created_round,
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


def install() -> list[str]:
    """The statements that put every trigger in place."""
    statements = [REFUSE, GUARD_SNIPPET]
    for table in APPEND_ONLY:
        statements.append(
            f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE ON {table} "
            "FOR EACH ROW EXECUTE FUNCTION opmend_refuse()"
        )
    statements += [
        "CREATE TRIGGER snippets_guard BEFORE UPDATE ON snippets FOR EACH ROW EXECUTE FUNCTION opmend_guard_snippet()",
        "CREATE TRIGGER snippets_keep BEFORE DELETE ON snippets FOR EACH ROW EXECUTE FUNCTION opmend_refuse()",
    ]
    # TRUNCATE goes round row triggers.
    for table in (*APPEND_ONLY, "snippets"):
        statements.append(
            f"CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION opmend_refuse()"
        )
    return statements


def remove() -> list[str]:
    """The statements that take every trigger away; the tables go next."""
    statements = [f"DROP TRIGGER {table}_append_only ON {table}" for table in APPEND_ONLY]
    statements += [f"DROP TRIGGER {table}_no_truncate ON {table}" for table in (*APPEND_ONLY, "snippets")]
    statements += ["DROP TRIGGER snippets_guard ON snippets", "DROP TRIGGER snippets_keep ON snippets"]
    return [*statements, "DROP FUNCTION opmend_guard_snippet()", "DROP FUNCTION opmend_refuse()"]
