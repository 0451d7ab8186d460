-- oplog_status: the state of each key at one look.

SELECT count(*) FROM oplog_status;

-- A claimed key without entries.
SELECT oplog_metadata_upsert('n', 'empty', 3, :w1);
SELECT namespace, key, epoch, writer, first_idx, last_idx, length, deleted FROM oplog_status;

-- L28: entries 4 and 8.
SELECT oplog_metadata_upsert('n', 'k', 1, :w2);
SELECT fenced_append('n', 'k', 1, :w2, 8, 'eight');
SELECT fenced_append('n', 'k', 1, :w2, 4, 'four');
SELECT namespace, key, epoch, writer, first_idx, last_idx, length, deleted FROM oplog_status ORDER BY key;

-- The smallest stored idx at or above 3, 4, 6 and 9.
SELECT min(idx) FROM oplog_entries WHERE namespace = 'n' AND key = 'k' AND idx >= 3;
SELECT min(idx) FROM oplog_entries WHERE namespace = 'n' AND key = 'k' AND idx >= 4;
SELECT min(idx) FROM oplog_entries WHERE namespace = 'n' AND key = 'k' AND idx >= 6;
SELECT min(idx) FROM oplog_entries WHERE namespace = 'n' AND key = 'k' AND idx >= 9;

-- A takeover changes the owner and nothing of the log.
SELECT oplog_metadata_upsert('n', 'k', 2, :w3);
SELECT epoch, writer, first_idx, last_idx, length, deleted FROM oplog_status WHERE key = 'k';

-- Refused calls change nothing.
SELECT oplog_metadata_upsert('n', 'k', 1, :w2);
SELECT fenced_append('n', 'k', 1, :w2, 9, 'nine');
SELECT fenced_append('n', 'k', 2, :w3, 8, 'other bytes');
SELECT epoch, writer, first_idx, last_idx, length, deleted FROM oplog_status WHERE key = 'k';

-- idx 0 is an entry, not "none".
SELECT oplog_metadata_upsert('n', 'zero', 0, :w1);
SELECT fenced_append('n', 'zero', 0, :w1, 0, 'zero');
SELECT epoch, first_idx, last_idx, length FROM oplog_status WHERE key = 'zero';
