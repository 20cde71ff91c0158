-- A machine leaves the table as it is: no index of its own, and updates of the status stay heap-only.
SET client_min_messages = warning;
SELECT idem_machine_define('order', '{new}', '{{new,paid,pay},{paid,shipped,ship}}');
CREATE TABLE orders (id integer PRIMARY KEY, status text DEFAULT 'new') WITH (fillfactor = 50);
SELECT idem_machine_attach('orders', 'status', 'order', history => true);
SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 'orders'::regclass;
INSERT INTO orders SELECT * FROM generate_series(1, 10);
BEGIN;
UPDATE orders SET status = 'paid';
SELECT outcome FROM idem_fire('orders', '1', 'ship');
SELECT pg_stat_get_xact_tuples_updated('orders'::regclass) AS updated,
    pg_stat_get_xact_tuples_hot_updated('orders'::regclass) AS heap_only;
COMMIT;
DROP TABLE orders;
DELETE FROM idem_history;
DELETE FROM idem_machines;
