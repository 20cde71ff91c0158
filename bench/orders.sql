-- A table of orders as shops have it, :records of about 200 bytes, to be copied by machines.sql.
CREATE SCHEMA bare;
CREATE TABLE bare.orders (
    id bigint PRIMARY KEY,
    customer_id bigint NOT NULL,
    status text NOT NULL,
    currency text NOT NULL,
    amount numeric NOT NULL,
    items integer NOT NULL,
    address text NOT NULL,
    note text,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
INSERT INTO bare.orders
SELECT n, hashint8(n) & 65535, 'pending', 'EUR', (n % 100000) / 100.0, n % 9 + 1,
    format('%s Example Street, %s Exampletown, Examplonia', n % 300, 10000 + n % 90000),
    'Please leave it with the neighbours, and ring twice.',
    now() - (:records - n) * interval '1 second', now()
FROM generate_series(1, :records) AS n;
CREATE INDEX ON bare.orders (customer_id);
CREATE INDEX ON bare.orders (created_at);
\ir machines.sql
