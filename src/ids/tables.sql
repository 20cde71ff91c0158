-- The sequence of ids for whoever needs no other; its START is its epoch, 2025-01-01 UTC.
CREATE SEQUENCE @extschema@.idem_snowflake_seq AS bigint START WITH 1735689600000 CACHE 1;
REVOKE ALL ON SEQUENCE @extschema@.idem_snowflake_seq FROM PUBLIC;
COMMENT ON SEQUENCE @extschema@.idem_snowflake_seq IS
    'the last id of idem_snowflake; never set it back, or ids could repeat';

SELECT pg_catalog.pg_extension_config_dump('@extschema@.idem_snowflake_seq'::pg_catalog.regclass, '');
