"""The triggers of migration 0003: what the rows of a revision point to is there, asked once a statement.

A foreign key asks for every row, and locks and so rewrites each row that it finds: five questions for a changed line,
the largest part of writing a revision. It has to, as a parent could go at the same moment. Ours can't: rows of
`files`, `snippets` and `benchmarks` are never deleted, and their keys never change (0001). So one look by index at the
end of the statement tells the same, and the error is the same too.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Reference:
    """Columns of a table that name a row of another.

    Attributes:
        name: of the foreign key that 0001 made.
        ondelete: as 0001 wrote it.
    """

    name: str
    table: str
    columns: tuple[str, ...]
    parent: str
    parent_columns: tuple[str, ...]
    ondelete: str | None = None


_SNIPPET = ("file_id", "position_key")

REFERENCES = (
    Reference(
        name="fk_snippets_file_id_files",
        table="snippets",
        columns=("file_id",),
        parent="files",
        parent_columns=("id",),
        ondelete="RESTRICT",
    ),
    Reference(
        name="fk_lineage_child",
        table="lineage",
        columns=("child_file_id", "child_key"),
        parent="snippets",
        parent_columns=_SNIPPET,
    ),
    Reference(
        name="fk_lineage_parent",
        table="lineage",
        columns=("parent_file_id", "parent_key"),
        parent="snippets",
        parent_columns=_SNIPPET,
    ),
    Reference(
        name="fk_snippet_failures_file_id_snippets",
        table="snippet_failures",
        columns=_SNIPPET,
        parent="snippets",
        parent_columns=_SNIPPET,
    ),
    Reference(
        name="fk_snippet_failures_benchmark_id_benchmarks",
        table="snippet_failures",
        columns=("benchmark_id",),
        parent="benchmarks",
        parent_columns=("id",),
        ondelete="RESTRICT",
    ),
)

# By index whatever the planner thinks of joins: the plan is kept for a session that may have begun with an empty store.
_FUNCTION = """
CREATE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    stray text;
BEGIN
{checks}
    RETURN NULL;
END $$
"""

_CHECK = """
    SELECT concat_ws(', ', {columns}) INTO stray FROM ({rows}) AS c
    WHERE NOT EXISTS (SELECT FROM {parent} p WHERE {same}) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION '{table} names a row of {parent} that is not there: {names} = %', stray
            USING ERRCODE = 'foreign_key_violation', CONSTRAINT = '{name}', TABLE = '{table}';
    END IF;
"""


def install() -> list[str]:
    """The statements that put the triggers in place of the foreign keys."""
    statements = []
    for table in dict.fromkeys(one.table for one in REFERENCES):
        of_table = [one for one in REFERENCES if one.table == table]
        checks = "".join(_check(one) for one in of_table)
        function = f"opmend_refer_{table}"
        statements += [
            _FUNCTION.format(function=function, checks=checks),
            f"CREATE TRIGGER {table}_refer AFTER INSERT ON {table} REFERENCING NEW TABLE AS fresh "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {function}()",
        ]
    return statements


def remove() -> list[str]:
    """The statements that take them away."""
    statements = []
    for table in dict.fromkeys(one.table for one in REFERENCES):
        statements += [f"DROP TRIGGER {table}_refer ON {table}", f"DROP FUNCTION opmend_refer_{table}()"]
    return statements


def _check(one: Reference) -> str:
    names = ", ".join(one.columns)
    # Thousands of rows name one file and one benchmark.
    distinct = "DISTINCT " if len(one.columns) == 1 else ""
    pairs = zip(one.parent_columns, one.columns, strict=True)
    return _CHECK.format(
        columns=", ".join(f"c.{column}" for column in one.columns),
        rows=f"SELECT {distinct}{names} FROM fresh",
        parent=one.parent,
        same=" AND ".join(f"p.{theirs} = c.{ours}" for theirs, ours in pairs),
        table=one.table,
        names=names,
        name=one.name,
    )
