-- Every way to write a row passes the machine, and what is judged is the row that is stored.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SELECT idem_machine_define('order', '{new,draft}', '{{new,paid,pay},{paid,shipped,ship},{new,cancelled,cancel},
    {draft,new,submit}}');
CREATE TABLE orders (id integer PRIMARY KEY, status text DEFAULT 'new', note text);
SELECT idem_machine_attach('orders', 'status', 'order', history => true);
CREATE VIEW history AS
    SELECT substring(attachment FROM '[^.]*.[^.]*$') AS attachment, key, from_state, to_state
    FROM idem_history ORDER BY id;

-- Rows are born in an initial state, whichever statement brings them; one that is not takes its statement back.
INSERT INTO orders VALUES (1, 'new'), (2, 'draft'), (3, DEFAULT);
SELECT attempt(call) FROM unnest(ARRAY['INSERT INTO orders VALUES (4, ''paid'')',
    'INSERT INTO orders VALUES (4, ''nonsense'')',
    'INSERT INTO orders VALUES (4, NULL)', 'INSERT INTO orders VALUES (4, '''')',
    'INSERT INTO orders VALUES (4, ''NEW'')',
    'INSERT INTO orders VALUES (4, ''new '')', 'INSERT INTO orders VALUES (4, ''new''), (5, ''new''), (6, ''shipped'')',
    'INSERT INTO orders SELECT i, CASE WHEN i < 9 THEN ''new'' ELSE ''paid'' END
    FROM generate_series(4, 9) AS i']) AS call;
COPY orders (id, status) FROM stdin;
4	new
5	paid
6	new
\.
COPY orders (id, status) FROM stdin;
4	new
5	nonsense
\.
COPY orders (id, status) FROM stdin;
4	\N
\.
COPY orders (id, status) FROM stdin;
4	new
5	draft
\.
BEGIN;
TRUNCATE orders;
COPY orders (id, status) FROM stdin WITH (FREEZE);
1	new
2	shipped
\.
ROLLBACK;
SELECT id, status FROM orders ORDER BY id;

-- Changes: one row, many rows, all or none.
UPDATE orders SET status = 'paid' WHERE id = 1;
SELECT attempt(call) FROM unnest(ARRAY['UPDATE orders SET status = ''shipped''',
    'UPDATE orders SET status = ''nonsense'' WHERE id = 1',
    'UPDATE orders SET status = NULL WHERE id = 1', 'UPDATE orders SET status = ''cancelled'' WHERE id = 1',
    'UPDATE orders SET status = DEFAULT WHERE id = 1', 'UPDATE orders SET id = 9, status = ''new'' WHERE id = 1',
    'UPDATE orders AS o SET status = ''paid'' FROM orders AS p WHERE p.id = 1 AND o.id = 2']) AS call;
UPDATE orders SET status = CASE status WHEN 'new' THEN 'paid' WHEN 'draft' THEN 'new' ELSE status END;
SELECT id, status FROM orders ORDER BY id;
-- The unchanged value may always be written back, in a final state as well.
UPDATE orders SET status = 'shipped' WHERE id IN (1, 3);
UPDATE orders SET status = 'shipped', note = 'written back' WHERE id = 1;
UPDATE orders SET status = status;
UPDATE orders SET note = 'other column';
SELECT attempt('UPDATE orders SET status = ''paid'' WHERE id = 1');
SELECT count(*) AS changes, count(*) FILTER (WHERE from_state IS NULL) AS births FROM history;

-- Upserts: a row that is there is changed, not born, however far it is; what would be inserted is not judged then.
INSERT INTO orders VALUES (1, 'new', 'upsert') ON CONFLICT (id) DO UPDATE SET note = excluded.note
    RETURNING id, status, note;
INSERT INTO orders VALUES (1, 'paid', 'upsert 2') ON CONFLICT (id) DO UPDATE SET note = excluded.note
    RETURNING id, status, note;
INSERT INTO orders VALUES (1, 'nonsense') ON CONFLICT DO NOTHING RETURNING id;
INSERT INTO orders VALUES (2, 'new') ON CONFLICT (id) DO UPDATE SET status = 'paid' RETURNING id, status;
SELECT attempt(call) FROM unnest(ARRAY[
    'INSERT INTO orders VALUES (1, ''new'') ON CONFLICT (id) DO UPDATE SET status = excluded.status',
    'INSERT INTO orders VALUES (20, ''paid'') ON CONFLICT (id) DO UPDATE SET note = excluded.note',
    'INSERT INTO orders VALUES (20, ''paid'') ON CONFLICT DO NOTHING']) AS call;
INSERT INTO orders VALUES (20, 'new'), (2, 'new'), (21, 'draft')
ON CONFLICT (id) DO UPDATE SET status = 'shipped' WHERE orders.status = 'paid' RETURNING id, status;
SELECT * FROM history WHERE key IN ('{"id": 20}', '{"id": 2}', '{"id": 21}');
SELECT count(*) AS changes, count(*) FILTER (WHERE from_state IS NULL) AS births FROM history;

-- Statements in statements, and functions.
WITH new AS (INSERT INTO orders VALUES (30), (31) RETURNING id), gone AS (DELETE FROM orders WHERE id = 21 RETURNING id)
UPDATE orders SET status = 'paid' FROM gone WHERE orders.id = 20 RETURNING orders.id, status;
SELECT attempt('WITH c AS (UPDATE orders SET status = ''shipped'' WHERE id = 30 RETURNING id) SELECT 1');
SELECT attempt('WITH c AS (UPDATE orders SET status = ''shipped'' WHERE id = 30 RETURNING id)
    DELETE FROM orders WHERE false');
CREATE FUNCTION ship(k integer) RETURNS text LANGUAGE sql AS $$ UPDATE orders SET status = 'shipped' WHERE id = k
    RETURNING status $$;
SELECT attempt('SELECT ship(31)'), ship(20);
CREATE TABLE asked (id integer);
CREATE RULE ship AS ON INSERT TO asked DO ALSO UPDATE orders SET status = 'shipped' WHERE id = NEW.id;
SELECT attempt('INSERT INTO asked VALUES (30)'), attempt('INSERT INTO asked VALUES (1)');
DROP TABLE asked;
-- A cursor's row, and a prepared statement before and after the machine changes.
BEGIN;
DECLARE c CURSOR FOR SELECT FROM orders WHERE id = 31 FOR UPDATE;
FETCH c;
UPDATE orders SET status = 'paid' WHERE CURRENT OF c;
COMMIT;
PREPARE pay AS UPDATE orders SET status = 'lost' WHERE id = 30 RETURNING status;
EXECUTE pay;
SELECT idem_machine_define('order', '{new,draft}', '{{new,paid,pay},{paid,shipped,ship},{new,cancelled,cancel},
    {draft,new,submit},{new,lost,lose}}');
EXECUTE pay;
-- Views pass it on.
CREATE VIEW open_orders AS SELECT * FROM orders WHERE note IS NULL;
SELECT attempt('INSERT INTO open_orders VALUES (40, ''paid'')'),
    attempt('INSERT INTO open_orders VALUES (40, ''new'')');
SELECT attempt('UPDATE open_orders SET status = ''shipped'' WHERE id = 40'),
    attempt('UPDATE open_orders SET status = ''paid'' WHERE id = 40');
CREATE VIEW texts AS SELECT id || ': ' || status AS text FROM orders;
CREATE FUNCTION through() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE orders SET status = split_part(NEW.text, ': ', 2) WHERE id = split_part(NEW.text, ': ', 1)::integer;
    RETURN NEW;
END $$;
CREATE TRIGGER through INSTEAD OF UPDATE ON texts FOR EACH ROW EXECUTE FUNCTION through();
SELECT attempt('UPDATE texts SET text = ''40: new'' WHERE text = ''40: paid'''),
    attempt('UPDATE texts SET text = ''40: shipped'' WHERE text = ''40: paid''');
DROP VIEW texts, open_orders;

-- A trigger BEFORE that changes the status: what it makes of the row is judged, though the statement does not name the
-- column, and what it prevents is not.
CREATE FUNCTION before_all() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.note ~ '^to ' THEN
        NEW.status := substr(NEW.note, 4);
    ELSIF NEW.note = 'skip' THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER before_all BEFORE INSERT OR UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION before_all();
DELETE FROM orders;
SELECT call, attempt(call) FROM unnest(ARRAY['INSERT INTO orders VALUES (1, ''paid'', ''to new'') RETURNING status',
    'INSERT INTO orders VALUES (2, ''new'', ''to paid'') RETURNING status',
    'UPDATE orders SET note = ''to shipped'' RETURNING status', 'UPDATE orders SET note = ''to paid'' RETURNING status',
    'UPDATE orders SET status = ''nonsense'', note = ''to paid'' RETURNING status',
    'UPDATE orders SET status = ''nonsense'', note = ''skip'' RETURNING status',
    'INSERT INTO orders VALUES (2, ''nonsense'', ''skip'') RETURNING status',
    'INSERT INTO orders VALUES (1, ''paid'', ''to cancelled'') ON CONFLICT (id) DO UPDATE
    SET note = ''to shipped'' RETURNING status']) AS call;
DROP TRIGGER before_all ON orders;
-- A trigger AFTER that goes on from there: each step is judged and kept, in the order in which it happened.
CREATE FUNCTION go_on() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE orders SET status = CASE NEW.status WHEN 'draft' THEN 'new' WHEN 'new' THEN 'paid' ELSE 'shipped' END
    WHERE id = NEW.id AND status <> 'shipped';
    RETURN NULL;
END $$;
CREATE TRIGGER go_on AFTER INSERT OR UPDATE OF status ON orders FOR EACH ROW EXECUTE FUNCTION go_on();
INSERT INTO orders VALUES (50, 'draft'), (51, 'new');
SELECT * FROM history WHERE key IN ('{"id": 50}', '{"id": 51}');
DROP TRIGGER go_on ON orders;
-- Triggers can be passed by for repair, and what is written then is known as soon as it changes again.
SET session_replication_role = replica;
INSERT INTO orders VALUES (60, 'shipped'), (61, 'nonsense');
UPDATE orders SET status = 'new' WHERE id = 60;
RESET session_replication_role;
SELECT * FROM history WHERE key = '{"id": 60}';
SELECT attempt('UPDATE orders SET status = ''shipped'' WHERE id = 60'),
    attempt('UPDATE orders SET status = ''paid'' WHERE id = 61');
SELECT * FROM idem_machine_validate('orders');
DROP TABLE orders;
DROP FUNCTION ship, through, before_all, go_on;

-- NULL is a state of no machine, unless it is allowed: then a row may start without a state, and gets one of the
-- initial ones later, but loses it never.
CREATE TABLE maybe (id integer PRIMARY KEY, status text);
SELECT idem_machine_attach('maybe', 'status', 'order', allow_null => true, history => true);
INSERT INTO maybe VALUES (1, NULL), (2, NULL), (3, 'draft');
SELECT attempt(call) FROM unnest(ARRAY['UPDATE maybe SET status = ''paid'' WHERE id = 1',
    'UPDATE maybe SET status = NULL WHERE id = 3',
    'UPDATE maybe SET status = ''nonsense'' WHERE id = 1', 'UPDATE maybe SET status = NULL WHERE id = 1',
    'UPDATE maybe SET status = ''new'' WHERE id = 1', 'SELECT idem_fire(''maybe'', ''2'', ''pay'')',
    'SELECT count(*) FROM idem_allowed_events(''maybe'', ''2'')']) AS call;
SELECT * FROM history WHERE attachment ~ 'maybe';
DROP TABLE maybe;

-- Foreign keys that carry a change into the column are transitions like any other.
CREATE TABLE states (name text PRIMARY KEY);
INSERT INTO states VALUES ('new'), ('paid'), ('shipped'), ('cancelled');
CREATE TABLE owned (id integer PRIMARY KEY, status text REFERENCES states ON UPDATE CASCADE ON DELETE SET NULL,
    other text DEFAULT 'paid'
    REFERENCES states ON UPDATE SET DEFAULT ON DELETE SET DEFAULT);
SELECT idem_machine_attach('owned', 'status', 'order', history => true);
INSERT INTO owned VALUES (1, 'new'), (2, 'new');
SELECT attempt(call) FROM unnest(ARRAY['UPDATE states SET name = ''nonsense'' WHERE name = ''new''',
    'DELETE FROM states WHERE name = ''new''']) AS call;
SELECT idem_machine_define('renamed', '{new}', '{{new,fresh}}'), idem_machine_attach('owned', 'status',
    'renamed', history => true);
UPDATE states SET name = 'fresh' WHERE name = 'new';
SELECT * FROM history WHERE attachment ~ 'owned';
SELECT idem_machine_attach('owned', 'other', 'order', validate => false);
INSERT INTO states VALUES ('new');
SELECT attempt(call) FROM unnest(ARRAY['INSERT INTO owned VALUES (3, ''new'', ''paid'')',
    'INSERT INTO owned VALUES (3, ''new'', ''new'')',
    'UPDATE states SET name = ''newer'' WHERE name = ''new''', 'DELETE FROM states WHERE name = ''new''']) AS call;
UPDATE owned SET status = 'fresh' WHERE id = 3;
INSERT INTO owned VALUES (4, 'new', 'new');
UPDATE owned SET status = 'fresh', other = 'cancelled' WHERE id = 4;
SELECT attempt(call) FROM unnest(ARRAY['DELETE FROM states WHERE name = ''new''',
    'DELETE FROM states WHERE name = ''cancelled''']) AS call;
SELECT * FROM owned ORDER BY id;
DROP TABLE owned, states;

DROP VIEW history;
DELETE FROM idem_machines;
DELETE FROM idem_history;
