-- What has expired goes by itself
--
-- These records are to be kept in an archive when their time is over. The
-- millisecond stands for the days that you would choose.

--@ session second
SELECT idem_scope_set('mails',
    retain => '1 millisecond', on_expiry => 'archive');
SELECT outcome FROM idem_begin('mail-1', 'mails');
--@ expect started
SELECT idem_finish('mail-1', '{"sent": true}', 'mails');
--@ expect finished

-- A table of your own can expire too, for example the one in which a program
-- noted what it had already seen.

CREATE TABLE seen_messages (id text PRIMARY KEY, seen_at timestamptz);
INSERT INTO seen_messages
VALUES ('old-1', now() - interval '40 days'),
       ('old-2', now() - interval '31 days'),
       ('new-1', now());
SELECT idem_expire_attach('seen_messages', 'seen_at', '30 days');
--@ expect ERROR: table "seen_messages" has no index on column "seen_at" to find expired rows by

-- Without an index each look for old rows would read the whole table, so it
-- is refused, and the hint says what is missing.

CREATE INDEX ON seen_messages (seen_at);
SELECT idem_expire_attach('seen_messages', 'seen_at', '30 days');

-- A worker comes by itself; whoever cannot wait asks for it. It works in the
-- background, in short transactions, and leaves the database when it is done.

SELECT idem_cleanup_now();

--@ until 1
SELECT count(*) FROM seen_messages;
--@ expect 1
SELECT id FROM seen_messages;
--@ expect new-1

-- The record has moved from one table to the other, in one transaction.

--@ until 0
SELECT count(*) FROM idem_records WHERE scope = 'mails';
--@ expect 0
SELECT scope, key, status, result FROM idem_archive;
--@ expect mails | mail-1 | finished | {"sent": true}

-- And this is what an operator watches.

--@ until 3
SELECT sum(rows) AS removed FROM idem_stat_cleanup;
--@ expect 3
SELECT relation, action, rows, errors FROM idem_stat_cleanup;
--@ expect idem_records | policy | 1 | 0
--@ expect seen_messages | delete | 2 | 0
