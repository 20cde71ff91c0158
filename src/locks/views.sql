CREATE VIEW @extschema@.idem_locks AS
    WITH entries AS MATERIALIZED (
        SELECT kind, hash, name, pid, granted, token, acquired_at FROM @extschema@.idem_lock_entries()
    )
    SELECT lock.key AS name, 'durable'::pg_catalog.text AS kind, lock.owner AS holder, lock.token,
        lock.created_at AS acquired_at, lock.lease_expires_at AS expires_at,
        GREATEST(lock.lease_expires_at OPERATOR(pg_catalog.-) pg_catalog.clock_timestamp(), '0') AS remaining,
        (SELECT pg_catalog.count(*) FROM entries AS waiting
            WHERE waiting.kind OPERATOR(pg_catalog.=) 'queue'
                AND waiting.hash OPERATOR(pg_catalog.=) @extschema@.idem_lock_hash(lock.key)) AS waiters,
        NULL::pg_catalog.int4 AS pid, lock.checkpoint_data AS data
    FROM @extschema@.idem_records AS lock
    WHERE lock.scope OPERATOR(pg_catalog.=) 'idem.lock' AND lock.status OPERATOR(pg_catalog.=) 'in_progress'
        AND lock.lease_expires_at OPERATOR(pg_catalog.+) pg_catalog.make_interval(
            secs => COALESCE(lock.code, 0) OPERATOR(pg_catalog./) 1000.0)
            OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
    UNION ALL
    SELECT held.name COLLATE "C", held.kind,
        COALESCE(NULLIF(session.application_name, ''), session.usename::pg_catalog.text) COLLATE "C" AS holder,
        held.token, held.acquired_at,
        NULL::pg_catalog.timestamptz AS expires_at, NULL::pg_catalog.interval AS remaining,
        (SELECT pg_catalog.count(*) FROM entries AS waiting
            WHERE NOT waiting.granted AND waiting.kind OPERATOR(pg_catalog.<>) 'queue'
                AND waiting.hash OPERATOR(pg_catalog.=) held.hash) AS waiters,
        held.pid, NULL::pg_catalog.jsonb AS data
    FROM entries AS held
    LEFT JOIN pg_catalog.pg_stat_activity AS session ON session.pid OPERATOR(pg_catalog.=) held.pid
    WHERE held.granted AND held.kind OPERATOR(pg_catalog.<>) 'queue';
REVOKE ALL ON TABLE @extschema@.idem_locks FROM PUBLIC;
COMMENT ON VIEW @extschema@.idem_locks IS 'the locks of this database that are held now';
