CREATE FUNCTION @extschema@.idem_begin_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.idem_begin_support(internal) IS
    'planner support function of idem_begin';

CREATE FUNCTION @extschema@.idem_begin_short(key text, scope text, fingerprint bytea)
    RETURNS @extschema@.idem_claim
    AS 'MODULE_PATHNAME', 'idem_begin' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_begin_short(text, text, bytea) IS
    'what the planner makes of idem_begin when the other arguments are left at their defaults';

CREATE FUNCTION @extschema@.idem_begin(
    key text,
    scope text DEFAULT 'default',
    fingerprint bytea DEFAULT NULL,
    lease interval DEFAULT NULL,
    retain interval DEFAULT NULL,
    wait interval DEFAULT NULL,
    owner text DEFAULT NULL,
    committed boolean DEFAULT false,
    strict boolean DEFAULT false
) RETURNS @extschema@.idem_claim
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SUPPORT @extschema@.idem_begin_support;
COMMENT ON FUNCTION @extschema@.idem_begin(text, text, bytea, interval, interval, interval, text, boolean, boolean) IS
    'claim a key, or get the stored result or the reason why not';

CREATE FUNCTION @extschema@.idem_finish(
    key text,
    result jsonb DEFAULT NULL,
    scope text DEFAULT 'default',
    token bigint DEFAULT NULL,
    code integer DEFAULT NULL,
    body bytea DEFAULT NULL
) RETURNS text
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_finish(text, jsonb, text, bigint, integer, bytea) IS
    'store the result of a claimed key; returns finished or already_finished';

CREATE FUNCTION @extschema@.idem_fail(
    key text,
    result jsonb DEFAULT NULL,
    scope text DEFAULT 'default',
    token bigint DEFAULT NULL,
    code integer DEFAULT NULL,
    body bytea DEFAULT NULL
) RETURNS text
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_fail(text, jsonb, text, bigint, integer, bytea) IS
    'store a final failure of a claimed key, to be replayed like a result; returns failed or already_failed';

CREATE FUNCTION @extschema@.idem_release(
    key text,
    scope text DEFAULT 'default',
    token bigint DEFAULT NULL
) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_release(text, text, bigint) IS
    'give a claimed key back as if it had never been claimed; false when there was nothing to give back';

CREATE FUNCTION @extschema@.idem_extend(
    key text,
    scope text DEFAULT 'default',
    token bigint DEFAULT NULL,
    lease interval DEFAULT NULL
) RETURNS timestamptz
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_extend(text, text, bigint, interval) IS
    'heartbeat: prolong the lease of a live claim; returns its new end';

CREATE FUNCTION @extschema@.idem_checkpoint(
    key text,
    name text,
    data jsonb DEFAULT NULL,
    scope text DEFAULT 'default',
    token bigint DEFAULT NULL
) RETURNS void
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_checkpoint(text, text, jsonb, text, bigint) IS
    'record how far the work of a live claim got; the next attempt gets it back';

CREATE FUNCTION @extschema@.idem_get(
    key text,
    scope text DEFAULT 'default'
) RETURNS SETOF @extschema@.idem_record
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED ROWS 1;
COMMENT ON FUNCTION @extschema@.idem_get(text, text) IS
    'the record of a key, or no row; reads only, also on a standby';

CREATE FUNCTION @extschema@.idem_execute(
    key text,
    statement text,
    args jsonb DEFAULT '[]',
    scope text DEFAULT 'default',
    fingerprint bytea DEFAULT NULL,
    retain interval DEFAULT NULL,
    wait interval DEFAULT NULL,
    owner text DEFAULT NULL,
    strict boolean DEFAULT false
) RETURNS @extschema@.idem_claim
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_execute(text, text, jsonb, text, bytea, interval, interval, text, boolean) IS
    'claim a key, run one statement with the caller''s rights and store its result, in one call and one transaction';

CREATE FUNCTION @extschema@.idem_fingerprint(
    payload jsonb,
    exclude text[] DEFAULT '{}'
) RETURNS bytea
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.idem_fingerprint(jsonb, text[]) IS
    'digest of a request that does not depend on the order of its keys or the spelling of its numbers';

CREATE FUNCTION @extschema@.idem_key(VARIADIC parts text[]) RETURNS text
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.idem_key(text[]) IS
    'join parts into a key such as service:business:operation, separators inside a part escaped';

CREATE FUNCTION @extschema@.idem_child_key(parent text, step text) RETURNS text
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.idem_child_key(text, text) IS
    'key for a downstream call, the same on every retry of the parent';

CREATE FUNCTION @extschema@.idem_resolve(
    key text,
    action text,
    scope text DEFAULT 'default',
    result jsonb DEFAULT NULL,
    code integer DEFAULT NULL
) RETURNS text
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_resolve(text, text, text, jsonb, integer) IS
    'decide abandoned work: retry, finish or fail it';

CREATE FUNCTION @extschema@.idem_forget(
    key text,
    scope text DEFAULT 'default',
    force boolean DEFAULT false
) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_forget(text, text, boolean) IS
    'delete the record of a key, so that the key starts anew; a live claim only by force';

CREATE FUNCTION @extschema@.idem_scope_set(
    scope text,
    retain interval DEFAULT NULL,
    lease interval DEFAULT NULL,
    max_attempts integer DEFAULT NULL,
    on_abandoned text DEFAULT NULL,
    max_result_bytes integer DEFAULT NULL,
    on_expiry text DEFAULT NULL,
    require_fingerprint boolean DEFAULT NULL,
    member regrole DEFAULT NULL
) RETURNS void
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_scope_set(text, interval, interval, integer, text, integer, text, boolean, regrole) IS
    'set the policy of a scope; what is left out stays as it is';

CREATE FUNCTION @extschema@.idem_scope_reset(scope text) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_scope_reset(text) IS
    'put a scope back to the settings idem.*; false when it had no policy of its own';

CREATE FUNCTION @extschema@.idem_grant(role regrole, operator boolean DEFAULT false) RETURNS void
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_grant(regrole, boolean) IS
    'let a role call the functions for applications, and with operator => true those for operators';

CREATE FUNCTION @extschema@.idem_revoke(role regrole) RETURNS void
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_revoke(regrole) IS 'take back what idem_grant gave a role';

REVOKE ALL ON FUNCTION
    @extschema@.idem_begin_support(internal),
    @extschema@.idem_begin_short(text, text, bytea),
    @extschema@.idem_begin(text, text, bytea, interval, interval, interval, text, boolean, boolean),
    @extschema@.idem_finish(text, jsonb, text, bigint, integer, bytea),
    @extschema@.idem_fail(text, jsonb, text, bigint, integer, bytea),
    @extschema@.idem_release(text, text, bigint),
    @extschema@.idem_extend(text, text, bigint, interval),
    @extschema@.idem_checkpoint(text, text, jsonb, text, bigint),
    @extschema@.idem_get(text, text),
    @extschema@.idem_execute(text, text, jsonb, text, bytea, interval, interval, text, boolean),
    @extschema@.idem_fingerprint(jsonb, text[]),
    @extschema@.idem_key(text[]),
    @extschema@.idem_child_key(text, text),
    @extschema@.idem_resolve(text, text, text, jsonb, integer),
    @extschema@.idem_forget(text, text, boolean),
    @extschema@.idem_scope_set(text, interval, interval, integer, text, integer, text, boolean, regrole),
    @extschema@.idem_scope_reset(text),
    @extschema@.idem_grant(regrole, boolean),
    @extschema@.idem_revoke(regrole)
FROM PUBLIC;
