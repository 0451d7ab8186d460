-- fence_check: "am I still the owner?" It raises as an append would.

SELECT fence_check('n', 'k', 0, :w1);

-- The owner is.
SELECT oplog_metadata_upsert('n', 'k', 4, :w1);
SELECT fence_check('n', 'k', 4, :w1);

-- Neither another writer, nor a lower or a higher epoch.
SELECT fence_check('n', 'k', 4, :w2);
SELECT fence_check('n', 'k', 3, :w1);
SELECT fence_check('n', 'k', 5, :w1);

-- A writer is compared by value, not by spelling.
SELECT fence_check('n', 'k', 4, '{11111111111141118111111111111111}');

-- After a takeover the old owner is stale and the new one is the owner.
SELECT oplog_metadata_upsert('n', 'k', 5, :w2);
SELECT fence_check('n', 'k', 4, :w1);
SELECT fence_check('n', 'k', 5, :w2);

-- What is wrong with the call.
SELECT fence_check('n', 'k', NULL, :w2);
SELECT fence_check('n', 'k', -1, :w2);
SELECT fence_check('n', 'k', 5, NULL);
SELECT fence_check('n', 'k', 5, 'me');
SELECT fence_check(NULL, 'k', 5, :w2);
SELECT fence_check('n', '', 5, :w2);

-- It is no claim: the record and the log are as they were.
SELECT key, epoch, writer, length FROM oplog_status;
