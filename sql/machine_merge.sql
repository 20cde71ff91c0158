-- MERGE, which PostgreSQL has from 15 on: each of its actions is judged like the statement that it stands for.
SELECT current_setting('server_version_num')::integer < 150000 AS skip_test \gset
\if :skip_test
\quit
\endif
\set SHOW_CONTEXT never
SELECT idem_machine_define('order', '{new}', '{{new,paid},{paid,shipped},{new,cancelled}}');
CREATE TABLE orders (id integer PRIMARY KEY, status text DEFAULT 'new', note text);
CREATE TABLE incoming (id integer, status text);
SELECT idem_machine_attach('orders', 'status', 'order', history => true);
CREATE PROCEDURE merge() LANGUAGE sql AS $$
    MERGE INTO orders AS o USING incoming AS i ON o.id = i.id
    WHEN MATCHED AND i.status = 'gone' THEN DELETE
    WHEN MATCHED AND i.status = 'keep' THEN DO NOTHING
    WHEN MATCHED THEN UPDATE SET status = i.status
    WHEN NOT MATCHED THEN INSERT VALUES (i.id, i.status)
$$;
INSERT INTO incoming VALUES (1, 'new'), (2, 'new'), (3, 'new'), (4, 'new');
CALL merge();
UPDATE incoming SET status = 'paid';
CALL merge();
UPDATE incoming SET status = (ARRAY['shipped', 'keep', 'gone', 'paid'])[id];
INSERT INTO incoming VALUES (5, 'new');
CALL merge();
SELECT id, status FROM orders ORDER BY id;
-- A birth elsewhere, a jump, a way out of a final state, an unknown state and NULL each take all of it back.
SELECT id, status, attempt(format('WITH i AS (DELETE FROM incoming),
    j AS (INSERT INTO incoming VALUES (6, ''new''), (%s, %L)) SELECT 1', id, status)), attempt('CALL merge()')
FROM (VALUES (7, 'paid'), (5, 'shipped'), (1, 'paid'), (5, 'nonsense'), (5, NULL)) AS v (id, status);
SELECT id, status FROM orders ORDER BY id;
SELECT key, from_state, to_state FROM idem_history ORDER BY key ->> 'id', id;
DROP TABLE orders, incoming;
-- Moves between partitions, beside births.
DELETE FROM idem_history;
CREATE TABLE orders (id integer, status text DEFAULT 'new', region integer, PRIMARY KEY (id, region))
    PARTITION BY LIST (region);
CREATE TABLE orders_1 PARTITION OF orders FOR VALUES IN (1);
CREATE TABLE orders_2 PARTITION OF orders FOR VALUES IN (2);
SELECT idem_machine_attach('orders', 'status', 'order', history => true);
INSERT INTO orders VALUES (1, 'new', 1), (2, 'new', 2);
MERGE INTO orders AS o USING generate_series(1, 4) AS i ON o.id = i
WHEN MATCHED THEN UPDATE SET region = 3 - region, status = 'paid'
WHEN NOT MATCHED THEN INSERT VALUES (i, 'new', 1);
SELECT attempt('MERGE INTO orders AS o USING generate_series(1, 9) AS i ON o.id = i
    WHEN MATCHED THEN UPDATE SET region = 3 - region WHEN NOT MATCHED THEN INSERT VALUES (i, ''paid'', 2)');
SELECT tableoid::regclass, id, status FROM orders ORDER BY id;
SELECT key, from_state, to_state FROM idem_history ORDER BY key ->> 'id', id;
DROP TABLE orders;
DROP PROCEDURE merge;
DELETE FROM idem_machines;
DELETE FROM idem_history;
