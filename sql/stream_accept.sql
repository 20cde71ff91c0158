-- Producers, and batches of numbered messages that are accepted once. What is refused says why, and changes nothing.
-- Ids come from a sequence that other tests draw from as well, so no output shows one.
CREATE FUNCTION p(name text, s text DEFAULT 'accept') RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT producer_id FROM idem_producers WHERE stream = s AND producer = name
$$;
-- The answer, or the error without the id.
CREATE FUNCTION try(call text) RETURNS text LANGUAGE sql AS $$
    SELECT regexp_replace(attempt('SELECT ' || call), 'producer \d+', 'producer N')
$$;
CREATE FUNCTION give(seq bigint, last_seq bigint DEFAULT NULL, hash bytea DEFAULT NULL, result jsonb DEFAULT NULL,
    epoch integer DEFAULT 1, name text DEFAULT 'one', s text DEFAULT 'accept') RETURNS text LANGUAGE sql AS $$
    SELECT try(format('idem_accept(%L, %L, %L, %L, %L, %L, %L)', s, p(name, s), epoch, seq, last_seq, hash, result))
$$;
CREATE FUNCTION state(name text DEFAULT 'one', s text DEFAULT 'accept', OUT epoch integer, OUT last_seq bigint, OUT firsts bigint[],
    OUT lasts bigint[], OUT hashes bytea[], OUT results jsonb[]) LANGUAGE sql AS $$
    SELECT epoch, last_seq, firsts, lasts, hashes, results FROM idem_producers WHERE stream = s AND producer = name
$$;

-- A producer is new, then known; the id stays, the epoch grows.
SELECT producer_id > 0 AS id, epoch, last_seq FROM idem_producer('one', 'accept');
SELECT give(2);
SELECT give(1, 3, '\x01', '{"n": 3}');
SELECT give(1, 3, '\x01');
SELECT give(1, 3);
SELECT give(1, 3, '\x02');
SELECT give(4);
SELECT give(4, NULL, '\x02') AS no_hash_was_given_before;
SELECT give(6, 8);
SELECT give(3, 5);
SELECT give(2);
SELECT * FROM state();
SELECT producer_id = p('one') AS same_id, epoch, last_seq FROM idem_producer('one', 'accept');
SELECT give(5);
SELECT give(5, epoch => 3);
SELECT give(5, epoch => 0);
SELECT give(5, epoch => 2);
-- Another stream's, and none at all.
SELECT try(format('idem_accept(''other'', %L, 2, 6)', p('one')));
SELECT try('idem_accept(''accept'', 0, 1, 1)'), try('idem_accept(''accept'', -9223372036854775808, 1, 1)');

-- A result that was known after the work.
SELECT give(6, 7, epoch => 2);
SELECT try(format('idem_accept_result(''accept'', %L, 2, 6, ''{"late": true}'')', p('one')));
SELECT try(format('idem_accept_result(''accept'', %L, 2, 6, ''{"late": true}'')', p('one')));
SELECT try(format('idem_accept_result(''accept'', %L, 2, 6, ''0'')', p('one')));
SELECT try(format('idem_accept_result(''accept'', %L, 2, 7, ''0'')', p('one')));
SELECT try(format('idem_accept_result(''accept'', %L, 2, 8, ''0'')', p('one')));
SELECT try(format('idem_accept_result(''accept'', %L, 1, 6, ''0'')', p('one')));
SELECT try(format('idem_accept_result(''accept'', %L, 2, 6, NULL)', p('one')));
SELECT give(6, 7, epoch => 2);

-- Batches push each other out of the window; what is older is a duplicate all the same.
SELECT count(give(n, epoch => 2)) FROM generate_series(8, 12) AS n;
SELECT * FROM state();
SELECT give(6, 7, epoch => 2);
SELECT give(8, epoch => 2);
SELECT idem_stream_set('accept', too_old => 'refuse');
SELECT give(6, 7, epoch => 2);
SELECT give(12, epoch => 2);
-- The window shrinks and grows at once; what it has lost does not come back.
SELECT idem_stream_set('accept', remember => 2);
SELECT give(10, epoch => 2), give(11, epoch => 2);
SELECT cardinality(firsts) FROM state();
SELECT idem_stream_set('accept', remember => 4);
SELECT give(9, epoch => 2);
SELECT give(13, epoch => 2);
SELECT * FROM state();
SELECT idem_stream_set('accept', remember => 0, too_old => 'duplicate');
SELECT give(14, NULL, '\x01', '1', 2), give(14, NULL, '\x02', epoch => 2);
SELECT * FROM state();
SELECT idem_stream_set('accept', remember => 1000);
SELECT count(DISTINCT give(n, epoch => 2, result => to_jsonb(n))) FROM generate_series(15, 1100) AS n;
SELECT cardinality(firsts), cardinality(results), firsts[1], firsts[1000] FROM state();
SELECT give(101, epoch => 2), give(100, epoch => 2);
SELECT idem_stream_reset('accept');

-- Monotonic: numbers grow, and the part that is new is accepted.
SELECT idem_stream_set('grow', 'monotonic');
SELECT epoch, last_seq FROM idem_producer('one', 'grow');
SELECT give(10, 12, s => 'grow'), give(11, 15, result => '"new part"', s => 'grow'), give(11, 15, s => 'grow');
SELECT give(11, 16, s => 'grow'), give(3, s => 'grow'), give(20, s => 'grow');
SELECT try(format('idem_accept_result(''grow'', %L, 1, 11, ''"the later"'')', p('one', 'grow')));
SELECT * FROM state(s => 'grow');
SELECT idem_stream_set('grow', 'strict');
SELECT give(22, s => 'grow'), give(21, s => 'grow');

-- Many at once, in any order, more than once.
SELECT last_seq FROM idem_producer('many', 'accept');
CREATE FUNCTION many(seqs bigint[], s text DEFAULT 'accept') RETURNS text LANGUAGE sql AS $$
    SELECT try(format('array_agg(n ORDER BY o) FROM idem_accept_many(%L, %L, 1, %L) WITH ORDINALITY AS m (n, o)', s, p('many', s), seqs))
$$;
SELECT many('{2,3,1,3}'), many('{1,2,3}'), many('{}'), many('{3,5,4}'), many('{7}');
SELECT many('{{6,7},{8,9}}'), many('{9}');
SELECT * FROM state('many');
SELECT many(NULL), many('{10,NULL}'), many('{0}'), many('{-5,10}');
SELECT many(ARRAY(SELECT generate_series(100000, 10, -1))) = 'ok ' || array_agg(n)::text AS all_of_them FROM generate_series(10, 100000) AS n;
SELECT last_seq, firsts[2], lasts[2] FROM state('many');
SELECT count(*) FROM idem_producer('many', 'grow');
SELECT many('{5,3,9}', 'grow');
SELECT idem_stream_set('grow', 'monotonic', 1, too_old => 'refuse');
SELECT many('{5,3,9}', 'grow'), many('{9,4}', 'grow'), many('{12,10}', 'grow'), many('{12,9}', 'grow'), many('{12,13}', 'grow');
-- In the FROM clause and not.
SELECT idem_accept_many('accept', p('many'), 1, '{100001,100002}');

-- The end of the range.
SELECT last_seq FROM idem_producer('end', 'accept');
SELECT give(1, 9223372036854775806, name => 'end'), give(9223372036854775807, name => 'end');
SELECT give(9223372036854775807, name => 'end'), give(5, 9223372036854775807, name => 'end');
SELECT * FROM state('end');
UPDATE idem_producers SET epoch = 2147483647 WHERE producer_id = p('end');
SELECT p('end') AS id_before \gset
SELECT producer_id > :id_before AS new_id, epoch, last_seq FROM idem_producer('end', 'accept');
SELECT give(1, name => 'end');

-- An expired producer is unknown, and says how far it got. Registered again it goes on there.
SELECT epoch, last_seq FROM idem_producer('idle', 'accept');
SELECT give(1, 41, name => 'idle');
UPDATE idem_producers SET expires_at = clock_timestamp() WHERE producer_id = p('idle');
SELECT give(42, name => 'idle');
SELECT give(1, 41, name => 'idle');
SELECT many('{}') = 'ok' AS of_another_producer, try(format('idem_accept_many(''accept'', %L, 1, ''{42}'')', p('idle')));
SELECT p('idle') AS id_before \gset
SELECT producer_id = :id_before AS same_id, epoch, last_seq FROM idem_producer('idle', 'accept');
SELECT give(42, epoch => 2, name => 'idle');
UPDATE idem_producers SET expires_at = clock_timestamp() WHERE producer_id = p('idle');
SELECT idem_purge();
SELECT try(format('idem_accept(''accept'', %s, 2, 43)', :id_before));
SELECT producer_id > :id_before AS new_id, epoch, last_seq FROM idem_producer('idle', 'accept');

-- Arguments.
SELECT give(0), give(-1), give(5, 4), give(NULL, 4);
SELECT try('idem_accept(NULL, 1, 1, 1)'), try('idem_accept('''', 1, 1, 1)'), try('idem_accept(''accept'', NULL, 1, 1)');
SELECT try('idem_accept(''accept'', 1, NULL, 1)'), try('idem_accept(repeat(''s'', 129), 1, 1, 1)');
SELECT give(1101, NULL, decode(repeat('00', 129), 'hex'), epoch => 2);
SELECT give(1101, NULL, decode(repeat('00', 128), 'hex'), to_jsonb(repeat('r', 8193)), 2);
SELECT give(1101, NULL, decode(repeat('00', 128), 'hex'), to_jsonb(repeat('r', 8000)), 2) LIKE 'ok (accepted,1101,1101,%' AS accepted;
SELECT length(give(1101, NULL, epoch => 2)) > 8000 AS replayed;
SELECT give(1101, NULL, '\x', epoch => 2) AS an_empty_hash;
SELECT try('idem_producer(NULL)'), try('idem_producer('''')'), try('idem_producer(''p'', NULL)');
SELECT try('idem_producer(repeat(''p'', 257))');
SELECT epoch FROM idem_producer(repeat('ä', 128), repeat('ß', 64));
SELECT s.epoch, (idem_accept(repeat('ß', 64), p(repeat('ä', 128), repeat('ß', 64)), s.epoch, 1)).outcome
FROM idem_producer(repeat('ä', 128), repeat('ß', 64)) AS s;

-- What somebody broke by hand is reported.
UPDATE idem_producers SET firsts = firsts || 7::bigint WHERE producer_id = p('idle');
SELECT give(1, name => 'idle');
UPDATE idem_producers SET firsts = '{NULL}', lasts = '{1}' WHERE producer_id = p('idle');
SELECT give(1, name => 'idle');
UPDATE idem_producers SET firsts = '{}', lasts = '{}', results = '{1}' WHERE producer_id = p('idle');
SELECT give(1, name => 'idle');
UPDATE idem_producers SET results = NULL WHERE producer_id = p('idle');
SELECT give(1, name => 'idle');
DELETE FROM idem_producers WHERE stream IN ('accept', 'grow', repeat('ß', 64));
SELECT idem_stream_reset('grow');
DROP FUNCTION p, try, give, state, many;
