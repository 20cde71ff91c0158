-- An owner is killed in mid-work
--
-- This work calls another system, so the claim is committed before the call
-- and protected by a lease. A checkpoint says how far the work got.

--@ session first
SELECT outcome, attempt
FROM idem_begin('payout-1', lease => '3 seconds', committed => true);
--@ expect started | 1
SELECT idem_checkpoint('payout-1', 'sent', '{"transfer": "tr_991"}');

-- The operating system kills the program that was working (kill -9).

--@ kill first

-- While the lease lasts, nobody knows that the owner is gone.

--@ session second
SELECT token AS lost_token FROM idem_get('payout-1') \gset
SELECT outcome, attempt, owner FROM idem_begin('payout-1');
--@ expect in_progress | 1 | first

-- Then the work is handed on, with the checkpoint. We are willing to wait.

SELECT outcome, attempt, checkpoint, checkpoint_data
FROM idem_begin('payout-1', wait => '20 seconds');
--@ expect started | 2 | sent | {"transfer": "tr_991"}
SELECT idem_finish('payout-1', '{"transfer": "tr_991"}');
--@ expect finished

-- Had the first owner only been slow, its late result would be refused.

SELECT idem_finish('payout-1', '"late"', token => :lost_token);
--@ expect ERROR: the claim on key "payout-1" is no longer yours
