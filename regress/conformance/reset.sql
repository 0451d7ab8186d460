-- fence_reset: lowers the epoch of a key that was claimed too high by mistake.

-- Given a key claimed at the ceiling.
SELECT oplog_metadata_upsert('n', 'k', 7, :w1);
SELECT fenced_append('n', 'k', 7, :w1, 1, 'one');
SELECT oplog_metadata_upsert('n', 'k', 9223372036854775807, :w2);
SELECT fenced_append('n', 'k', 9223372036854775807, :w2, 2, 'two');
SELECT fence_reset('n', 'k', 7);

-- Nobody owns it, its log stays, the next claim must exceed the new epoch.
SELECT * FROM oplog_metadata;
SELECT epoch, writer, first_idx, last_idx, length, deleted FROM oplog_status;
SELECT fenced_append('n', 'k', 9223372036854775807, :w2, 3, 'late');
SELECT fenced_append('n', 'k', 7, :w1, 3, 'late');
SELECT fence_check('n', 'k', 7, :w1);
SELECT fenced_delete('n', 'k', 7, :w1);
SELECT oplog_metadata_upsert('n', 'k', 7, :w1);
SELECT try_oplog_metadata_upsert('n', 'k', 6, :w1);
SELECT oplog_metadata_upsert('n', 'k', 8, :w1);
SELECT fenced_append('n', 'k', 8, :w1, 3, 'three');
SELECT idx, epoch FROM oplog_read('n', 'k');

-- Downwards only, and only what there is.
SELECT fence_reset('n', 'k', 8);
SELECT fence_reset('n', 'k', 9);
SELECT fence_reset('n', 'none', 0);
SELECT fence_reset('n', 'k', -1);
SELECT fence_reset('n', 'k', NULL);
SELECT fence_reset('n', NULL, 0);
SELECT fence_reset('', 'k', 0);
BEGIN;
SAVEPOINT s;
SELECT fence_reset('n', 'k', 0);
ROLLBACK TO s;
COMMIT;
SELECT fence_check('n', 'k', 8, :w1);

-- A deleted key stays deleted, with a lower floor.
SELECT fenced_delete('n', 'k', 8, :w1);
SELECT fence_reset('n', 'k', 3);
SELECT epoch, writer, deleted FROM oplog_status;
SELECT fenced_delete('n', 'k', 8, :w1);
SELECT oplog_metadata_upsert('n', 'k', 3, :w1);
SELECT oplog_metadata_upsert('n', 'k', 4, :w1);

-- A key that was never claimed has no epoch to lower.
SELECT fence_namespace_set('n', 'optional');
SELECT fenced_append('n', 'free', NULL, NULL, 1, 'x');
SELECT fence_reset('n', 'free', 0);

-- An unfenced write on a reset key changes nothing of that.
SELECT fence_reset('n', 'k', 2);
SELECT fenced_append('n', 'k', NULL, NULL, 1, 'x');
SELECT epoch, writer, first_idx, last_idx, length, deleted FROM oplog_status WHERE key = 'k';
SELECT oplog_metadata_upsert('n', 'k', 3, :w2);
