-- Many ids at once.
SET idem.node_id = 7;
SELECT idem_snowflake_create('ids') AS made \gset
SELECT count(*) FROM idem_snowflake_batch(0, 'ids');
SELECT is_called FROM ids;
SELECT count(*) FROM idem_snowflake_batch(1, 'ids');
SELECT is_called FROM ids;
SELECT idem_snowflake('ids') AS before \gset
SELECT count(*), count(DISTINCT id), min(id) > :before AS greater, max(id) = (SELECT last_value FROM ids) AS last
FROM idem_snowflake_batch(1000000, 'ids') AS id;
SELECT idem_snowflake('ids') > last_value AS greater FROM ids;
-- In order, with the server's number, and as those drawn one by one would have been.
SELECT count(*), count(*) FILTER (WHERE id <= previous) AS not_greater, count(*) FILTER (WHERE node <> 7) AS elsewhere,
    max(counter), min(counter)
FROM (SELECT id, (idem_snowflake_parts(id, 'ids')).*, lag(id) OVER (ORDER BY n) AS previous
    FROM idem_snowflake_batch(10000, 'ids') WITH ORDINALITY AS b (id, n)) AS b;
SELECT setval('ids', idem_snowflake_floor(clock_timestamp() + '5 s', 'ids') + 7 * 4096 + 4093) AS last \gset
SELECT id - :last AS step, counter FROM idem_snowflake_batch(5, 'ids') AS id, idem_snowflake_parts(id, 'ids');
SELECT id - :last AS step FROM idem_snowflake('ids') AS id;
-- In the list of columns, with a limit: the batch was drawn as a whole.
SELECT setval('ids', idem_snowflake_floor(clock_timestamp() + '5 s', 'ids') + 7 * 4096) AS last \gset
SELECT idem_snowflake_batch(100, 'ids') - :last AS step LIMIT 2;
SELECT last_value - :last AS step FROM ids;
SELECT id - :last AS step, count(*)
FROM (VALUES (0), (2), (1)) AS v (n), idem_snowflake_batch(n, 'ids') AS id GROUP BY id ORDER BY id;
CREATE TABLE rows (id bigint PRIMARY KEY, n bigint);
INSERT INTO rows SELECT id, n FROM idem_snowflake_batch(1000, 'ids') WITH ORDINALITY AS b (id, n);
SELECT count(*) FROM rows;
DROP TABLE rows;
-- What is no number of ids.
SELECT count(*) FROM idem_snowflake_batch(-1, 'ids');
SELECT count(*) FROM idem_snowflake_batch(NULL, 'ids');
SELECT count(*) FROM idem_snowflake_batch(1, NULL);
SELECT count(*) FROM idem_snowflake_batch(10000001, 'ids');
SELECT count(*) FROM idem_snowflake_batch(2147483647, 'ids');
-- A batch that would run too far ahead of the clock is refused as a whole.
SET idem.max_clock_back = '1 s';
SELECT setval('ids', 1) AS last;
\set VERBOSITY sqlstate
SELECT count(*) FROM idem_snowflake_batch(10000000, 'ids');
\set VERBOSITY default
SELECT last_value FROM ids;
SELECT max(id) > 1 AS given FROM idem_snowflake_batch(1000000, 'ids') AS id;
RESET idem.max_clock_back;
DROP SEQUENCE ids;
