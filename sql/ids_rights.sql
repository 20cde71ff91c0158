-- Ids need what nextval needs: the function, and USAGE or UPDATE on the sequence.
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_idem_ids, regress_idem_owner;
RESET client_min_messages;
SET idem.node_id = 7;
CREATE ROLE regress_idem_ids;
CREATE ROLE regress_idem_owner;
CREATE TABLE rows (id bigint DEFAULT idem_snowflake(), n integer);
GRANT INSERT, SELECT ON rows TO regress_idem_ids;
CREATE SEQUENCE other;
SET ROLE regress_idem_ids;
INSERT INTO rows (n) VALUES (1);
SELECT idem_uuid7();
SELECT idem_snowflake_text(1);
RESET ROLE;
SELECT idem_grant('regress_idem_ids');
SET ROLE regress_idem_ids;
INSERT INTO rows (n) VALUES (1) RETURNING id > 0 AS given;
SELECT count(*) FROM idem_snowflake_batch(10);
SELECT idem_snowflake_text(1), idem_snowflake_from_text('0000000000001'), idem_uuid7() IS NOT NULL AS uuid,
    idem_uuid7_floor('2025-01-01+00');
SELECT node FROM idem_snowflake_parts(idem_snowflake());
-- The default sequence can be used and not set or read.
\set VERBOSITY sqlstate
SELECT setval('idem_snowflake_seq', 1);
SELECT last_value FROM idem_snowflake_seq;
ALTER SEQUENCE idem_snowflake_seq RESTART;
\set VERBOSITY default
-- Other sequences need rights of their own, those of the catalog not.
SELECT idem_snowflake('other');
SELECT count(*) FROM idem_snowflake_batch(0, 'other');
SELECT at IS NOT NULL AS known FROM idem_snowflake_parts(1, 'other');
SELECT idem_snowflake_floor('2025-01-01 00:00:00.001+00', 'other');
SELECT idem_snowflake_create('mine');
RESET ROLE;
GRANT SELECT ON SEQUENCE other TO regress_idem_ids;
SET ROLE regress_idem_ids;
SELECT idem_snowflake('other');
RESET ROLE;
GRANT UPDATE ON SEQUENCE other TO regress_idem_ids;
SET ROLE regress_idem_ids;
SELECT idem_snowflake('other') > 0 AS given;
RESET ROLE;
-- A right that is taken away counts at once.
REVOKE UPDATE ON SEQUENCE other FROM regress_idem_ids;
SET ROLE regress_idem_ids;
SELECT idem_snowflake('other');
RESET ROLE;
GRANT USAGE ON SEQUENCE other TO regress_idem_ids;
SET ROLE regress_idem_ids;
SELECT idem_snowflake('other') > 0 AS given;
RESET ROLE;
-- Who may make one is decided by the schema, as for CREATE SEQUENCE.
SELECT idem_grant('regress_idem_owner', operator => true);
CREATE SCHEMA open;
GRANT USAGE ON SCHEMA open TO regress_idem_owner;
SET ROLE regress_idem_owner;
SELECT idem_snowflake_create('open.mine');
RESET ROLE;
GRANT CREATE ON SCHEMA open TO regress_idem_owner;
SET ROLE regress_idem_owner;
SELECT idem_snowflake_create('open.mine');
SELECT idem_snowflake('open.mine') > 0 AS given;
RESET ROLE;
SELECT relowner::regrole FROM pg_class WHERE oid = 'open.mine'::regclass;
SELECT idem_revoke('regress_idem_ids');
SELECT has_sequence_privilege('regress_idem_ids', 'idem_snowflake_seq', 'USAGE') AS usage;
SET ROLE regress_idem_ids;
INSERT INTO rows (n) VALUES (1);
RESET ROLE;
DROP SCHEMA open CASCADE;
DROP TABLE rows;
DROP SEQUENCE other;
DROP OWNED BY regress_idem_ids, regress_idem_owner;
DROP ROLE regress_idem_ids, regress_idem_owner;
