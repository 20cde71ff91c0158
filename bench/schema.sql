-- What people write by hand: one table for the keys, and an index by which they delete the old ones.
CREATE EXTENSION IF NOT EXISTS pg_idem;

CREATE TABLE requests (
    key text PRIMARY KEY,
    status text NOT NULL,
    code integer,
    result jsonb,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX requests_created_at_idx ON requests (created_at);

-- The business of idem_execute.
CREATE TABLE orders (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account bigint NOT NULL,
    amount numeric NOT NULL
);

CREATE TABLE memory (calls bigint NOT NULL, private_kb bigint NOT NULL);
