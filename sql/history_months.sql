-- The history of state machines is kept by the month; definitions of machines are kept for good.
SELECT idem_cleanup_pause();
DELETE FROM idem_records;
CREATE VIEW months AS
    SELECT replace(replace(c.relname, to_char(now() AT TIME ZONE 'UTC', 'YYYY_MM'), 'this month'),
            to_char(now() AT TIME ZONE 'UTC' - interval '70 days', 'YYYY_MM'), 'missed month') AS partition,
        pg_get_expr(c.relpartbound, c.oid) = format('FOR VALUES FROM (%L) TO (%L)',
            date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC',
            (date_trunc('month', now() AT TIME ZONE 'UTC') + interval '1 month') AT TIME ZONE 'UTC') AS bounds,
        c.relacl IS NOT NULL AND NOT EXISTS (SELECT FROM aclexplode(c.relacl) WHERE grantee = 0) AS closed,
        c.relowner = p.relowner AS owned, (SELECT regexp_replace(pg_get_indexdef(indexrelid), '^.* USING ', '')
            FROM pg_index WHERE indrelid = c.oid) AS index
    FROM pg_inherits JOIN pg_class AS c ON c.oid = inhrelid JOIN pg_class AS p ON p.oid = inhparent
    WHERE inhparent = 'idem_history'::regclass AND c.relname <> 'idem_history_default'
        -- In the last week of a month there is one for the next as well.
        AND c.relname <> to_char(now() AT TIME ZONE 'UTC' + interval '1 month', '"idem_history_"YYYY_MM')
    ORDER BY c.relname;
CREATE FUNCTION enter(event text, at timestamptz DEFAULT now()) RETURNS bigint LANGUAGE sql AS $$
    INSERT INTO idem_history (at, attachment, key, key_hash, machine, machine_version, from_state, to_state, event,
        data, xid, role)
    VALUES (at, 'public.orders.status', '{"id": 1}', 1, 'order', 1, 'new', 'paid', event, 'null', pg_current_xact_id(),
        current_user) RETURNING id
$$;
CREATE PROCEDURE drop_months() LANGUAGE plpgsql AS $$
DECLARE
    partition text;
BEGIN
    FOR partition IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'idem_history'::regclass LOOP
        EXECUTE 'DROP TABLE ' || partition;
    END LOOP;
END $$;

-- Nobody keeps a history: no month is made.
\set VERBOSITY sqlstate
SELECT enter('nowhere');
\set VERBOSITY default
SELECT idem_purge();
SELECT * FROM months;
-- Once there is a place for what comes early, months are made, and what came early is moved there.
CREATE TABLE idem_history_default PARTITION OF idem_history DEFAULT;
SELECT enter('early') < enter('early too') AS grows;
-- One whose month has passed meanwhile, and some that are in no month at hand.
SELECT count(enter(event, at)) FROM (VALUES ('missed', now() - interval '70 days'), ('next year', now() + '1 year'),
    ('never', 'infinity'), ('always', '-infinity'), ('long ago', '0044-03-15 00:00:00+00 BC')) AS e (event, at);
CREATE TABLE before AS SELECT * FROM idem_history;
BEGIN;
SELECT idem_purge();
SELECT partition FROM months;
ROLLBACK;
SELECT * FROM months;
SELECT idem_purge();
SELECT * FROM months;
SELECT event, tableoid = 'idem_history_default'::regclass AS in_default FROM idem_history ORDER BY id;
SELECT count(*) FROM (SELECT * FROM before INTERSECT SELECT * FROM idem_history) AS same;
DROP TABLE before;
SELECT enter('in time') > 0 AS entered;
SELECT tableoid = 'idem_history_default'::regclass AS in_default FROM idem_history WHERE event = 'in time';
SELECT idem_purge();
-- Months are those of UTC, whatever the session calls now.
CALL drop_months();
CREATE TABLE idem_history_default PARTITION OF idem_history DEFAULT;
SET TimeZone = 'Pacific/Kiritimati';
SELECT idem_purge();
RESET TimeZone;
SELECT * FROM months;
-- Who may read the history reads it through the table, and neither a month nor the table can be expired otherwise.
CREATE ROLE regress_idem_history;
SELECT idem_grant('regress_idem_history', true);
SELECT inhrelid::regclass AS month FROM pg_inherits WHERE inhparent = 'idem_history'::regclass
    AND inhrelid::regclass::text <> 'idem_history_default' LIMIT 1 \gset
\set VERBOSITY sqlstate
SELECT idem_expire_attach(:'month', 'at', '1 day');
SELECT idem_expire_attach('idem_history_default', 'at', '1 day');
SET ROLE regress_idem_history;
SELECT count(*) FROM idem_history;
SELECT count(*) FROM :month;
INSERT INTO idem_history SELECT * FROM idem_history;
SELECT nextval('idem_history_ids');
\set VERBOSITY default
RESET ROLE;
DROP OWNED BY regress_idem_history;
DROP ROLE regress_idem_history;
-- A name that is taken by something else is said.
DO $$
BEGIN
    CALL drop_months();
    CREATE TABLE idem_history_default PARTITION OF idem_history DEFAULT;
    EXECUTE format('CREATE VIEW %I AS SELECT 1 AS a', to_char(now() AT TIME ZONE 'UTC', '"idem_history_"YYYY_MM'));
    PERFORM idem_purge();
EXCEPTION WHEN duplicate_table THEN
    RAISE NOTICE '%', regexp_replace(SQLERRM, '[0-9]{4}_[0-9]{2}', 'YYYY_MM');
END $$;
DROP VIEW months;
CALL drop_months();
DROP PROCEDURE drop_months;
DROP FUNCTION enter;

-- What a definition can be named.
CREATE FUNCTION define(name text, version integer) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO idem_machines VALUES (name, version, 'stateDiagram-v2', now(), current_user);
    RETURN 'accepted';
EXCEPTION WHEN integrity_constraint_violation THEN
    RETURN SQLSTATE;
END $$;
SELECT left(name, 3) AS name, version, define(name, version) FROM (VALUES ('order', 1), ('order', 2), ('order', 1),
    ('order', 0), ('order', NULL), (NULL, 1), ('', 1), (repeat('x', 128), 1), (repeat('x', 129), 1),
    (repeat('ß', 64) || 'x', 1)) AS d (name, version);
DELETE FROM idem_machines;
DROP FUNCTION define;
SELECT idem_cleanup_resume();
