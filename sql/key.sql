-- Keys made of parts: different parts never give the same key.
SELECT idem_key('billing'), idem_key('billing', 'order 42', 'charge'), idem_key('a:b', 'c/d', 'e%f'),
    idem_key(VARIADIC ARRAY['x', 'y']);
SELECT a, b, idem_key(VARIADIC a) = idem_key(VARIADIC b) AS same FROM (VALUES
    ('{a,b}'::text[], '{a:b}'::text[]), ('{a%3Ab}', '{a:b}'), ('{a,b:c}', '{a:b,c}'), ('{a%,3A}', '{a,%3A}'),
    ('{A}', '{a}'), ('{" a"}', '{a}')) AS t(a, b);
SELECT idem_child_key('billing:42', 'charge'), idem_child_key(idem_child_key('k', 'a/b'), 'c:d'),
    idem_child_key('k', 'step') = idem_child_key('k', 'step') AS repeatable,
        idem_child_key('a', 'b') = idem_key('a/b') AS confused;
-- They can be used as keys.
SELECT outcome FROM idem_begin(idem_key('key', 'a/b'), 'key');
SELECT outcome FROM idem_begin(idem_child_key(idem_key('key', 'a/b'), 'mail'), 'key');
SELECT key FROM idem_records WHERE scope = 'key' ORDER BY key;

SELECT call, attempt('SELECT FROM ' || call) FROM unnest(ARRAY[
    $$idem_key('')$$, $$idem_key('a', '', 'c')$$, $$idem_key('a', NULL)$$, $$idem_key(VARIADIC '{}')$$,
    $$idem_key(VARIADIC NULL)$$, $$idem_key(VARIADIC '{{a,b},{c,d}}')$$, $$idem_key(repeat('x', 512))$$,
    $$idem_key(repeat('x', 513))$$, $$idem_key(repeat(':', 171))$$,
    $$idem_key(repeat('x', 255), repeat('x', 256))$$, $$idem_key(repeat('x', 256), repeat('x', 256))$$,
    $$idem_child_key('', 'a')$$, $$idem_child_key('a', '')$$, $$idem_child_key(NULL, 'a')$$,
    $$idem_child_key('a', NULL)$$,
    $$idem_child_key(repeat('x', 510), 'y')$$, $$idem_child_key(repeat('x', 510), 'yy')$$]) AS call;
-- Parts that are stored compressed or out of line.
CREATE TABLE key_parts (part text);
INSERT INTO key_parts SELECT string_agg(md5(i::text), '') FROM generate_series(1, 200) AS i;
INSERT INTO key_parts SELECT repeat('x', 5000);
SELECT attempt(format('SELECT octet_length(idem_key(part)) FROM key_parts WHERE length(part) = %s', length(part)))
FROM key_parts ORDER BY length(part);
DROP TABLE key_parts;
