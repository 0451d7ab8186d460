-- fenced_delete: entries, values and ownership go, the floor stays.

-- L23: given a key with entries and a value.
SELECT oplog_metadata_upsert('n', 'k', 9, :w1);
SELECT fenced_append('n', 'k', 9, :w1, 1, 'one');
SELECT fenced_append('n', 'k', 9, :w1, 2, 'two');
SELECT fenced_put('n', 'k', 9, :w1, 'name', 'value');
SELECT fenced_delete('n', 'k', 9, :w1);
SELECT * FROM oplog_metadata;
SELECT count(*) FROM oplog_entries;
SELECT count(*) FROM fenced_values;
SELECT namespace, key, epoch, first_idx, last_idx, length, deleted FROM oplog_status;
SELECT fenced_append('n', 'k', 9, :w1, 3, 'three');
SELECT fence_check('n', 'k', 9, :w1);

-- Repeated by the deleter: 0. By anybody else: there is no record.
SELECT fenced_delete('n', 'k', 9, :w1);
SELECT fenced_delete('n', 'k', 9, :w2);
SELECT fenced_delete('n', 'k', 8, :w1);
SELECT fenced_delete('n', 'k', 10, :w1);

-- L19: the floor survives, a new life begins above it.
SELECT oplog_metadata_upsert('n', 'k', 8, :w1);
SELECT oplog_metadata_upsert('n', 'k', 9, :w1);
SELECT try_oplog_metadata_upsert('n', 'k', 9, :w2);
SELECT oplog_metadata_upsert('n', 'k', 10, :w2);
SELECT epoch, first_idx, last_idx, length, deleted FROM oplog_status;

-- M25: nothing of the earlier life is there, its idx are free, its owner is stale.
SELECT fenced_append('n', 'k', 10, :w2, 1, 'new');
SELECT fenced_append('n', 'k', 9, :w1, 2, 'late');
SELECT fenced_delete('n', 'k', 9, :w1);
SELECT idx, epoch, payload FROM oplog_read('n', 'k');

-- L21 and the rest: who does not own the key deletes nothing.
SELECT fenced_delete('n', 'none', 1, :w1);
SELECT fenced_delete('n', 'k', 11, :w2);
SELECT fenced_delete('n', 'k', 10, :w1);
SELECT fenced_delete('n', NULL, 10, :w2);
SELECT fenced_delete('n', 'k', -1, :w2);
SELECT fenced_delete('n', 'k', 10, NULL);
SELECT fenced_delete('n', 'k', NULL, :w2);
SELECT length FROM oplog_status;

-- L27: one namespace only.
SELECT oplog_metadata_upsert('m', 'k', 1, :w1);
SELECT fenced_append('m', 'k', 1, :w1, 1, 'm');
SELECT fenced_delete('n', 'k', 10, :w2);
SELECT namespace, key, idx FROM oplog_entries;

-- M5: a transaction of its own, which dooms nothing.
BEGIN;
SELECT fenced_append('m', 'k', 1, :w1, 2, 'kept');
SAVEPOINT s;
SELECT fenced_delete('m', 'k', 1, :w1);
ROLLBACK TO s;
COMMIT;
SELECT length FROM oplog_status WHERE namespace = 'm';
