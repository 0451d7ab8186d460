-- fenced_publish: a staged log gets its final name, for exactly one of many.

-- Given staged logs of one process.
SELECT oplog_metadata_upsert('n', 'final', 7, :w1);
SELECT oplog_metadata_upsert('n', 'a', 7, :w1);
SELECT oplog_metadata_upsert('n', 'b', 7, :w1);
SELECT fenced_append('n', 'a', 7, :w1, 1, 'one');
SELECT fenced_append('n', 'a', 7, :w1, 3, 'three');

-- L31: missing, empty, with a gap, of another length, to idx 0: refused, left whole.
SELECT fenced_publish('n', 'final', 7, :w1, 'n', 'none', 1);
SELECT fenced_publish('n', 'final', 7, :w1, 'n', 'b', 1);
SELECT fenced_publish('n', 'final', 7, :w1, 'n', 'b', 0);
SELECT fenced_publish('n', 'final', 7, :w1, 'n', 'a', 3);
SELECT fenced_append('n', 'a', 7, :w1, 2, 'two');
SELECT fenced_publish('n', 'final', 7, :w1, 'n', 'a', 2);
SELECT fenced_publish('n', 'final', 7, :w1, 'n', 'a', 4);
SELECT fenced_publish('n', 'final', 7, :w1, 'n', 'a', 0);
SELECT key, length FROM oplog_status ORDER BY key;

-- L32: the first one wins, and finds so again; the others get false, their logs stay.
SELECT fenced_append('n', 'b', 7, :w1, 1, 'other');
SELECT fenced_put('n', 'a', 7, :w1, 'name', 'goes with it');
SELECT fenced_publish('n', 'final', 7, :w1, 'n', 'a', 3);
SELECT fenced_publish('n', 'final', 7, :w1, 'n', 'b', 1);
SELECT fenced_publish('n', 'final', 7, :w1, 'n', 'a', 3);
SELECT fenced_publish('n', 'final', 7, :w1, 'n', 'a', 2);
SELECT key, idx, epoch, payload FROM oplog_entries ORDER BY key, idx;
SELECT key, epoch, first_idx, last_idx, length, deleted FROM oplog_status ORDER BY key;
SELECT count(*) FROM fenced_values;
SELECT fenced_append('n', 'final', 7, :w1, 4, 'goes on');

-- The staged key has a floor.
SELECT oplog_metadata_upsert('n', 'a', 7, :w1);
SELECT oplog_metadata_upsert('n', 'a', 8, :w1);
SELECT fenced_publish('n', 'final', 7, :w1, 'n', 'a', 3);

-- L33: an append of the same idx and a publish: one of them.
SELECT oplog_metadata_upsert('n', 'taken', 7, :w1);
SELECT fenced_append('n', 'taken', 7, :w1, 1, 'mine');
SELECT fenced_publish('n', 'taken', 7, :w1, 'n', 'b', 1);
SELECT fenced_append('n', 'final', 7, :w1, 1, 'mine');

-- A log that was trimmed to nothing is no free name.
SELECT fenced_drop_prefix('n', 'taken', 7, :w1, 1);
SELECT fenced_publish('n', 'taken', 7, :w1, 'n', 'b', 1);

-- Refusals name the key in the way: the final one, else the staged one.
SELECT oplog_metadata_upsert('n', 'next', 8, :w2);
SELECT fenced_publish('n', 'next', 7, :w1, 'n', 'b', 1);
SELECT fenced_publish('n', 'next', 8, :w1, 'n', 'b', 1);
SELECT fenced_publish('n', 'next', 9, :w2, 'n', 'b', 1);
SELECT fenced_publish('n', 'nowhere', 7, :w1, 'n', 'b', 1);
SELECT fenced_publish('n', 'next', 8, :w2, 'n', 'b', 1);
SELECT oplog_metadata_upsert('n', 'b', 8, :w1);
SELECT fenced_publish('n', 'next', 8, :w2, 'n', 'b', 1);
SELECT oplog_metadata_upsert('n', 'b', 9, :w1);
SELECT fenced_publish('n', 'next', 8, :w2, 'n', 'b', 1);

-- A staged key of the same process; entries get the epoch of the publisher.
SELECT oplog_metadata_upsert('n', 'next', 10, :w1);
SELECT oplog_metadata_upsert('n', 'b', 10, :w1);
SELECT fenced_publish('n', 'next', 10, :w1, 'n', 'b', 1);
SELECT idx, epoch, payload FROM oplog_read('n', 'next');

-- Only the publisher's own repeat is true: not that of an owner who came later, nor where the
-- final key has begun a new life since.
SELECT fenced_publish('n', 'next', 10, :w1, 'n', 'b', 1);
SELECT oplog_metadata_upsert('n', 'next', 11, :w2);
SELECT fenced_publish('n', 'next', 11, :w2, 'n', 'b', 1);
SELECT fenced_delete('n', 'next', 11, :w2);
SELECT oplog_metadata_upsert('n', 'next', 12, :w1);
SELECT fenced_publish('n', 'next', 12, :w1, 'n', 'b', 1);
SELECT fence_namespace_set('u', 'unfenced');
SELECT fenced_append('u', 'stage', NULL, NULL, 1, 'x');
SELECT fenced_publish('u', 'free', NULL, NULL, 'u', 'stage', 1);
SELECT fenced_publish('u', 'free', NULL, NULL, 'u', 'stage', 1);
SELECT fenced_delete('u', 'free', NULL, NULL);
SELECT fenced_publish('u', 'free', NULL, NULL, 'u', 'stage', 1);

-- What cannot be.
SELECT fenced_publish('n', 'x', 7, :w1, NULL, 'b', 1);
SELECT fenced_publish('n', 'x', 7, :w1, 'n', '', 1);
SELECT fenced_publish('n', 'x', 7, :w1, 'n', 'b', NULL);
SELECT fenced_publish('n', 'x', 7, :w1, 'n', 'b', -1);
SELECT fenced_publish('n', 'x', 7, :w1, 'n', 'x', 1);
SELECT fenced_publish('n', 'x', 7, NULL, 'n', 'b', 1);
SELECT fenced_publish('n', 'x', NULL, :w1, 'n', 'b', 1);

-- M5: a transaction of its own.
BEGIN;
SAVEPOINT s;
SELECT fenced_publish('n', 'x', 7, :w1, 'n', 'b', 1);
ROLLBACK TO s;
COMMIT;
