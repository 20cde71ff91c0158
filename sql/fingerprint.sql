-- A fingerprint tells whether a key comes back with the same request.

-- The format is fixed: a version byte and the SHA-256 of the canonical text.
SELECT idem_fingerprint('{"b": 2, "a": "x", "aa": [1, null, true]}')
    = '\x01' || sha256(convert_to('{"a":"x","b":2,"aa":[1,null,true]}', 'UTF8')) AS format;
SELECT payload, idem_fingerprint(payload) = '\x01' || sha256(convert_to(canonical, 'UTF8')) AS canonical
FROM (VALUES ('null'::jsonb, 'null'), ('true', 'true'), ('false', 'false'), ('""', '""'), ('[]', '[]'), ('{}', '{}'),
    ('0', '0'), ('-0', '0'), ('1e3', '1000'), ('1.50', '1.5'), ('100', '100'), ('0.0', '0'),
    ('"a\"\\\n\u0001/"', '"a\"\\\n\u0001/"'), ('[[1], {"x": [2.0]}]', '[[1],{"x":[2]}]')) AS t(payload, canonical);

-- What makes no difference, and what does.
SELECT a, b, idem_fingerprint(a) = idem_fingerprint(b) AS same
FROM (VALUES
    ('{"a": 1, "b": {"c": 2, "d": 3}}'::jsonb, '{"b": {"d": 3, "c": 2}, "a": 1}'::jsonb),
    ('1', '1.0'), ('[1.10]', '[1.1]'), ('100', '1e2'), ('{"a": 1}', '{"a": 2, "a": 1}'),
    ('[1, 2]', '[2, 1]'), ('1', '"1"'), ('null', '"null"'), ('{}', '[]'), ('[]', '[[]]'), ('[null]', '[]'),
    ('{"a": null}', '{}'), ('{"a": 1}', '{"a": "1"}'), ('0.1', '0.10000000000000000001'), ('"a"', '"A"'),
    ('["a,b"]', '["a", "b"]')) AS t(a, b);

-- Members that change from try to try can be left out: by name at the top, by JSON Pointer anywhere.
SELECT exclude, idem_fingerprint(a, exclude) = idem_fingerprint(b, exclude) AS same
FROM (VALUES
    ('{"amount": 5, "sent_at": 1}'::jsonb, '{"amount": 5, "sent_at": 2}'::jsonb, '{}'::text[]),
    ('{"amount": 5, "sent_at": 1}', '{"amount": 5, "sent_at": 2}', NULL),
    ('{"amount": 5, "sent_at": 1}', '{"amount": 5, "sent_at": 2}', '{sent_at}'),
    ('{"amount": 5, "sent_at": 1}', '{"amount": 5}', '{sent_at}'),
    ('{"amount": 5, "sent_at": 1}', '{"amount": 6, "sent_at": 1}', '{sent_at}'),
    ('{"amount": 5, "sent_at": 1}', '{"amount": 6, "sent_at": 2}', '{sent_at,amount}'),
    ('{"meta": {"sent_at": 1}}', '{"meta": {"sent_at": 2}}', '{sent_at}'),
    ('{"meta": {"sent_at": 1}}', '{"meta": {"sent_at": 2}}', '{/meta/sent_at}'),
    ('{"meta": {"sent_at": 1}}', '{"meta": {"sent_at": 2}}', '{meta}'),
    ('{"meta": {"sent_at": 1}}', '{"meta": {"sent_at": 2}}', '{/meta}'),
    ('{"meta": {"sent_at": 1}}', '{"meta": {"sent_at": 2}}', '{meta/sent_at}'),
    ('{"meta/sent_at": 1}', '{"meta/sent_at": 2}', '{meta/sent_at}'),
    ('{"a/b": {"c~d": 1}}', '{"a/b": {"c~d": 2}}', '{/a~1b/c~0d}'),
    ('{"": 1}', '{"": 2}', '{/}'),
    ('{"": 1}', '{"": 2}', '{""}'),
    ('[1, 2, 3]', '[1, 9, 3]', '{/1}'),
    ('[1, 2, 3]', '[1, 3]', '{/1}'),
    ('[{"t": 1}, {"t": 2}]', '[{"t": 1}, {"t": 3}]', '{/1/t}'),
    ('[{"t": 1}, {"t": 2}]', '[{"t": 3}, {"t": 2}]', '{/1/t}'),
    ('{"a": 1}', '{"a": 2}', '{/a/b}'),
    ('1', '2', '{a,/a,/0}')) AS t(a, b, exclude);
SELECT idem_fingerprint('{"a": 1, "b": 2}', '{a}') = idem_fingerprint('{"b": 2}') AS as_if_absent;
SELECT idem_fingerprint('{}', ARRAY['a', NULL]);
\echo :SQLSTATE
SELECT idem_fingerprint('{}', '{/a~2}');
\echo :SQLSTATE
SELECT idem_fingerprint('{}', '{/a~}');
SELECT idem_fingerprint(NULL);
\echo :SQLSTATE

-- On every path: in progress, stored, failed, abandoned.
CREATE TABLE prints (name text, fingerprint bytea);
INSERT INTO prints VALUES ('same', '\x01'), ('other', '\x02'), ('longer', '\x0100'), ('none', NULL);
CREATE FUNCTION compare_all(k text) RETURNS TABLE (name text, outcome text, shows_nothing boolean) LANGUAGE sql AS $$
    SELECT p.name, c.outcome, (c.token, c.attempt, c.code, c.result, c.body, c.failed, c.checkpoint,
        c.checkpoint_data, c.owner,
        c.lease_expires_at, c.expires_at, c.retry_after) IS NULL
    FROM prints AS p, idem_begin(k, 'fingerprint', p.fingerprint) AS c ORDER BY p.name
$$;
SELECT outcome FROM idem_begin('k', 'fingerprint', '\x01', lease => '1 h');
SELECT * FROM compare_all('k');
SELECT idem_checkpoint('k', 'half', '"secret"', 'fingerprint');
SELECT * FROM compare_all('k');
UPDATE idem_records SET lease_expires_at = clock_timestamp() WHERE scope = 'fingerprint' AND key = 'k';
SELECT outcome FROM idem_begin('k', 'fingerprint', '\x02');
SELECT outcome, attempt FROM idem_begin('k', 'fingerprint', '\x01', lease => '1 h');
SELECT idem_finish('k', '"secret"', 'fingerprint');
SELECT * FROM compare_all('k');
-- Finishing keeps it.
SELECT fingerprint FROM idem_records WHERE scope = 'fingerprint' AND key = 'k';
-- A record that was claimed without one compares nothing, and a take-over fills it in.
SELECT outcome FROM idem_begin('bare', 'fingerprint', lease => '1 h');
SELECT outcome FROM idem_begin('bare', 'fingerprint', '\x01');
UPDATE idem_records SET lease_expires_at = clock_timestamp() WHERE scope = 'fingerprint' AND key = 'bare';
SELECT outcome, attempt FROM idem_begin('bare', 'fingerprint', '\x01');
SELECT outcome FROM idem_begin('bare', 'fingerprint', '\x02');
-- A take-over without one keeps it.
UPDATE idem_records SET lease_expires_at = clock_timestamp() WHERE scope = 'fingerprint' AND key = 'bare';
SELECT outcome, attempt FROM idem_begin('bare', 'fingerprint');
SELECT outcome FROM idem_begin('bare', 'fingerprint', '\x02');
-- Released and expired records start with a new one.
SELECT idem_release('bare', 'fingerprint');
SELECT outcome FROM idem_begin('bare', 'fingerprint', '\x02');
SELECT idem_fail('bare', scope => 'fingerprint');
UPDATE idem_records SET expires_at = clock_timestamp() WHERE scope = 'fingerprint' AND key = 'bare';
SELECT outcome FROM idem_begin('bare', 'fingerprint', '\x03');
DROP FUNCTION compare_all;
DROP TABLE prints;
