-- A column of the type citext, where it is there: states are told apart as the type does, without regard to case.
SELECT NOT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'citext') AS skip_test \gset
\if :skip_test
\quit
\endif
\set SHOW_CONTEXT never
CREATE SCHEMA elsewhere;
CREATE EXTENSION citext SCHEMA elsewhere;
CREATE DOMAIN status_domain AS elsewhere.citext;
SELECT idem_machine_define('order', '{New}', '{{New,paid,pay},{paid,shipped,ship}}');
CREATE TABLE orders (id integer PRIMARY KEY, status elsewhere.citext, other status_domain DEFAULT 'nEW');
SELECT idem_machine_attach('orders', 'status', 'order', history => true),
    idem_machine_attach('orders', 'other', 'order');
-- The type's operators are not in the search_path, and need not be.
INSERT INTO orders VALUES (1, 'new'), (2, 'NEW'), (3, 'New');
SELECT attempt(call) FROM unnest(ARRAY['INSERT INTO orders VALUES (4, ''Paid'')',
    'UPDATE orders SET status = ''SHIPPED''',
    'UPDATE orders SET other = ''sHIPPED''', 'UPDATE orders SET other = ''lost''',
    'UPDATE orders SET other = ''PAID'' WHERE id = 1',
    'UPDATE orders SET other = ''new'' WHERE id = 1']) AS call;
-- Another spelling is the same state, but the value that is stored.
UPDATE orders SET status = 'nEw' WHERE id = 1;
UPDATE orders SET status = 'PAID' WHERE id = 1;
SELECT * FROM idem_fire('orders', '2', 'pay', col => 'status');
SELECT * FROM idem_fire('orders', '1', 'pay', col => 'status');
SELECT * FROM idem_fire('orders', '1', 'ship', col => 'status');
SELECT id, status, other FROM orders ORDER BY id;
SELECT key, from_state, to_state FROM idem_history ORDER BY id;
SELECT * FROM idem_machine_validate('orders', 'status');
SELECT idem_machine_diagram('order', rel => 'orders', col => 'status');
-- A state that rows are in, and moving them.
SELECT attempt($$SELECT idem_machine_define('order', '{paid}', '{{paid,shipped,ship}}')$$);
SELECT idem_machine_migrate('orders', 'status', '{"new": "paid"}');
SELECT idem_machine_migrate('orders', 'other', '{"NEW": "paid"}');
SELECT id, status, other FROM orders ORDER BY id;
-- Two states that are one value of the type would be one state.
SELECT idem_machine_define('twice', '{New}', '{{New,paid},{paid,new}}');
CREATE TABLE other_orders (status elsewhere.citext, strict text);
SELECT idem_machine_attach('other_orders', 'strict', 'twice');
SELECT left(attempt($$SELECT idem_machine_attach('other_orders', 'status', 'twice')$$), 5);
DROP TABLE orders, other_orders;
DROP DOMAIN status_domain;
DROP EXTENSION citext;
DROP SCHEMA elsewhere;
DELETE FROM idem_machines;
DELETE FROM idem_history;
