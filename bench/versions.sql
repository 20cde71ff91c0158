-- Copies of one table of orders, :records rows, a schema each, so that one statement does for all of them. They differ
-- in who raises the version: nobody (bare), what people write by hand (guarded), nobody but with a trigger of the
-- server's own in C, which shows what the server itself takes for one (triggered), and pg_idem (checked).
CREATE EXTENSION pg_idem;
CREATE SCHEMA bare;
CREATE TABLE bare.orders (
    id bigint PRIMARY KEY,
    customer_id bigint NOT NULL,
    version integer NOT NULL DEFAULT 1,
    status text NOT NULL,
    amount numeric NOT NULL,
    created_at timestamptz NOT NULL
);
INSERT INTO bare.orders
SELECT n, hashint8(n) & 65535, 1, 'pending', (n % 100000) / 100.0, now() FROM generate_series(1, :records) AS n;
SELECT format('CREATE SCHEMA %1$I; CREATE TABLE %1$I.orders (LIKE bare.orders INCLUDING ALL);'
    'INSERT INTO %1$I.orders SELECT * FROM bare.orders ORDER BY id', variant)
FROM unnest(ARRAY['guarded', 'triggered', 'checked']) AS variant \gexec

-- Tables have room in their pages for new versions after they have been changed for a while.
UPDATE bare.orders SET status = status;
UPDATE guarded.orders SET status = status;
UPDATE triggered.orders SET status = status;
UPDATE checked.orders SET status = status;
VACUUM (FREEZE, ANALYZE) bare.orders, guarded.orders, triggered.orders, checked.orders;

CREATE FUNCTION raise_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.version NOT IN (OLD.version, OLD.version + 1) THEN
        RAISE EXCEPTION 'order % has version %, not %', OLD.id, OLD.version, NEW.version;
    END IF;
    NEW.version := OLD.version + 1;
    RETURN NEW;
END
$$;
CREATE TRIGGER raise_version BEFORE UPDATE ON guarded.orders FOR EACH ROW EXECUTE FUNCTION raise_version();
CREATE TRIGGER nothing BEFORE UPDATE ON triggered.orders
    FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
SELECT idem_version_attach('checked.orders');

\ir processor_ticks.sql
