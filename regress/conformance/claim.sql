-- oplog_metadata_upsert(namespace, key, epoch, writer): a claim only moves forward.

-- A key that never existed can be claimed at epoch 0. There is no entry: NULL.
SELECT oplog_metadata_upsert('n', 'new', 0, :w1);
SELECT epoch, writer FROM oplog_metadata WHERE namespace = 'n' AND key = 'new';

-- A first claim may begin anywhere, and an epoch may be skipped.
SELECT oplog_metadata_upsert('n', 'far', 1000, :w1);
SELECT oplog_metadata_upsert('n', 'far', 5000, :w2);
SELECT epoch, writer FROM oplog_metadata WHERE namespace = 'n' AND key = 'far';

-- L5, P38: given epoch 4 of writer 1, writer 2 cannot claim epoch 4, and changes nothing.
SELECT oplog_metadata_upsert('n', 'k', 4, :w1);
SELECT oplog_metadata_upsert('n', 'k', 4, :w2);
SELECT epoch, writer FROM oplog_metadata WHERE namespace = 'n' AND key = 'k';

-- L7, P38: the same writer may claim its epoch again, and then append.
SELECT oplog_metadata_upsert('n', 'k', 4, :w1);
SELECT oplog_metadata_upsert('n', 'k', 4, :w1);
SELECT fenced_append('n', 'k', 4, :w1, 17, 'one');

-- A claim returns the greatest idx that was ever stored, also on a re-open.
SELECT oplog_metadata_upsert('n', 'k', 4, :w1);
SELECT fenced_append('n', 'k', 4, :w1, 3, 'stored later, below it');
SELECT oplog_metadata_upsert('n', 'k', 5, :w2);

-- The loser of the key cannot take it back at its epoch, nor below.
SELECT oplog_metadata_upsert('n', 'k', 4, :w1);
SELECT oplog_metadata_upsert('n', 'k', 0, :w1);
SELECT epoch, writer FROM oplog_metadata WHERE namespace = 'n' AND key = 'k';

-- It can at a higher one.
SELECT oplog_metadata_upsert('n', 'k', 6, :w1);

-- L9: claims 5, 5, 9, then 8 is refused; appends at 9 are taken, at 8 refused.
SELECT oplog_metadata_upsert('n', 'l9', 5, :w1);
SELECT oplog_metadata_upsert('n', 'l9', 5, :w1);
SELECT oplog_metadata_upsert('n', 'l9', 9, :w1);
SELECT oplog_metadata_upsert('n', 'l9', 8, :w1);
SELECT fenced_append('n', 'l9', 9, :w1, 1, 'at 9');
SELECT fenced_append('n', 'l9', 8, :w1, 2, 'at 8');
SELECT epoch, length FROM oplog_status WHERE namespace = 'n' AND key = 'l9';

-- A lower epoch is stale whoever claims it: the epoch is compared before the writer.
SELECT oplog_metadata_upsert('n', 'l9', 8, :w2);

-- What is no epoch, no name or no writer is refused, and leaves no record.
SELECT oplog_metadata_upsert('n', 'bad', -1, :w1);
SELECT oplog_metadata_upsert(NULL, 'bad', 1, :w1);
SELECT oplog_metadata_upsert('', 'bad', 1, :w1);
SELECT oplog_metadata_upsert('n', NULL, 1, :w1);
SELECT oplog_metadata_upsert('n', '', 1, :w1);
SELECT oplog_metadata_upsert('n', 'bad', 1, NULL);
SELECT oplog_metadata_upsert('n', 'bad', 1, 'me');

-- A NULL epoch is a number that the mode of the namespace does not allow.
SELECT oplog_metadata_upsert('n', 'bad', NULL, :w1);

-- With several faults the first of ZF010, ZF012, ZF001, ZF002 counts.
SELECT oplog_metadata_upsert('n', 'bad', NULL, NULL);
SELECT oplog_metadata_upsert('n', 'k', -1, :w2);
SELECT count(*) FROM oplog_metadata WHERE key = 'bad' OR key = '';
