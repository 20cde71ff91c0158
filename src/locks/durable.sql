-- Durable locks: records of the scope idem.lock.
CREATE FUNCTION @extschema@.idem_lock(
    name text,
    ttl interval,
    wait interval DEFAULT '0',
    owner text DEFAULT NULL,
    data jsonb DEFAULT NULL,
    delay interval DEFAULT NULL
) RETURNS @extschema@.idem_lock_grant
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_lock(text, interval, interval, text, jsonb, interval) IS
    'take a durable lock for a limited time, with a fencing token; says who has it when somebody else does';

CREATE FUNCTION @extschema@.idem_lock_extend(
    name text,
    token bigint DEFAULT NULL,
    ttl interval DEFAULT NULL
) RETURNS timestamptz
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_lock_extend(text, bigint, interval) IS
    'heartbeat: prolong a durable lock that is still held; returns its new end';

CREATE FUNCTION @extschema@.idem_unlock(
    name text,
    token bigint DEFAULT NULL,
    at_least interval DEFAULT NULL
) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_unlock(text, bigint, interval) IS
    'give a durable lock back; false when that was done before';

CREATE FUNCTION @extschema@.idem_fence(
    name text,
    token bigint DEFAULT NULL
) RETURNS void
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_fence(text, bigint) IS
    'refuse to go on unless the token is that of the present holder of a durable lock, and let no other have the lock until this transaction ends';

CREATE FUNCTION @extschema@.idem_lock_hash(name text) RETURNS bigint
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.idem_lock_hash(text) IS
    'how idem_lock_entries names the queue for a durable lock';

CREATE FUNCTION @extschema@.idem_durable_locks(
    OUT name text,
    OUT holder text,
    OUT token bigint,
    OUT acquired_at timestamptz,
    OUT expires_at timestamptz,
    OUT remaining interval,
    OUT hash bigint,
    OUT data jsonb
) RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10;
COMMENT ON FUNCTION @extschema@.idem_durable_locks() IS
    'the durable locks that are held now, with the hash of the queue for each';

REVOKE ALL ON FUNCTION
    @extschema@.idem_lock(text, interval, interval, text, jsonb, interval),
    @extschema@.idem_lock_extend(text, bigint, interval),
    @extschema@.idem_unlock(text, bigint, interval),
    @extschema@.idem_fence(text, bigint),
    @extschema@.idem_lock_hash(text),
    @extschema@.idem_durable_locks()
FROM PUBLIC;
