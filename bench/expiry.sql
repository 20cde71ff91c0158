-- :records finished keys, of which :expired have expired: the first ones, or :spread all over the table in an order
-- that has nothing to do with their place. Cleanup is paused until it is measured.
CREATE EXTENSION pg_idem;
CREATE EXTENSION pg_prewarm;
INSERT INTO idem_records (scope, key, status, token, attempt, owner, created_at, lease_expires_at, expires_at,
    completed_at, code, result)
SELECT 'default', n, 'finished', n, 1, 'pgbench', now(), now() + interval '1 minute',
    CASE
        WHEN NOT :spread AND n <= :expired THEN now() - interval '1 day' + n * interval '1 microsecond'
        WHEN :spread AND n % (:records / :expired) = 0
            THEN now() - interval '1 day' - (hashint8(n) & 2147483647) * interval '1 microsecond'
        ELSE now() + interval '30 days' + n * interval '1 microsecond'
    END,
    now(), 200, '{"id": 42}'
FROM generate_series(1, :records) AS n;
VACUUM (FREEZE, ANALYZE) idem_records;
SELECT idem_cleanup_pause();

-- What people write by hand. The sub-select locks what it finds and passes over what others have locked. A cursor
-- keeps it from reading the index entries of what it deleted before again with each batch. `locking` is left out
-- where nobody minds that the deletion waits for others.
CREATE PROCEDURE expire_by_hand(locking text, INOUT rows bigint DEFAULT 0, INOUT seconds float8 DEFAULT 0)
LANGUAGE plpgsql AS $$
DECLARE
    started timestamptz := clock_timestamp();
    reached timestamptz := '-infinity';
    last timestamptz;
    deleted bigint;
BEGIN
    LOOP
        IF locking = 'skip locked' THEN
            WITH gone AS (
                DELETE FROM idem_records WHERE ctid = ANY (ARRAY(
                    SELECT ctid FROM idem_records WHERE expires_at <= now() AND expires_at >= reached
                    ORDER BY expires_at LIMIT 1000 FOR UPDATE SKIP LOCKED
                )) RETURNING expires_at
            ) SELECT max(expires_at), count(*) INTO last, deleted FROM gone;
        ELSE
            WITH gone AS (
                DELETE FROM idem_records WHERE ctid = ANY (ARRAY(
                    SELECT ctid FROM idem_records WHERE expires_at <= now() AND expires_at >= reached
                    ORDER BY expires_at LIMIT 1000
                )) AND expires_at <= now() RETURNING expires_at
            ) SELECT max(expires_at), count(*) INTO last, deleted FROM gone;
        END IF;
        COMMIT;
        EXIT WHEN deleted = 0;
        reached := last;
        rows := rows + deleted;
    END LOOP;
    seconds := extract(epoch FROM clock_timestamp() - started);
END
$$;
