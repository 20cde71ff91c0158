-- What ids say, and ids for times and for people.
SET TIME ZONE 'UTC';
CREATE VIEW edges AS SELECT unnest(ARRAY[0, 1, 4095, 4096, 4194303, 4194304, 9007199254740991, 4611686018427387904,
    9223372036854775807]) AS id;
SELECT id, p.*, idem_snowflake_text(id), idem_snowflake_from_text(idem_snowflake_text(id)) = id AS same
FROM edges, idem_snowflake_parts(id) AS p;
SELECT idem_snowflake_parts(-1);
SELECT idem_snowflake_parts(-9223372036854775808);
SELECT idem_snowflake_parts(NULL), idem_snowflake_parts(1, NULL);

-- The floor of a time is the least id of its millisecond.
SELECT t.at, id, p.at = date_trunc('milliseconds', t.at::timestamptz) AS same, p.node, p.counter
FROM unnest(ARRAY['2025-01-01', '2025-01-01 00:00:00.001', '2025-01-01 00:00:00.001999', '2026-02-28 12:34:56.789',
        '2094-09-07 15:47:35.551']) AS t (at),
    LATERAL (SELECT idem_snowflake_floor(t.at::timestamptz) AS id) AS f, idem_snowflake_parts(id) AS p;
-- Times that no id has: everything is at or after the one, nothing after the other.
SELECT at, idem_snowflake_floor(at::timestamptz)
FROM unnest(ARRAY['-infinity', '4713-01-01 BC', '1970-01-01', '2024-12-31 23:59:59.999999', '2094-09-07 15:47:35.552',
    '294276-12-31', 'infinity']) AS at;
SELECT idem_snowflake_floor(NULL), idem_snowflake_floor(now(), NULL);
SELECT idem_snowflake_floor('2025-01-01 00:00:00.001', 'idem_tokens') AS plain_sequence;
SELECT idem_snowflake_floor(now(), 'pg_class');
\echo :SQLSTATE
SELECT idem_snowflake_parts(1, 'pg_class');
\echo :SQLSTATE
SELECT idem_snowflake_parts(1, 12345678);
\echo :SQLSTATE

-- As text they sort as they do as numbers, in any collation.
CREATE TABLE texts (id bigint, text text);
INSERT INTO texts SELECT id, idem_snowflake_text(id) FROM edges;
INSERT INTO texts SELECT id, idem_snowflake_text(id)
FROM (SELECT (1::bigint << bit) + n AS id FROM generate_series(0, 62) AS bit, generate_series(0, 3) AS n) AS i
WHERE id > 0;
SELECT count(*), bool_and(idem_snowflake_from_text(text) = id) AS same,
    bool_and(idem_snowflake_from_text(lower(text)) = id) AS lower, bool_and(text ~ '^[0-7][0-9A-HJKMNP-TV-Z]{12}$') AS digits FROM texts;
SELECT count(*)
FROM (SELECT row_number() OVER (ORDER BY id) AS a, row_number() OVER (ORDER BY text COLLATE "C", id) AS b, row_number() OVER (ORDER BY text, id) AS c FROM texts) AS t WHERE a <> b OR a <> c;
SELECT idem_snowflake_from_text('O0000000000oL') AS o_and_l, idem_snowflake_from_text('000000000I1il') AS i_and_l,
    idem_snowflake_from_text('7zzzzzzzzzzzz') AS greatest;
SELECT text, attempt(format('SELECT idem_snowflake_from_text(%L)', text))
FROM unnest(ARRAY['', '1', '000000000000', '00000000000000', '8000000000000', 'z000000000000', '00000000000U0',
    '000000000000-', '0000 00000000', ' 000000000000', '-000000000001', E'000000000000\n', '00000000000é', '0000000000日',
    'ééééééé', '１２３４', '𝟙000000000', NULL]) AS text;
SELECT idem_snowflake_text(-1);
SELECT idem_snowflake_text(NULL);
-- Why: JavaScript, and much that reads JSON, has 53 bits for a number.
SELECT 9223372036854775807::float8::text AS as_javascript, idem_snowflake_text(9223372036854775807) AS as_text;
DROP TABLE texts;
DROP VIEW edges;
