-- Sequences and tables that get their ids in one way each. Keys would cost all of them the same.
CREATE EXTENSION pg_idem;
SELECT idem_snowflake_create('snowflakes');
CREATE SEQUENCE numbers;
CREATE TABLE by_snowflake (id bigint NOT NULL DEFAULT idem_snowflake('snowflakes'));
CREATE TABLE by_nextval (id bigint NOT NULL DEFAULT nextval('numbers'));
