-- Settings of a stream; what is left out stays as it is.
SELECT idem_stream_set('settings');
SELECT * FROM idem_streams WHERE stream = 'settings';
SELECT idem_stream_set('settings', 'monotonic', 7, '3 days', 'refuse', '1 h', true);
SELECT * FROM idem_streams WHERE stream = 'settings';
SELECT idem_stream_set('settings', remember => 0);
SELECT idem_stream_set('settings', 'strict', too_old => 'duplicate', refresh => false);
SELECT * FROM idem_streams WHERE stream = 'settings';
SELECT idem_stream_reset('settings'), idem_stream_reset('settings'), idem_stream_reset('settings: never set');
-- Refused.
SELECT idem_stream_set(NULL);
SELECT idem_stream_set('');
SELECT idem_stream_set(repeat('s', 129));
SELECT idem_stream_set('settings', 'Strict');
SELECT idem_stream_set('settings', remember => -1);
SELECT idem_stream_set('settings', remember => 1001);
SELECT idem_stream_set('settings', retain => '0');
SELECT idem_stream_set('settings', retain => '-1 day');
SELECT idem_stream_set('settings', retain => '20000 years');
SELECT idem_stream_set('settings', too_old => 'error');
SELECT idem_stream_set('settings', message_retain => '-1 s');
SELECT idem_stream_set('settings', member => '0');
SELECT count(*) FROM idem_streams;
-- How long producers are known: at least so long, and at most a tenth more. The time moves rarely.
CREATE FUNCTION kept(OUT at_least boolean, OUT at_most boolean) LANGUAGE sql AS $$
    SELECT expires_at >= now() + r, expires_at <= clock_timestamp() + r + r / 10
    FROM idem_producers AS p, coalesce((SELECT retain FROM idem_streams AS s WHERE s.stream = p.stream),
        current_setting('idem.producer_retain')::interval) AS r WHERE p.stream = 'settings'
$$;
SHOW idem.producer_retain;
SELECT producer_id AS id FROM idem_producer('settings', 'settings') \gset
SELECT * FROM kept();
SELECT expires_at AS before FROM idem_producers WHERE stream = 'settings' \gset
SELECT outcome FROM idem_accept('settings', :id, 1, 1);
SELECT outcome FROM idem_accept('settings', :id, 1, 1);
SELECT expires_at = :'before' AS unmoved FROM idem_producers WHERE stream = 'settings';
SET idem.producer_retain = '30 d';
SELECT outcome FROM idem_accept('settings', :id, 1, 1);
SELECT * FROM kept();
SELECT idem_stream_set('settings', retain => '2 h');
SELECT outcome FROM idem_accept('settings', :id, 1, 2);
SELECT * FROM kept();
SELECT idem_stream_set('settings', retain => '1 month');
SELECT epoch FROM idem_producer('settings', 'settings');
SELECT expires_at >= now() + '30 days'::interval AS at_least, expires_at <= clock_timestamp() + '33 days'::interval AS at_most
FROM idem_producers WHERE stream = 'settings';
-- In the last tenth any use moves it, a repeated batch as well.
UPDATE idem_producers SET expires_at = clock_timestamp() + '29 days' WHERE stream = 'settings';
SELECT outcome FROM idem_accept('settings', :id, 2, 2);
SELECT expires_at > clock_timestamp() + '32 days'::interval AS moved FROM idem_producers WHERE stream = 'settings';
UPDATE idem_producers SET expires_at = clock_timestamp() + '29 days' WHERE stream = 'settings';
SELECT * FROM idem_accept_many('settings', :id, 2, '{}');
SELECT expires_at > clock_timestamp() + '32 days'::interval AS moved FROM idem_producers WHERE stream = 'settings';
RESET idem.producer_retain;
-- Messages name ids, which come from a sequence that other tests draw from as well.
\set VERBOSITY sqlstate
-- An edit by hand counts at once, in this session and all others.
UPDATE idem_streams SET remember = 1, too_old = 'refuse' WHERE stream = 'settings';
SELECT outcome FROM idem_accept('settings', :id, 2, 3);
SELECT outcome FROM idem_accept('settings', :id, 2, 2);
DELETE FROM idem_streams;
SELECT outcome FROM idem_accept('settings', :id, 2, 2);
BEGIN;
SELECT idem_stream_set('settings', 'monotonic');
SELECT outcome FROM idem_accept('settings', :id, 2, 9);
ROLLBACK;
SELECT outcome FROM idem_accept('settings', :id, 2, 9);
DELETE FROM idem_producers WHERE stream = 'settings';
DROP FUNCTION kept;
