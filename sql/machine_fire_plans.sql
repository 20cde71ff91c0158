-- Plans that idem_fire keeps for the session follow the table and the rights of whoever fires.
SELECT idem_machine_define('switch', ARRAY['off'], ARRAY[['off','on','flip'],['on','off','flip']]);
CREATE TABLE lamp (id int PRIMARY KEY, status text NOT NULL DEFAULT 'off');
SELECT idem_machine_attach('lamp', 'status', 'switch');
INSERT INTO lamp SELECT i FROM generate_series(1, 10) AS i;
-- Often enough for a plan that does for all keys.
SELECT id, f.to_state FROM lamp, idem_fire('lamp', to_jsonb(id), 'flip') AS f ORDER BY id;

-- The columns of the row change.
ALTER TABLE lamp ADD COLUMN watts int NOT NULL DEFAULT 40;
CREATE FUNCTION is_weak(lamp) RETURNS text LANGUAGE sql AS $$ SELECT CASE WHEN $1.watts > 60 THEN $1.watts || ' watts' END $$;
SELECT idem_machine_attach('lamp', 'status', 'switch', guards => '{"flip": "is_weak"}');
UPDATE lamp SET watts = 100 WHERE id = 2;
SELECT to_state FROM idem_fire('lamp', '1', 'flip');
SELECT to_state FROM idem_fire('lamp', '2', 'flip');
ALTER TABLE lamp RENAME COLUMN status TO state;
ALTER TABLE lamp RENAME COLUMN id TO number;
SELECT to_state FROM idem_fire('lamp', '1', 'flip');
SELECT to_state FROM idem_fire('lamp', '{"number": 3}', 'flip');

-- The key gets another type, and another index.
ALTER TABLE lamp ALTER COLUMN number TYPE bigint;
SELECT to_state FROM idem_fire('lamp', '1', 'flip');
ALTER TABLE lamp DROP CONSTRAINT lamp_pkey, ADD PRIMARY KEY (number, watts);
SELECT to_state FROM idem_fire('lamp', '{"number": 1, "watts": 40}', 'flip');

-- Another table takes the name.
DROP TABLE lamp CASCADE;
CREATE TYPE light AS ENUM ('off', 'on');
CREATE TABLE lamp (status light NOT NULL DEFAULT 'off', id int PRIMARY KEY);
SELECT idem_machine_attach('lamp', 'status', 'switch');
INSERT INTO lamp VALUES ('off', 1), ('off', 2);
SELECT to_state FROM idem_fire('lamp', '1', 'flip');

-- A policy hides rows from one role and not from another.
CREATE ROLE regress_electrician;
SELECT idem_grant('regress_electrician');
GRANT SELECT, UPDATE ON lamp TO regress_electrician;
ALTER TABLE lamp ENABLE ROW LEVEL SECURITY;
CREATE POLICY odd ON lamp TO regress_electrician USING (id % 2 = 1);
SELECT to_state FROM idem_fire('lamp', '2', 'flip');
SET ROLE regress_electrician;
SELECT to_state FROM idem_fire('lamp', '1', 'flip');
SELECT to_state FROM idem_fire('lamp', '2', 'flip');
RESET ROLE;
REVOKE UPDATE ON lamp FROM regress_electrician;
SET ROLE regress_electrician;
SELECT to_state FROM idem_fire('lamp', '1', 'flip');
RESET ROLE;
SELECT to_state FROM idem_fire('lamp', '2', 'flip');

-- More tables than plans are kept, each after the others.
DO $$
BEGIN
    FOR i IN 1 .. 100 LOOP
        EXECUTE format('CREATE TABLE lamp_%s (id int PRIMARY KEY, status text NOT NULL DEFAULT ''off'')', i);
        EXECUTE format('INSERT INTO lamp_%s VALUES (%s)', i, i);
        PERFORM idem_machine_attach(format('lamp_%s', i), 'status', 'switch');
    END LOOP;
END $$;
SELECT round, count(*), min(f.to_state), max(f.to_state)
FROM generate_series(1, 3) AS round, generate_series(1, 100) AS i,
    idem_fire(format('lamp_%s', i), to_jsonb(i), CASE WHEN round > 0 THEN 'flip' END) AS f
GROUP BY round ORDER BY round;
DO $$
BEGIN
    FOR i IN 1 .. 100 LOOP
        EXECUTE format('DROP TABLE lamp_%s', i);
    END LOOP;
END $$;

DROP TABLE lamp;
DROP TYPE light;
DROP OWNED BY regress_electrician;
DROP ROLE regress_electrician;
