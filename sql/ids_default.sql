-- Ids as the default of a column, wherever rows come from.
SET idem.node_id = 7;
SET TIME ZONE 'UTC';
SELECT idem_snowflake_create('orders_id') AS made \gset
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT idem_snowflake('orders_id'), item text);
ALTER SEQUENCE orders_id OWNED BY orders.id;
INSERT INTO orders (item) VALUES ('a') RETURNING (idem_snowflake_parts(id, 'orders_id')).node;
INSERT INTO orders (item) SELECT 'b' FROM generate_series(1, 1000);
INSERT INTO orders VALUES (DEFAULT, 'c'), (DEFAULT, 'c');
INSERT INTO orders VALUES (1, 'given');
COPY orders (item) FROM stdin;
d
d
d
\.
COPY orders FROM stdin;
2	given
\.
PREPARE add AS INSERT INTO orders (item) VALUES ('e');
EXECUTE add;
EXECUTE add;
INSERT INTO orders VALUES (1, 'twice') ON CONFLICT (id) DO UPDATE SET id = DEFAULT, item = 'moved';
SELECT item, count(*) FROM orders GROUP BY item ORDER BY item;
SELECT count(*) FILTER (WHERE id <= previous) AS not_greater
FROM (SELECT id, lag(id) OVER (ORDER BY ctid) AS previous FROM orders WHERE item <> 'given') AS o;
-- New columns get one id for each row.
CREATE TABLE old_rows AS SELECT n FROM generate_series(1, 100) AS n;
ALTER TABLE old_rows ADD id bigint NOT NULL UNIQUE DEFAULT idem_snowflake();
SELECT count(DISTINCT id) FROM old_rows;

-- Nothing is given back: a transaction that is rolled back leaves a gap.
BEGIN;
INSERT INTO orders (item) VALUES ('gone') RETURNING id AS gone \gset
ROLLBACK;
INSERT INTO orders (item) VALUES ('next') RETURNING id > :gone AS greater;
BEGIN;
INSERT INTO orders (item) VALUES ('kept');
SAVEPOINT s;
INSERT INTO orders (item) VALUES ('gone') RETURNING id AS gone \gset
ROLLBACK TO s;
INSERT INTO orders (item) VALUES ('kept') RETURNING id > :gone AS greater;
SAVEPOINT s;
SELECT idem_snowflake('orders_id') > :gone AS greater;
RELEASE s;
COMMIT;
DO $$
BEGIN
    FOR i IN 1..100 LOOP
        BEGIN
            INSERT INTO orders (item) VALUES ('loop');
            IF i % 2 = 0 THEN RAISE division_by_zero; END IF;
        EXCEPTION WHEN division_by_zero THEN NULL;
        END;
    END LOOP;
END $$;
SELECT count(*), count(DISTINCT id) FROM orders WHERE item IN ('kept', 'loop', 'next');

-- Isolation levels make no difference.
CREATE PROCEDURE add_two() LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO orders (item) SELECT current_setting('transaction_isolation') FROM generate_series(1, 2);
END $$;
BEGIN ISOLATION LEVEL READ COMMITTED;
CALL add_two();
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
CALL add_two();
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
CALL add_two();
COMMIT;
SELECT item, count(DISTINCT id) FROM orders WHERE item ~ '^(read|repeat|serial)' GROUP BY item ORDER BY max(id);
BEGIN READ ONLY;
SELECT idem_snowflake('orders_id');
\echo :SQLSTATE
ROLLBACK;
BEGIN READ ONLY;
SELECT count(*) FROM idem_snowflake_batch(0);
\echo :SQLSTATE
ROLLBACK;

-- Partitions: by the id itself, by an expression of the time, and as the default of a partition.
CREATE TABLE events (id bigint NOT NULL DEFAULT idem_snowflake('orders_id'), note text) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE events_past PARTITION OF events FOR VALUES FROM (0) TO (%s)',
    idem_snowflake_floor('2026-01-01 00:00:00+00', 'orders_id')) \gexec
SELECT format('CREATE TABLE events_present PARTITION OF events FOR VALUES FROM (%s) TO (%s)',
    idem_snowflake_floor('2026-01-01 00:00:00+00', 'orders_id'),
    idem_snowflake_floor('2090-01-01 00:00:00+00', 'orders_id')) \gexec
INSERT INTO events (note) SELECT 'now' FROM generate_series(1, 10);
COPY events (note) FROM stdin;
copied
copied
\.
INSERT INTO events VALUES (idem_snowflake_floor('2025-06-01 00:00:00+00', 'orders_id'), 'old');
SELECT tableoid::regclass, note, count(DISTINCT id) FROM events GROUP BY tableoid, note
ORDER BY tableoid::regclass::text, note;
CREATE TABLE by_hash (id bigint NOT NULL DEFAULT idem_snowflake('orders_id')) PARTITION BY HASH (id);
CREATE TABLE by_hash_0 PARTITION OF by_hash FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE by_hash_1 PARTITION OF by_hash FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO by_hash SELECT FROM generate_series(1, 1000);
SELECT count(DISTINCT id), count(DISTINCT tableoid) AS partitions FROM by_hash;
-- Ranges of time by the index on the id.
SET enable_seqscan = off;
EXPLAIN (COSTS off) SELECT FROM orders
WHERE id >= idem_snowflake_floor('2026-01-01 00:00:00+00', 'orders_id')
    AND id < idem_snowflake_floor('2026-02-01 00:00:00+00', 'orders_id');
RESET enable_seqscan;

DROP TABLE events, by_hash, old_rows, orders;
DROP PROCEDURE add_two;
SELECT to_regclass('orders_id') IS NULL AS owned_and_gone;
