-- Who may use a stream.
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_idem_stream_app, regress_idem_stream_team, regress_idem_stream_operator;
RESET client_min_messages;
CREATE ROLE regress_idem_stream_app;
CREATE ROLE regress_idem_stream_team;
CREATE ROLE regress_idem_stream_operator;
SET ROLE regress_idem_stream_app;
SELECT idem_producer('p', 'rights');
\echo :SQLSTATE
RESET ROLE;
SELECT idem_grant('regress_idem_stream_app'), idem_grant('regress_idem_stream_operator', true);
SET ROLE regress_idem_stream_app;
SELECT epoch, last_seq FROM idem_producer('p', 'rights');
RESET ROLE;
SELECT producer_id AS id FROM idem_producers WHERE stream = 'rights' \gset
SET ROLE regress_idem_stream_app;
SELECT outcome FROM idem_accept('rights', :id, 1, 1);
SELECT idem_accept_result('rights', :id, 1, 1, '1');
SELECT * FROM idem_accept_many('rights', :id, 1, '{1,2}');
-- The functions do it, not the role.
SELECT count(*) FROM idem_producers;
\echo :SQLSTATE
UPDATE idem_producers SET last_seq = 0;
\echo :SQLSTATE
SELECT nextval('idem_producer_ids');
\echo :SQLSTATE
SELECT idem_stream_set('rights', 'monotonic');
\echo :SQLSTATE
SET ROLE regress_idem_stream_operator;
SELECT idem_stream_set('rights', member => 'regress_idem_stream_team');
SELECT stream, last_seq FROM idem_producers WHERE stream = 'rights';
SELECT member FROM idem_streams WHERE stream = 'rights';
UPDATE idem_producers SET last_seq = 0;
\echo :SQLSTATE
-- A stream of a team's is closed to others, whatever they ask.
SET ROLE regress_idem_stream_app;
SELECT outcome FROM idem_accept('rights', :id, 1, 3);
SELECT idem_producer('p', 'rights');
\echo :SQLSTATE
SELECT idem_accept_result('rights', :id, 1, 1, '1');
\echo :SQLSTATE
SELECT * FROM idem_accept_many('rights', :id, 1, '{3}');
\echo :SQLSTATE
-- Nor does the name of another stream open it.
\set VERBOSITY sqlstate
SELECT outcome FROM idem_accept('default', :id, 1, 3);
\set VERBOSITY default
RESET ROLE;
GRANT regress_idem_stream_team TO regress_idem_stream_app;
SET ROLE regress_idem_stream_app;
SELECT outcome FROM idem_accept('rights', :id, 1, 3);
RESET ROLE;
DROP ROLE regress_idem_stream_team;
SET ROLE regress_idem_stream_app;
SELECT outcome FROM idem_accept('rights', :id, 1, 4);
RESET ROLE;
SELECT idem_stream_reset('rights');
-- A hostile search_path changes nothing.
CREATE SCHEMA regress_idem_hostile;
CREATE FUNCTION regress_idem_hostile.eq(bigint, bigint) RETURNS boolean LANGUAGE sql AS 'SELECT false';
CREATE OPERATOR regress_idem_hostile.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = regress_idem_hostile.eq);
CREATE TABLE regress_idem_hostile.idem_producers (producer_id bigint);
SET search_path = regress_idem_hostile, pg_catalog, public;
SELECT outcome FROM public.idem_accept('rights', :id, 1, 4);
SELECT * FROM public.idem_accept_many('rights', :id, 1, '{4,5}');
SELECT epoch, last_seq FROM public.idem_producer('p', 'rights');
RESET search_path;
SET client_min_messages = warning;
DROP SCHEMA regress_idem_hostile CASCADE;
RESET client_min_messages;
SELECT idem_revoke('regress_idem_stream_app'), idem_revoke('regress_idem_stream_operator');
REVOKE USAGE ON SCHEMA public FROM regress_idem_stream_app, regress_idem_stream_operator;
DROP ROLE regress_idem_stream_app, regress_idem_stream_operator;
DELETE FROM idem_producers WHERE stream = 'rights';
