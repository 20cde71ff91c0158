-- Locks of sessions and transactions.
CREATE FUNCTION @extschema@.idem_session_lock(name text, wait interval DEFAULT NULL)
    RETURNS @extschema@.idem_lock_grant
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_session_lock(text, interval) IS
    'takes a lock that this session holds until it releases it or ends';

CREATE FUNCTION @extschema@.idem_session_unlock(name text) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_session_unlock(text) IS
    'releases a lock of idem_session_lock once, and says how often it is still held';

CREATE FUNCTION @extschema@.idem_xact_lock(name text, wait interval DEFAULT NULL)
    RETURNS @extschema@.idem_lock_grant
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_xact_lock(text, interval) IS
    'takes a lock that this transaction holds until it ends';

CREATE FUNCTION @extschema@.idem_lock_entries(
    OUT kind text,
    OUT hash bigint,
    OUT name text,
    OUT pid integer,
    OUT granted boolean,
    OUT token bigint,
    OUT acquired_at timestamptz
) RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10;
COMMENT ON FUNCTION @extschema@.idem_lock_entries() IS
    'what the lock manager of the server knows of the locks of this database that pg_idem takes there';

REVOKE ALL ON FUNCTION
    @extschema@.idem_session_lock(text, interval),
    @extschema@.idem_session_unlock(text),
    @extschema@.idem_xact_lock(text, interval),
    @extschema@.idem_lock_entries()
FROM PUBLIC;
