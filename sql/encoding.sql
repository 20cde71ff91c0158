-- Keys in every script, and databases in other encodings.
SELECT current_database() AS home \gset
CREATE DATABASE regress_idem_utf8 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0;
\c regress_idem_utf8
SET client_encoding = 'UTF8';
CREATE EXTENSION pg_idem;
-- Limits count bytes: a character takes up to four.
CREATE FUNCTION begun(k text, s text DEFAULT 'encoding') RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT outcome FROM idem_begin(k, s));
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SELECT octet_length(c) AS bytes_of_a_character, begun(repeat(c, 512 / octet_length(c))) AS longest,
    begun(repeat(c, 512 / octet_length(c)) || 'xxx') AS longer,
    begun('k', repeat(c, 128 / octet_length(c))) AS longest_scope,
        begun('k', repeat(c, 128 / octet_length(c)) || 'xxx') AS longer_scope
FROM unnest(ARRAY['x', 'é', '€', '💳']) AS c;
SELECT outcome FROM idem_begin('Ω/ключ/鍵', 'область', owner => 'работник 💳');
SELECT outcome, owner = 'работник 💳' AS owner FROM idem_begin('Ω/ключ/鍵', 'область');
SELECT idem_checkpoint('Ω/ключ/鍵', 'половина', '"½"', 'область');
SELECT idem_finish('Ω/ключ/鍵', '{"сумма": "5 €"}', 'область');
SELECT outcome, result FROM idem_begin('Ω/ключ/鍵', 'область');
SELECT key, scope, checkpoint, checkpoint_data FROM idem_get('Ω/ключ/鍵', 'область');
SELECT idem_finish('нет', scope => 'область');
-- Nothing is normalised: composed and decomposed are two keys and two payloads. Case and lookalikes count as well.
SELECT count(DISTINCT k) AS keys, count(*) FILTER (WHERE begun(k) = 'started') AS started,
    count(DISTINCT idem_fingerprint(to_jsonb(k))) AS fingerprints
FROM unnest(ARRAY[U&'\00E9', U&'e\0301', U&'\00C9', U&'\212B', U&'\00C5', U&'\FF21', 'A', U&'\0410', U&'\200B',
    U&'\00A0']) AS k;
SELECT idem_key('é', 'a:б'), idem_child_key('é', 'б/в');
-- An escape in JSON is the character.
SELECT idem_fingerprint('"\u00e9\ud83d\udcb3"') = idem_fingerprint('"é💳"') AS same,
    idem_fingerprint('"e\u0301"') = idem_fingerprint('"é"') AS decomposed;
SELECT idem_fingerprint('{"é": 1, "x": 2}', '{é}') = idem_fingerprint('{"x": 2}') AS excluded;
SELECT idem_fingerprint('{"name": "é", "あ": [1.0]}') AS fingerprint, idem_fingerprint('{"name": "é"}') AS latin,
    idem_fingerprint('{"あ": [1.0]}') AS japanese, idem_fingerprint('{"a": 1}') AS ascii \gset

-- LATIN1: the same character takes one byte, and the fingerprint is the same.
CREATE DATABASE regress_idem_latin1 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0;
\c regress_idem_latin1
SET client_encoding = 'UTF8';
CREATE EXTENSION pg_idem;
SELECT outcome FROM idem_begin(repeat('é', 512), repeat('ü', 128), owner => 'ß');
SELECT idem_finish(repeat('é', 512), '"ä"', repeat('ü', 128));
SELECT outcome, result, owner FROM idem_begin(repeat('é', 512), repeat('ü', 128));
SELECT octet_length(key) AS bytes FROM idem_records;
SELECT outcome FROM idem_begin(repeat('é', 513));
SELECT idem_key('é', 'a:ü'), idem_child_key('é', 'ü/ß');
SELECT idem_fingerprint('{"name": "é"}') = :'latin' AS same, idem_fingerprint('{"a": 1.0}') = :'ascii' AS same_ascii;
SELECT idem_fingerprint('{"é": 1, "x": 2}', '{é}') = idem_fingerprint('{"x": 2}') AS excluded;
SELECT outcome, result FROM idem_execute('ö', 'SELECT $1::text AS "ü"', '["é"]');
-- Messages with the caller's words, and without.
SELECT idem_finish('é', scope => 'ü');
SELECT token AS token FROM idem_begin('other', 'ü') \gset
\c -
SET client_encoding = 'UTF8';
SELECT idem_finish('other', scope => 'ü');
SELECT idem_finish('other', scope => 'ü', token => :token);

-- EUC_JP: two and three bytes a character.
CREATE DATABASE regress_idem_euc_jp ENCODING 'EUC_JP' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0;
\c regress_idem_euc_jp
SET client_encoding = 'UTF8';
CREATE EXTENSION pg_idem;
SELECT outcome FROM idem_begin(repeat('鍵', 256), '範囲', owner => '私');
SELECT idem_finish(repeat('鍵', 256), '"結果"', '範囲');
SELECT outcome, result, owner FROM idem_begin(repeat('鍵', 256), '範囲');
SELECT outcome FROM idem_begin(repeat('鍵', 256) || 'x', '範囲');
SELECT idem_key('鍵', 'a:あ', 'ソ/表'), idem_child_key('鍵', 'あ/い');
SELECT idem_fingerprint('{"あ": [1.0]}') = :'japanese' AS same, idem_fingerprint('{"a": 1.0}') = :'ascii' AS same_ascii;
SELECT idem_fingerprint('{"あ": 1, "x": 2}', '{あ}') = idem_fingerprint('{"x": 2}') AS excluded;
SELECT outcome, result FROM idem_execute('表', 'SELECT $1::text AS "列"', '["値"]');
SELECT idem_finish('鍵', scope => '範囲');
SELECT token AS token FROM idem_begin('other', '範囲') \gset
\c -
SET client_encoding = 'UTF8';
SELECT idem_finish('other', scope => '範囲');

-- SQL_ASCII: bytes without a meaning.
CREATE DATABASE regress_idem_sql_ascii ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0;
\c regress_idem_sql_ascii
CREATE EXTENSION pg_idem;
SELECT outcome FROM idem_begin(E'\xff\xfe', E'\x80', owner => E'\xc3');
SELECT idem_finish(E'\xff\xfe', '1', E'\x80');
SELECT outcome, result, owner = E'\xc3' AS owner FROM idem_begin(E'\xff\xfe', E'\x80');
SELECT count(*) FROM idem_records WHERE key = E'\xff\xfe';
SELECT outcome FROM idem_begin(repeat(E'\xff', 512), repeat(E'\xff', 128));
SELECT octet_length(idem_key(E'\xff', E'\xfe:')), octet_length(idem_child_key(E'\xff', E'\xfe/'));
SELECT idem_fingerprint('{"a": 1.0}') = :'ascii' AS same_ascii;
-- A client that sends UTF-8 gets the fingerprint that it gets elsewhere.
SELECT idem_fingerprint('{"name": "é", "あ": [1.0]}') = :'fingerprint' AS same;

\c :home
DROP DATABASE regress_idem_utf8;
DROP DATABASE regress_idem_latin1;
DROP DATABASE regress_idem_euc_jp;
DROP DATABASE regress_idem_sql_ascii;
