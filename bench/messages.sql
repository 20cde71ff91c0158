-- What people write by hand: a table of the ids that have come, and an index by which they delete the old ones.
CREATE EXTENSION IF NOT EXISTS pg_idem;

CREATE TABLE seen (
    stream text NOT NULL,
    message text NOT NULL,
    result jsonb,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (stream, message)
);
CREATE INDEX ON seen (created_at);

-- Ids '1', '2', ... that have come already. They stay known for longer than the benchmark runs.
SELECT count(*) FROM (
    SELECT idem_accept_id('orders', n::text, '30 days') FROM generate_series(1, :records) AS n
) AS accepted;
INSERT INTO seen (stream, message) SELECT 'orders', n FROM generate_series(1, :records) AS n;
VACUUM (FREEZE, ANALYZE) idem_records, seen;
