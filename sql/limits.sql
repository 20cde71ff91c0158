-- Sizes at their limits, and one byte beyond.
CREATE FUNCTION use_key(k text, s text DEFAULT 'limits', f bytea DEFAULT NULL, o text DEFAULT NULL)
    RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    detail text;
BEGIN
    PERFORM idem_begin(k, s, f, owner => o);
    PERFORM idem_finish(k, '1', s);
    RETURN (SELECT octet_length(r.key) || ' bytes ' || c.outcome FROM idem_get(k, s) AS r, idem_begin(k, s, f) AS c);
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
    RETURN concat_ws(' | ', SQLSTATE || ' ' || SQLERRM, nullif(detail, ''));
END $$;
SELECT n, use_key(repeat('k', n)) AS key FROM unnest(ARRAY[1, 511, 512, 513, 100000]) AS n;
SELECT n, use_key('s', repeat('s', n)) AS scope FROM unnest(ARRAY[1, 128, 129, 100000]) AS n;
SELECT n, use_key('f' || n, f => decode(repeat('00', n), 'hex')) AS fingerprint FROM unnest(ARRAY[1, 128, 129]) AS n;
SELECT n, use_key('o' || n, o => repeat('o', n)) AS owner FROM unnest(ARRAY[1, 256, 257]) AS n;
-- The longest key in the longest scope, incompressible: an index entry has room for it.
SELECT use_key(string_agg(md5(i::text), ''), (SELECT string_agg(md5((-j)::text), '')
FROM generate_series(1, 4) AS j)) FROM generate_series(1, 16) AS i;
-- Keys are bytes: white space, quotes and control characters count, nothing is normalised.
SELECT count(DISTINCT use_key(k)) AS answers, count(*) AS keys
FROM unnest(ARRAY[' ', '  ', E'\t', E'\n', '''', '"', '\', '%', E'\x01', 'a', 'A', 'a ', ' a']) AS k;
SELECT count(*) FROM idem_records WHERE scope = 'limits' AND octet_length(key) <= 2 AND key !~ '^[fok]';

-- Results at the cap of 1 MiB, which counts bytes as stored: eight of a jsonb string are its frame.
SELECT outcome FROM idem_begin('body at the cap', 'limits');
SELECT idem_finish('body at the cap', scope => 'limits', body => decode(repeat('00', 1048577), 'hex'));
\echo :SQLSTATE
SELECT idem_finish('body at the cap', scope => 'limits', body => decode(repeat('00', 1048576), 'hex'));
SELECT octet_length(body), body = decode(repeat('00', 1048576), 'hex') AS same
FROM idem_begin('body at the cap', 'limits');
SELECT outcome FROM idem_begin('result at the cap', 'limits');
SELECT idem_finish('result at the cap', to_jsonb(repeat('x', 1048576 - 7)), 'limits');
\echo :SQLSTATE
SELECT idem_finish('result at the cap', to_jsonb(repeat('x', 1048576 - 8)), 'limits');
SELECT result = to_jsonb(repeat('x', 1048576 - 8)) AS same FROM idem_begin('result at the cap', 'limits');
-- Incompressible, and both at once.
SELECT string_agg(md5(i::text), '') AS noise FROM generate_series(1, 16000) AS i \gset
SELECT outcome FROM idem_begin('both', 'limits');
SELECT idem_finish('both', to_jsonb(:'noise'::text), 'limits', code => 200, body => :'noise'::bytea);
SELECT result #>> '{}' = :'noise' AS same_result, body = :'noise'::bytea AS same_body, code
FROM idem_begin('both', 'limits');
SELECT idem_finish('both', to_jsonb(:'noise'::text), 'limits', code => 200, body => :'noise'::bytea);
SELECT idem_finish('both', to_jsonb(:'noise'::text), 'limits', code => 200, body => (:'noise' || 'x')::bytea);
\echo :SQLSTATE
-- The setting counts where the scope says nothing.
SET idem.default_max_result_bytes = 10;
SELECT outcome FROM idem_begin('setting', 'limits');
SELECT idem_finish('setting', '"more than ten bytes"', 'limits');
\echo :SQLSTATE
RESET idem.default_max_result_bytes;
SELECT idem_finish('setting', '"more than ten bytes"', 'limits');
-- Codes are whole numbers of any size.
SELECT outcome FROM idem_begin('codes', 'limits');
SELECT idem_finish('codes', scope => 'limits', code => 2147483647);
SELECT code FROM idem_begin('codes', 'limits');
DROP FUNCTION use_key;
