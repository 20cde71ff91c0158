-- Rows of users' own tables, all expired: with a time that no other row has, and with a date that many share.
CREATE EXTENSION pg_idem;
CREATE EXTENSION pg_prewarm;
CREATE TABLE visits (id bigint PRIMARY KEY, at timestamptz NOT NULL, page text NOT NULL);
INSERT INTO visits
SELECT n, now() - interval '40 days' + n * interval '1 millisecond', 'https://example.org/' || n
FROM generate_series(1, :rows) AS n;
CREATE INDEX ON visits (at);
CREATE TABLE days (id bigint PRIMARY KEY, day date NOT NULL, page text NOT NULL);
INSERT INTO days
SELECT n, current_date - 40 + (n % 5)::integer, 'https://example.org/' || n FROM generate_series(1, :rows) AS n;
CREATE INDEX ON days (day);
VACUUM (FREEZE, ANALYZE) visits, days;
SELECT idem_cleanup_pause();
