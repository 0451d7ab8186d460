-- What people with this problem complain about, each as the case it is. W1 is the process
-- that was paused or replaced, W2 its successor.

-- 1: a job is rescued because it took long, and then its first attempt completes, too. The
-- completion is a fenced write: of two attempts one completes, the other one is told.
SELECT oplog_metadata_upsert('jobs', 'j1', 1, :w1);
SELECT oplog_metadata_upsert('jobs', 'j1', 2, :w2);
SELECT fenced_put('jobs', 'j1', 2, :w2, 'status', 'completed by the second');
SELECT fenced_put('jobs', 'j1', 1, :w1, 'status', 'completed by the first');
SELECT name, epoch, value FROM fenced_values WHERE namespace = 'jobs' AND key = 'j1';

-- 2: a rescuer that is late overwrites a job that has just completed. It can only act as
-- owner, and then the next write of the old one is refused: never both.
SELECT oplog_metadata_upsert('jobs', 'j2', 1, :w1);
SELECT fenced_put('jobs', 'j2', 1, :w1, 'status', 'completed');
SELECT fenced_put('jobs', 'j2', 2, :w2, 'status', 'available');
SELECT fenced_put('jobs', 'j2', 1, :w2, 'status', 'available');
SELECT value FROM fenced_values WHERE namespace = 'jobs' AND key = 'j2' AND name = 'status';

-- 3: a job that is both finished and failed. The last word is one value, and its epoch says
-- whose it is.
SELECT fenced_put('jobs', 'j2', 1, :w1, 'status', 'failed');
SELECT count(*) FROM fenced_values WHERE namespace = 'jobs' AND key = 'j2' AND name = 'status';

-- 9: a heartbeat that asks "is it running" steals the lease back. Re-opening compares epoch
-- and writer.
SELECT oplog_metadata_upsert('jobs', 'j1', 1, :w1);
SELECT oplog_metadata_upsert('jobs', 'j1', 2, :w1);
SELECT oplog_metadata_upsert('jobs', 'j1', 2, :w2);

-- 10: a fenced checkpoint silently becomes a no-op. It raises, and the old value stands.
SELECT fenced_put('jobs', 'j1', 1, :w1, 'checkpoint', '17');
SELECT fenced_remove('jobs', 'j1', 1, :w1, 'status');
SELECT count(*) FROM fenced_values WHERE namespace = 'jobs' AND key = 'j1';

-- 11: the check comes first, the takeover in between, the write last.
SELECT oplog_metadata_upsert('jobs', 'j3', 1, :w1);
SELECT fence_check('jobs', 'j3', 1, :w1);
SELECT oplog_metadata_upsert('jobs', 'j3', 2, :w2);
SELECT fenced_append('jobs', 'j3', 1, :w1, 1, 'late');

-- 15: a predecessor's range delete removes the successor's new timer. A trim needs the
-- epoch, and an owner's own never reaches beyond its log.
SELECT fenced_append('jobs', 'j3', 2, :w2, 5, 'timer');
SELECT fenced_drop_prefix('jobs', 'j3', 1, :w1, 9223372036854775807);
SELECT idx, payload FROM oplog_read('jobs', 'j3');

-- 16: lost ownership is not reported, or is met for ever. One code says it, and a claim at a
-- higher epoch is the way out.
SELECT oplog_metadata_upsert('jobs', 'j3', 3, :w1);
SELECT fenced_append('jobs', 'j3', 3, :w1, 6, 'back again');

-- 17: retention deletes the log that another one writes.
SELECT fenced_drop_prefix('jobs', 'j3', 2, :w2, 5);
SELECT first_idx, last_idx, length FROM oplog_status WHERE namespace = 'jobs' AND key = 'j3';

-- 18: a stalled writer's clean-up deletes what is alive.
SELECT fenced_delete('jobs', 'j3', 2, :w2);
SELECT length, deleted FROM oplog_status WHERE namespace = 'jobs' AND key = 'j3';

-- 19: the check is needed on every way to write, with a code instead of a text.
SELECT fenced_append('jobs', 'j3', 2, :w2, 7, 'x');
INSERT INTO fenced_append(namespace, key, epoch, writer, idx, payload) VALUES ('jobs', 'j3', 2, :w2, 7, 'x');
SELECT fenced_put('jobs', 'j3', 2, :w2, 'v', 'x');
SELECT fenced_remove('jobs', 'j3', 2, :w2, 'v');
SELECT fenced_drop_prefix('jobs', 'j3', 2, :w2, 7);
SELECT fenced_publish('jobs', 'j3', 2, :w2, 'jobs', 'staged', 1);
SELECT fenced_delete('jobs', 'j3', 2, :w2);
SELECT fence_check('jobs', 'j3', 2, :w2);

-- 24: the lock's row is gone, and the next renewal makes it anew as if it had been held. A
-- write never makes a record, and a claim is no renewal.
SELECT fenced_put('jobs', 'gone', 5, :w1, 'v', 'x');
SELECT count(*) FROM oplog_status WHERE namespace = 'jobs' AND key = 'gone';

-- 30: the last epoch there is, and none above it.
SELECT oplog_metadata_upsert('jobs', 'last', 9223372036854775807, :w1);
SELECT oplog_metadata_upsert('jobs', 'last', 9223372036854775807, :w2);
SELECT fence_reset('jobs', 'last', 1);
SELECT oplog_metadata_upsert('jobs', 'last', 2, :w2);

-- 31: "you are ahead of me" is not "you are stale": the database went back, or the claim was
-- forgotten.
SELECT fenced_append('jobs', 'last', 3, :w2, 1, 'x');

-- 32: epochs begin anew after delete and create, and a clean-up loses the newest fence.
SELECT oplog_metadata_upsert('jobs', 'j4', 8, :w1);
SELECT fenced_delete('jobs', 'j4', 8, :w1);
SELECT oplog_metadata_upsert('jobs', 'j4', 0, :w2);
SELECT oplog_metadata_upsert('jobs', 'j4', 8, :w2);
SELECT fence_purge('jobs', 0);
SELECT oplog_metadata_upsert('jobs', 'j4', 8, :w2);
SELECT oplog_metadata_upsert('jobs', 'j4', 9, :w2);

-- 33: a code for each: stale, another writer, no record, ahead.
SELECT fenced_append('jobs', 'j1', 1, :w1, 1, 'x');
SELECT fenced_append('jobs', 'j1', 2, :w1, 1, 'x');
SELECT fenced_append('jobs', 'nowhere', 1, :w1, 1, 'x');
SELECT fenced_append('jobs', 'j1', 3, :w1, 1, 'x');

-- 48: a direct INSERT passes, and a replay is an error. A replay is a success, and other
-- bytes are a conflict.
SELECT fenced_append('jobs', 'j1', 2, :w2, 1, 'x');
SELECT fenced_append('jobs', 'j1', 2, :w2, 1, 'x');
SELECT fenced_append('jobs', 'j1', 2, :w2, 1, 'y');
