-- Ids grow, whatever the clock, the server's number and the sequence's own functions do.
SET idem.node_id = 7;
SELECT idem_snowflake() AS a, idem_snowflake() AS b \gset
SELECT :a < :b AS grows, pg_typeof(idem_snowflake());
SELECT clock_timestamp() - at BETWEEN '0' AND '1 min' AS just_now, node FROM idem_snowflake_parts(:a);
-- Not the transaction's time: each call reads the clock.
BEGIN;
SELECT at AS before FROM idem_snowflake_parts(idem_snowflake()) \gset
DO $$
DECLARE
    began timestamptz := clock_timestamp();
BEGIN
    WHILE clock_timestamp() < began + '20 ms' LOOP
    END LOOP;
END $$;
SELECT at >= :'before'::timestamptz + '20 ms' AS later FROM idem_snowflake_parts(idem_snowflake());
COMMIT;
SELECT count(DISTINCT id) AS ids, count(*) FILTER (WHERE id <= previous) AS not_greater
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS previous
    FROM (SELECT n, idem_snowflake() AS id FROM generate_series(1, 50000) AS n) AS drawn) AS compared;

-- With the clock behind the last id, ids count on from it, and go to the next millisecond when the counter is full.
SELECT idem_snowflake_create('ids') AS made \gset
CREATE FUNCTION set_ahead(ahead interval, node integer, counter integer) RETURNS bigint LANGUAGE sql AS $$
    SELECT setval('ids', idem_snowflake_floor(clock_timestamp() + ahead, 'ids') + node * 4096 + counter)
$$;
CREATE VIEW next AS
    SELECT id - last_value AS step, p.node, p.counter, p.at - l.at AS later
    FROM ids, idem_snowflake_parts(last_value, 'ids') AS l, LATERAL (SELECT idem_snowflake('ids') AS id) AS n,
        LATERAL idem_snowflake_parts(id, 'ids') AS p;
SELECT set_ahead('9 s', 7, 0) AS last \gset
SELECT * FROM next;
SELECT * FROM next;
SELECT set_ahead('9 s', 7, 4094) AS last \gset
SELECT * FROM next;
SELECT * FROM next;
-- The greatest and the least number of a server.
SET idem.node_id = 1023;
SELECT * FROM next;
SET idem.node_id = 0;
SELECT * FROM next;
SELECT * FROM next;
SET idem.node_id = 7;
SELECT * FROM next;
-- A lower number waits for the next millisecond, a higher one need not.
SET idem.node_id = 6;
SELECT * FROM next;
SET idem.node_id = 8;
SELECT * FROM next;
\set VERBOSITY sqlstate
SET idem.node_id = 1024;
SET idem.node_id = -2;
\set VERBOSITY default
SHOW idem.node_id;

-- nextval and setval on the same sequence do no harm: what they give is not given again.
SET idem.node_id = 7;
SELECT set_ahead('8 s', 7, 4090) AS last \gset
SELECT nextval('ids') - :last AS step;
SELECT * FROM next;
SELECT nextval('ids') - :last AS step;
SELECT * FROM next;
SELECT setval('ids', :last + 1000 * 4194304::bigint + 4) - :last AS step;
SELECT * FROM next;
-- Called or not makes a difference to nextval only.
SELECT setval('ids', :last + 1001 * 4194304::bigint, false) - :last AS step;
SELECT * FROM next;
SELECT is_called FROM ids;
-- Set back, the sequence follows the clock again.
SELECT setval('ids', 1) AS last;
SELECT clock_timestamp() - at BETWEEN '0' AND '1 min' AS just_now
FROM idem_snowflake_parts(idem_snowflake('ids'), 'ids');
ALTER SEQUENCE ids RESTART;
SELECT clock_timestamp() - at BETWEEN '0' AND '1 min' AS just_now
FROM idem_snowflake_parts(idem_snowflake('ids'), 'ids');
-- currval and lastval know what nextval gave.
\c -
SELECT idem_snowflake() IS NULL;
SET idem.node_id = 7;
SELECT idem_snowflake() IS NULL;
SELECT currval('idem_snowflake_seq');
\echo :SQLSTATE

-- Too far ahead of the clock is an error that says how far.
SHOW idem.max_clock_back;
CREATE FUNCTION try_ids() RETURNS text LANGUAGE sql AS $$
    SELECT regexp_replace(regexp_replace(attempt('SELECT FROM idem_snowflake(''ids'')'), '\d+ ms behind', '# ms behind'),
        'would be of .*, and', 'would be of #, and')
$$;
SELECT set_ahead('1 h', 7, 0) AS last \gset
SELECT try_ids();
SELECT last_value = :last AS unchanged FROM ids;
SET idem.max_clock_back = '3601 s';
SELECT try_ids();
RESET idem.max_clock_back;
SELECT try_ids() ~ '^ID040' AS refused;
\set VERBOSITY sqlstate
SET idem.max_clock_back = '999 ms';
\set VERBOSITY default
SET idem.max_clock_back = '1 s';
SELECT set_ahead('900 ms', 7, 0) AS last \gset
SELECT try_ids();
RESET idem.max_clock_back;
-- At the end of the bits, in 2094.
SET idem.max_clock_back = 2147483647;
SELECT setval('ids', 9223372036854775807);
SELECT try_ids() ~ '^ID040' AS refused;
RESET idem.max_clock_back;

-- A number that would travel with a dump is refused.
SELECT current_database() AS own \gset
ALTER DATABASE :"own" SET idem.node_id = 7;
CREATE ROLE regress_idem_ids;
ALTER ROLE regress_idem_ids SET idem.node_id = 7;
CREATE FUNCTION with_number() RETURNS bigint LANGUAGE sql SET idem.node_id = 7 AS 'SELECT idem_snowflake()';
-- Applications choose neither.
SET ROLE regress_idem_ids;
\set VERBOSITY sqlstate
SET idem.node_id = 7;
SET idem.max_clock_back = '1 h';
\set VERBOSITY default
RESET ROLE;
DROP ROLE regress_idem_ids;
DROP VIEW next;
DROP FUNCTION try_ids, set_ahead;
DROP SEQUENCE ids;
