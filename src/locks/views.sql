CREATE VIEW @extschema@.idem_locks AS
    WITH entries AS MATERIALIZED (
        SELECT kind, hash, name, pid, granted, token, acquired_at FROM @extschema@.idem_lock_entries()
    )
    SELECT lock.name, 'durable'::pg_catalog.text AS kind, lock.holder, lock.token, lock.acquired_at, lock.expires_at,
        lock.remaining,
        (SELECT pg_catalog.count(waiting.pid) FROM entries AS waiting
            WHERE waiting.kind OPERATOR(pg_catalog.=) 'queue'
                AND waiting.hash OPERATOR(pg_catalog.=) lock.hash) AS waiters,
        NULL::pg_catalog.int4 AS pid, lock.data
    FROM @extschema@.idem_durable_locks() AS lock
    UNION ALL
    SELECT held.name, held.kind,
        CASE WHEN session.application_name OPERATOR(pg_catalog.<>) '' THEN session.application_name
            ELSE session.usename::pg_catalog.text END AS holder,
        held.token, held.acquired_at,
        NULL::pg_catalog.timestamptz AS expires_at, NULL::pg_catalog.interval AS remaining,
        (SELECT pg_catalog.count(waiting.pid) FROM entries AS waiting
            WHERE NOT waiting.granted AND waiting.kind OPERATOR(pg_catalog.<>) 'queue'
                AND waiting.hash OPERATOR(pg_catalog.=) held.hash) AS waiters,
        held.pid, NULL::pg_catalog.jsonb AS data
    FROM entries AS held
    LEFT JOIN pg_catalog.pg_stat_activity AS session ON session.pid OPERATOR(pg_catalog.=) held.pid
    WHERE held.granted AND held.kind OPERATOR(pg_catalog.<>) 'queue';
REVOKE ALL ON TABLE @extschema@.idem_locks FROM PUBLIC;
COMMENT ON VIEW @extschema@.idem_locks IS 'the locks of this database that are held now';
