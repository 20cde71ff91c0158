-- A column that follows its diagram
--
-- A state machine is a diagram that GitHub draws. Attached to the status
-- column of a table, it judges every write, whichever program it comes from.

--@ session shop
CREATE TABLE orders (id int PRIMARY KEY, status text NOT NULL);
SELECT idem_machine_define('order', $$
stateDiagram-v2
    [*] --> pending
    pending --> paid : pay
    pending --> cancelled : cancel, expire
    paid --> shipped : ship
    shipped --> delivered : deliver
$$) AS version;
--@ expect 1
SELECT idem_machine_attach('orders', 'status', 'order', history => true);
INSERT INTO orders
VALUES (1, 'pending'), (2, 'pending'), (3, 'pending');

-- The payment provider calls back, the order is paid, and goes on its way.

--@ session provider
SELECT outcome, from_state, to_state
FROM idem_fire('orders', '1', 'pay', event_id => 'evt_1');
--@ expect applied | pending | paid
--@ session shop
UPDATE orders SET status = 'shipped' WHERE id = 1;

-- Our answer got lost, so the provider calls again. The event is known by its
-- id: the answer is that of the first call, and the order is left alone.

--@ session provider
SELECT outcome, from_state, to_state
FROM idem_fire('orders', '1', 'pay', event_id => 'evt_1');
--@ expect replayed | pending | paid
SELECT status FROM orders WHERE id = 1;
--@ expect shipped

-- Two callbacks at once: the second waits, and finds that it has happened.

--@ session shop
BEGIN;
SELECT outcome, to_state FROM idem_fire('orders', '2', 'pay');
--@ expect applied | paid
--@ session provider
--@ send
SELECT outcome, to_state FROM idem_fire('orders', '2', 'pay');
--@ session shop
COMMIT;
--@ receive provider
--@ expect noop | paid

-- A program with a mistake skips the payment. No statement gets past it.

--@ session shop
UPDATE orders SET status = 'shipped' WHERE id = 3;
--@ expect ERROR: column "status" of table "orders" cannot go from "pending" to "shipped"
INSERT INTO orders VALUES (3, 'delivered')
ON CONFLICT (id) DO UPDATE SET status = excluded.status;
--@ expect ERROR: column "status" of table "orders" cannot go from "pending" to "delivered"

-- What may happen to that order, for example as buttons of a web page:

SELECT event, to_state FROM idem_allowed_events('orders', '3');
--@ expect pay | paid
--@ expect expire | cancelled

-- How the first order came to where it is:

SELECT from_state, to_state, event, event_id, application_name
FROM idem_history_of('orders', '1');
--@ expect pending | paid | pay | evt_1 | provider
--@ expect paid | shipped | | | shop

-- And the diagram, with the number of orders in each state, for a block of
-- Markdown that begins with ```mermaid.

SELECT idem_machine_diagram('order', rel => 'orders');
--@ expect state "shipped (1)" as shipped +
