"""The functions of migration 0005: the only way in which a worker changes a job, and the log of its task.

They run with the rights of the schema's owner, so they trust nothing of their caller. Whoever changes a running job
shows its fence and the token that its claim was given; the table has the token's SHA-256, so nobody reads it there.
Every name is qualified and `search_path` is fixed: no object of a caller is ever looked up. The event goes into the
chain here (`schema.events.event_hash`): kind, task, sequence, time and hash are the database's, the result alone is
the worker's.
"""

_HEAD = "LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$"

# A lease that never ran out would keep its job from everybody else.
_UNTIL = "now() + make_interval(secs => least(coalesce(lease, 0), 86400))"

# Under this claim, and still running.
_HOLDS = "j.id = job AND j.fence = held AND j.status = 'running' AND j.claim_hash = sha256(uuid_send(token))"

CLAIM = f"""
CREATE FUNCTION {{schema}}.opmend_claim(job text, by_worker text, lease double precision)
RETURNS TABLE (task_id bigint, kind text, payload jsonb, fence bigint, attempts integer, token uuid)
{_HEAD}
#variable_conflict use_column
DECLARE
    fresh uuid := gen_random_uuid();
BEGIN
    RETURN QUERY
    UPDATE {{schema}}.jobs AS j
    SET status = 'running', fence = j.fence + 1, attempts = j.attempts + 1, worker = by_worker, started_at = now(),
        lease_expires_at = {_UNTIL}, claim_hash = sha256(uuid_send(fresh))
    WHERE j.id = job
      AND (j.status = 'queued' OR j.status = 'running' AND j.lease_expires_at < now())
    RETURNING j.task_id, j.kind, j.payload, j.fence, j.attempts, fresh;
END $$
"""

RENEW = f"""
CREATE FUNCTION {{schema}}.opmend_renew(job text, held bigint, token uuid, lease double precision)
RETURNS boolean
{_HEAD}
BEGIN
    UPDATE {{schema}}.jobs AS j SET lease_expires_at = {_UNTIL} WHERE {_HOLDS};
    RETURN FOUND;
END $$
"""

# The caller has locked the task's row. `canonical` is `body` as schema.canonical writes it.
APPEND = f"""
CREATE FUNCTION {{schema}}.opmend_append(of_task bigint, event_kind text, body jsonb, canonical text)
RETURNS void
{_HEAD}
DECLARE
    head record;
    moment timestamptz := clock_timestamp();
    utc timestamp := moment AT TIME ZONE 'UTC';
    written text := to_char(utc, 'YYYY-MM-DD"T"HH24:MI:SS');
    chained text;
BEGIN
    SELECT t.last_sequence + 1 AS sequence, t.last_hash AS previous INTO STRICT head
    FROM {{schema}}.tasks t WHERE t.id = of_task;
    -- As datetime.isoformat writes it: no fraction where there is none.
    IF utc <> date_trunc('second', utc) THEN
        written := written || to_char(utc, '.US');
    END IF;
    chained := encode(sha256(convert_to(
        '["' || head.previous || '",' || of_task || ',' || head.sequence || ',"' || event_kind || '",' || canonical
        || ',"' || written || '+00:00"]', 'UTF8')), 'hex');
    INSERT INTO {{schema}}.events (task_id, sequence, kind, data, at, previous_hash, hash)
    VALUES (of_task, head.sequence, event_kind, body, moment, head.previous, chained);
    UPDATE {{schema}}.tasks SET last_sequence = head.sequence, last_hash = chained WHERE id = of_task;
END $$
"""

# Lock order is task, then job, everywhere: no two writers can deadlock. Who holds nothing locks nothing.
FINISH = f"""
CREATE FUNCTION {{schema}}.opmend_finish(job text, held bigint, token uuid, result text)
RETURNS text
{_HEAD}
DECLARE
    of_task bigint;
    task_status text;
    body jsonb;
BEGIN
    SELECT j.task_id INTO of_task FROM {{schema}}.jobs j WHERE {_HOLDS};
    IF NOT FOUND THEN
        RETURN 'late';
    END IF;
    body := result::jsonb;
    IF jsonb_typeof(body) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION 'the result of job % is no object', job USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT t.status INTO task_status FROM {{schema}}.tasks t WHERE t.id = of_task FOR UPDATE;
    UPDATE {{schema}}.jobs AS j
    SET status = 'done', finished_at = now(), lease_expires_at = NULL, claim_hash = NULL, result = body
    WHERE {_HOLDS};
    IF NOT FOUND THEN
        RETURN 'late';
    END IF;
    IF task_status = 'finished' THEN
        RETURN 'finished';
    END IF;
    PERFORM {{schema}}.opmend_append(of_task, 'job_finished', jsonb_build_object('job_id', job, 'result', body),
        '{{{{"job_id":' || to_json(job) || ',"result":' || result || '}}}}');
    RETURN 'kept';
END $$
"""

# The caller has locked the task's row and the job's, and knows that the job may be taken from its holder.
RELEASE = f"""
CREATE FUNCTION {{schema}}.opmend_release(job text, of_task bigint, attempt integer, reason text, most integer)
RETURNS text
{_HEAD}
DECLARE
    task_status text;
BEGIN
    IF attempt < most THEN
        UPDATE {{schema}}.jobs
        SET status = 'queued', lease_expires_at = NULL, worker = NULL, claim_hash = NULL WHERE id = job;
        INSERT INTO {{schema}}.outbox (job_id) VALUES (job);
        RETURN 'kept';
    END IF;
    UPDATE {{schema}}.jobs
    SET status = 'failed', finished_at = now(), lease_expires_at = NULL, claim_hash = NULL,
        result = jsonb_build_object('reason', reason)
    WHERE id = job;
    SELECT t.status INTO task_status FROM {{schema}}.tasks t WHERE t.id = of_task;
    IF task_status = 'finished' THEN
        RETURN 'finished';
    END IF;
    PERFORM {{schema}}.opmend_append(of_task, 'job_failed',
        jsonb_build_object('attempts', attempt, 'job_id', job, 'reason', reason),
        '{{{{"attempts":' || attempt || ',"job_id":' || to_json(job) || ',"reason":' || to_json(reason) || '}}}}');
    RETURN 'kept';
END $$
"""

# opmend_lose: a worker gives its own job back. opmend_expire: the sweeper takes one whose lease ran out.
_TAKE_BACK = f"""
CREATE FUNCTION {{{{schema}}}}.{{name}}({{parameters}}, reason text, most integer)
RETURNS text
{_HEAD}
DECLARE
    of_task bigint;
    attempt integer;
BEGIN
    SELECT j.task_id INTO of_task FROM {{{{schema}}}}.jobs j WHERE {{condition}};
    IF NOT FOUND THEN
        RETURN 'late';
    END IF;
    PERFORM FROM {{{{schema}}}}.tasks t WHERE t.id = of_task FOR UPDATE;
    SELECT j.attempts INTO attempt FROM {{{{schema}}}}.jobs j WHERE {{condition}} FOR UPDATE;
    IF NOT FOUND THEN
        RETURN 'late';
    END IF;
    RETURN {{{{schema}}}}.opmend_release(job, of_task, attempt, reason, most);
END $$
"""

LOSE = _TAKE_BACK.format(name="opmend_lose", parameters="job text, held bigint, token uuid", condition=_HOLDS)
EXPIRE = _TAKE_BACK.format(
    name="opmend_expire",
    parameters="job text, held bigint",
    condition="j.id = job AND j.fence = held AND j.status = 'running' AND j.lease_expires_at < now()",
)

# Tokens are spent whether or not the lease outlives the reply, so a call is no question of the claim.
MAY_BILL = f"""
CREATE FUNCTION {{schema}}.opmend_may_bill(job text, of_task bigint) RETURNS boolean
{_HEAD}
BEGIN
    RETURN EXISTS (SELECT FROM {{schema}}.jobs j
        WHERE j.id = job AND j.task_id = of_task AND j.kind = 'turn' AND j.fence > 0);
END $$
"""

# Name → arguments; in the order in which they need each other.
FUNCTIONS = {
    "opmend_claim": "text, text, double precision",
    "opmend_renew": "text, bigint, uuid, double precision",
    "opmend_append": "bigint, text, jsonb, text",
    "opmend_finish": "text, bigint, uuid, text",
    "opmend_release": "text, bigint, integer, text, integer",
    "opmend_lose": "text, bigint, uuid, text, integer",
    "opmend_expire": "text, bigint, text, integer",
    "opmend_may_bill": "text, bigint",
}


def install(schema: str) -> list[str]:
    """The statements that make the functions, open to nobody.

    Args:
        schema: quoted name of the schema that holds the tables.
    """
    bodies = (CLAIM, RENEW, APPEND, FINISH, RELEASE, LOSE, EXPIRE, MAY_BILL)
    statements = [body.format(schema=schema) for body in bodies]
    # Whoever may reach a database may call its functions, unless told otherwise.
    statements += [
        f"REVOKE ALL ON FUNCTION {schema}.{name}({arguments}) FROM PUBLIC"
        for name, arguments in FUNCTIONS.items()
    ]
    return statements


def remove(schema: str) -> list[str]:
    """The statements that take them away."""
    return [f"DROP FUNCTION {schema}.{name}({arguments})" for name, arguments in FUNCTIONS.items()]
