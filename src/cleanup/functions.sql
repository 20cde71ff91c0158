CREATE FUNCTION @extschema@.idem_purge(max_rows bigint DEFAULT 1000) RETURNS bigint
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_purge(bigint) IS
    'delete or archive up to max_rows expired records, oldest first; returns how many';

CREATE FUNCTION @extschema@.idem_cleanup_now() RETURNS void
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_cleanup_now() IS
    'have the cleanup worker visit this database at once, whatever the window says';

CREATE FUNCTION @extschema@.idem_cleanup_pause() RETURNS void
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_cleanup_pause() IS
    'stop the cleanup worker in this database until idem_cleanup_resume, also across restarts';

CREATE FUNCTION @extschema@.idem_cleanup_resume() RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_cleanup_resume() IS
    'end a pause, and release tables held after a restore; false when there was nothing to resume';

CREATE FUNCTION @extschema@.idem_expire_attach(
    rel regclass,
    col name,
    after interval,
    batch integer DEFAULT NULL,
    action text DEFAULT 'delete',
    archive regclass DEFAULT NULL
) RETURNS void
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_expire_attach(regclass, name, interval, integer, text, regclass) IS
    'let rows of a table expire, some time after the time in one of its columns';

CREATE FUNCTION @extschema@.idem_expire_detach(rel regclass) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.idem_expire_detach(regclass) IS
    'let rows of a table stay; false when they did not expire';

CREATE FUNCTION @extschema@.idem_expire_run(
    rel regclass DEFAULT NULL,
    max_rows bigint DEFAULT 1000,
    OUT expired regclass,
    OUT rows bigint,
    OUT more boolean
) RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10;
COMMENT ON FUNCTION @extschema@.idem_expire_run(regclass, bigint) IS
    'expire up to max_rows rows of one attached table, or of each, in this transaction';

CREATE FUNCTION @extschema@.idem_cleanup_status(
    OUT relation regclass,
    OUT action text,
    OUT state text,
    OUT started_at timestamptz,
    OUT finished_at timestamptz,
    OUT last_success_at timestamptz,
    OUT rows bigint,
    OUT batches bigint,
    OUT errors bigint,
    OUT last_error text,
    OUT last_error_at timestamptz,
    OUT oldest_expired_age interval,
    OUT backlog_estimate bigint,
    OUT next_run_at timestamptz
) RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10;
COMMENT ON FUNCTION @extschema@.idem_cleanup_status() IS
    'what idem_stat_cleanup shows';

CREATE VIEW @extschema@.idem_stat_cleanup AS
    SELECT relation, action, state, started_at, finished_at, last_success_at, rows, batches, errors, last_error,
        last_error_at, oldest_expired_age, backlog_estimate, next_run_at
    FROM @extschema@.idem_cleanup_status();
REVOKE ALL ON TABLE @extschema@.idem_stat_cleanup FROM PUBLIC;
COMMENT ON VIEW @extschema@.idem_stat_cleanup IS
    'cleanup of this database, a row for each table: what it did since the server started, and what is left to do';

REVOKE ALL ON FUNCTION
    @extschema@.idem_purge(bigint),
    @extschema@.idem_cleanup_now(),
    @extschema@.idem_cleanup_pause(),
    @extschema@.idem_cleanup_resume(),
    @extschema@.idem_expire_attach(regclass, name, interval, integer, text, regclass),
    @extschema@.idem_expire_detach(regclass),
    @extschema@.idem_expire_run(regclass, bigint),
    @extschema@.idem_cleanup_status()
FROM PUBLIC;
