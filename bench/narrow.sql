-- A table of which there is little but the status, :records rows, to be copied by machines.sql.
CREATE SCHEMA bare;
CREATE TABLE bare.orders (
    id bigint PRIMARY KEY,
    customer_id bigint NOT NULL,
    status text NOT NULL,
    amount numeric NOT NULL,
    created_at timestamptz NOT NULL
);
INSERT INTO bare.orders
SELECT n, hashint8(n) & 65535, 'pending', (n % 100000) / 100.0, now() FROM generate_series(1, :records) AS n;
\ir machines.sql
