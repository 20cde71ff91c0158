-- A stale save, and messages that come twice
--
-- Ann and Bob open the same article. A version in the row tells whoever saves
-- second that what he has read is no longer there.

--@ session ann
CREATE TABLE articles (
    id int PRIMARY KEY, title text, version int NOT NULL DEFAULT 1);
INSERT INTO articles VALUES (1, 'Draft');
SELECT idem_version_attach('articles');
SELECT title, version FROM articles WHERE id = 1;
--@ expect Draft | 1
--@ session bob
SELECT title, version FROM articles WHERE id = 1;
--@ expect Draft | 1

-- idem_cas writes only where the version is still the one that was read, and
-- returns the new one. A plain UPDATE counts up as well.

--@ session ann
SELECT idem_cas('articles', '{"id": 1}', 1, '{"title": "by Ann"}');
--@ expect 2
--@ session bob
SELECT idem_cas('articles', '{"id": 1}', 1, '{"title": "by Bob"}');
--@ expect ERROR: stale version of a row in table "articles": expected 1, actual 2

-- A queue that delivers at least once delivers some messages twice. A till that
-- numbers its sales keeps one row here, however many it sends.

SELECT producer_id, epoch, last_seq FROM idem_producer('till-7', 'sales');
--@ expect 1 | 1 | 0
BEGIN;
SELECT outcome FROM idem_accept('sales', 1, 1, 1);
--@ expect accepted
UPDATE balances SET amount = amount + 5 WHERE id = 1;
COMMIT;
SELECT outcome FROM idem_accept('sales', 1, 1, 1);
--@ expect duplicate

-- Nothing gets lost unnoticed: number 3 has to wait for number 2.

SELECT outcome FROM idem_accept('sales', 1, 1, 3);
--@ expect ERROR: sequence 3 of producer 1 leaves a gap
