-- Copies of bare.orders, a schema each, so that one statement does for all of them. They differ in what guards the
-- status: nothing (bare), what people write by hand (guarded), a trigger in C that does nothing, which shows what the
-- server itself takes (triggered), a state machine (attached), and one that keeps a history (kept).
CREATE EXTENSION pg_idem;
SELECT idem_machine_define('order', $$stateDiagram-v2
    [*] --> pending
    pending --> paid : pay, turn
    pending --> cancelled : cancel
    paid --> pending : revert, turn
    paid --> refunded : refund
    paid --> shipped : ship
    shipped --> completed : deliver
    shipped --> returned : return
$$);

SELECT format('CREATE SCHEMA %1$I; CREATE TABLE %1$I.orders (LIKE bare.orders INCLUDING ALL);'
    'INSERT INTO %1$I.orders SELECT * FROM bare.orders ORDER BY id', variant)
FROM unnest(ARRAY['guarded', 'triggered', 'attached', 'kept']) AS variant \gexec

-- Tables have room in their pages for new versions after they have been changed for a while.
UPDATE bare.orders SET status = status;
UPDATE guarded.orders SET status = status;
UPDATE triggered.orders SET status = status;
UPDATE attached.orders SET status = status;
UPDATE kept.orders SET status = status;
VACUUM (FREEZE, ANALYZE) bare.orders, guarded.orders, triggered.orders, attached.orders, kept.orders;

CREATE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.status, NEW.status) NOT IN (
        ('pending', 'paid'), ('pending', 'cancelled'), ('paid', 'pending'), ('paid', 'refunded'), ('paid', 'shipped'),
        ('shipped', 'completed'), ('shipped', 'returned')
    ) THEN
        RAISE EXCEPTION 'an order cannot go from % to %', OLD.status, NEW.status;
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER guard BEFORE UPDATE ON guarded.orders
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION guard();

-- Returns a null pointer, which is what a trigger after the fact returns.
CREATE FUNCTION nothing() RETURNS trigger AS 'pg_is_in_recovery' LANGUAGE internal;
CREATE TRIGGER nothing AFTER UPDATE ON triggered.orders
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION nothing();

SELECT idem_machine_attach('attached.orders', 'status', 'order');
SELECT idem_machine_attach('kept.orders', 'status', 'order', history => true);

-- What people write by hand to let an event happen once: with one round trip for all of it.
CREATE TABLE events (
    id text PRIMARY KEY,
    order_id bigint NOT NULL,
    event text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ON events (created_at);
CREATE FUNCTION turn(order_id bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    target text;
BEGIN
    SELECT CASE status WHEN 'pending' THEN 'paid' WHEN 'paid' THEN 'pending' END INTO STRICT target
    FROM orders WHERE id = order_id FOR UPDATE;
    IF target IS NULL THEN
        RAISE EXCEPTION 'this order cannot turn';
    END IF;
    UPDATE orders SET status = target WHERE id = order_id;
    RETURN target;
END
$$;
CREATE FUNCTION turn_once(order_id bigint, event_id text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO events (id, order_id, event) VALUES (event_id, order_id, 'turn') ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    RETURN turn(order_id);
END
$$;

-- The server has a function in C that says yes to everything; here with the arguments of idem_can_transition.
CREATE FUNCTION no_op(text, text, text, integer DEFAULT NULL) RETURNS boolean
    AS 'btequalimage' LANGUAGE internal STABLE;

\ir processor_ticks.sql
