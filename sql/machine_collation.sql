-- A column whose collation takes different strings for equal, where the server has ICU.
SELECT NOT EXISTS (SELECT FROM pg_collation WHERE collprovider = 'i')
    OR pg_encoding_to_char(encoding) <> 'UTF8' AS skip_test FROM pg_database WHERE datname = current_database() \gset
\if :skip_test
\quit
\endif
\set SHOW_CONTEXT never
CREATE COLLATION careless (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
CREATE DOMAIN careless_text AS text COLLATE careless;
SELECT idem_machine_define('order', '{größe}', '{{größe,Paid,pay},{Paid,shipped,ship}}');
CREATE TABLE orders (id integer PRIMARY KEY, status text COLLATE careless, other careless_text DEFAULT 'GROSSE',
    strict varchar COLLATE "C" DEFAULT 'größe');
SELECT idem_machine_attach('orders', col, 'order', history => col = 'status')
    FROM unnest('{status,other,strict}'::name[]) AS col;
INSERT INTO orders VALUES (1, 'Grosse'), (2, 'größe'), (3, 'GRÖSSE');
SELECT attempt(call) FROM unnest(ARRAY['INSERT INTO orders VALUES (4, ''paid'')',
    'UPDATE orders SET status = ''shipped''',
    'UPDATE orders SET strict = ''Grosse''', 'UPDATE orders SET strict = ''paid''',
    'UPDATE orders SET strict = ''Paid''',
    'UPDATE orders SET other = ''påid'' WHERE id = 1', 'UPDATE orders SET other = ''grosse'' WHERE id = 1']) AS call;
UPDATE orders SET status = 'grosse' WHERE id = 1;
UPDATE orders SET status = 'PAID' WHERE id = 1;
SELECT * FROM idem_fire('orders', '2', 'pay', col => 'status');
SELECT * FROM idem_fire('orders', '1', 'ship', col => 'status');
SELECT id, status, other, strict FROM orders ORDER BY id;
SELECT key, from_state, to_state FROM idem_history ORDER BY id;
SELECT idem_machine_migrate('orders', 'status', '{"GROSSE": "Paid"}');
SELECT id, status FROM orders ORDER BY id;
SELECT * FROM idem_machine_validate('orders', 'status');
DROP TABLE orders;
-- Keys are told apart by the index, whatever the collation of their column.
CREATE TABLE strict_keys (k text COLLATE careless NOT NULL, version integer NOT NULL DEFAULT 1);
CREATE UNIQUE INDEX ON strict_keys (k COLLATE "C");
CREATE TABLE careless_keys (k text COLLATE "C" NOT NULL, version integer NOT NULL DEFAULT 1);
CREATE UNIQUE INDEX ON careless_keys (k COLLATE careless);
INSERT INTO strict_keys VALUES ('a'), ('A');
INSERT INTO careless_keys VALUES ('Größe');
SELECT idem_version_attach(rel) FROM unnest('{strict_keys,careless_keys}'::regclass[]) AS rel;
SELECT attempt($$SELECT idem_cas('strict_keys', '{"k": "A"}', 1, '{}')$$), attempt($$SELECT idem_cas('careless_keys', '{"k": "grosse"}', 1, '{}')$$);
SELECT k COLLATE "C" AS k, version FROM strict_keys UNION ALL SELECT k, version FROM careless_keys ORDER BY k;
DROP TABLE strict_keys, careless_keys;
DROP DOMAIN careless_text;
DROP COLLATION careless;
DELETE FROM idem_machines;
DELETE FROM idem_history;
