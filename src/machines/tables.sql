-- Every version of a definition is kept: rows that were born under one may be judged by it, and the history names it.
CREATE TABLE @extschema@.idem_machines (
    name text COLLATE "C"
        CHECK (pg_catalog.octet_length(name) OPERATOR(pg_catalog.>=) 1
            AND pg_catalog.octet_length(name) OPERATOR(pg_catalog.<=) 128),
    version integer CHECK (version OPERATOR(pg_catalog.>=) 1),
    diagram text NOT NULL,
    defined_at timestamptz NOT NULL,
    defined_by name NOT NULL,
    PRIMARY KEY (name, version)
);
REVOKE ALL ON TABLE @extschema@.idem_machines FROM PUBLIC;
REVOKE ALL ON TYPE @extschema@.idem_machines FROM PUBLIC;
COMMENT ON TABLE @extschema@.idem_machines IS
    'definitions of state machines, the highest version of a name being the current one; written by idem_machine_define';
COMMENT ON COLUMN @extschema@.idem_machines.diagram IS 'the definition, as a Mermaid stateDiagram-v2';

CREATE SEQUENCE @extschema@.idem_history_ids AS bigint CACHE 1;
REVOKE ALL ON SEQUENCE @extschema@.idem_history_ids FROM PUBLIC;
COMMENT ON SEQUENCE @extschema@.idem_history_ids IS 'source of the numbers in idem_history';

-- What attachments with history => true write. As with idem_archive, one partition for each month (UTC), named
-- idem_history_YYYY_MM, none of which belongs to the extension, so that all are dumped like any table; and with an
-- index that is made there and not here.
CREATE TABLE @extschema@.idem_history (
    id bigint NOT NULL DEFAULT pg_catalog.nextval('@extschema@.idem_history_ids'::pg_catalog.regclass),
    at timestamptz NOT NULL,
    attachment text COLLATE "C" NOT NULL,
    key jsonb NOT NULL,
    key_hash bigint NOT NULL,
    machine text COLLATE "C" NOT NULL,
    machine_version integer NOT NULL,
    from_state text COLLATE "C",
    to_state text COLLATE "C",
    event text COLLATE "C",
    event_id text COLLATE "C",
    data jsonb,
    xid xid8 NOT NULL,
    role text COLLATE "C" NOT NULL,
    application_name text COLLATE "C"
) PARTITION BY RANGE (at);
REVOKE ALL ON TABLE @extschema@.idem_history FROM PUBLIC;
REVOKE ALL ON TYPE @extschema@.idem_history FROM PUBLIC;
COMMENT ON TABLE @extschema@.idem_history IS
    'a row for each transition of a row whose state machine was attached with a history, by month';
COMMENT ON COLUMN @extschema@.idem_history.from_state IS 'NULL: the row was born';
COMMENT ON COLUMN @extschema@.idem_history.key IS 'primary key of the row, as an object of its columns';
COMMENT ON COLUMN @extschema@.idem_history.key_hash IS
    'the key for the index: a single integer is itself, so that rows next to each other stay so; else a hash';
COMMENT ON COLUMN @extschema@.idem_history.xid IS
    'the transaction that made the transition; means nothing any more where a dump was restored';

SELECT pg_catalog.pg_extension_config_dump('@extschema@.idem_machines'::pg_catalog.regclass, '');
SELECT pg_catalog.pg_extension_config_dump('@extschema@.idem_history_ids'::pg_catalog.regclass, '');
