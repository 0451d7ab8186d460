-- fence_namespace_set: which writes of a namespace state an epoch.

-- Nothing is set at first. What is no mode, no space, no transaction of its own.
SELECT * FROM fence_namespaces;
SELECT fence_namespace_set('n', 'none');
SELECT fence_namespace_set('n', NULL);
SELECT fence_namespace_set('n', 'Optional');
SELECT fence_namespace_set('', 'optional');
SELECT fence_namespace_set('n', 'optional', NULL);
SELECT fence_namespace_set('n', 'optional', false, 'space');
BEGIN;
SAVEPOINT s;
SELECT fence_namespace_set('n', 'optional');
ROLLBACK TO s;
COMMIT;
SELECT * FROM fence_namespaces;

-- L10, mode required: every write states an epoch.
SELECT oplog_metadata_upsert('n', 'k', 9, :w1);
SELECT fenced_append('n', 'k', NULL, :w1, 1, 'one');
SELECT fenced_append('n', 'k', NULL, NULL, 1, 'one');
SELECT fenced_delete('n', 'k', NULL, :w1);

-- L10, mode optional: both.
SELECT fence_namespace_set('n', 'optional');
SELECT namespace, mode, identical_repeat, shard_space, floor FROM fence_namespaces;
SELECT fenced_append('n', 'k', NULL, :w2, 1, 'free');
SELECT fenced_append('n', 'k', NULL, NULL, 2, 'free');
SELECT fenced_append('n', 'k', 9, :w1, 3, 'owned');
SELECT fenced_append('n', 'k', 8, :w1, 4, 'stale');
INSERT INTO fenced_append(namespace, key, epoch, writer, idx, payload)
VALUES ('n', 'k', NULL, NULL, 4, 'free'), ('n', 'k', 9, :w1, 5, 'owned');
SELECT idx, epoch, payload FROM oplog_read('n', 'k');

-- Calls about ownership need an epoch in every mode.
SELECT oplog_metadata_upsert('n', 'k', NULL, :w1);
SELECT try_oplog_metadata_upsert('n', 'k', NULL, :w1);
SELECT fence_check('n', 'k', NULL, :w1);
SELECT fence_check('n', 'k', 9, :w1);

-- L14: an unfenced append conflicts as any other; the same again is a repeat.
SELECT fenced_append('n', 'k', NULL, NULL, 1, 'other');
SELECT fenced_append('n', 'k', NULL, NULL, 1, 'free');
SELECT fenced_append('n', 'k', NULL, NULL, 3, 'owned');
SELECT fenced_append('n', 'k', 9, :w1, 1, 'free');

-- A key that nobody owns: made by an unfenced write, taken over with its log.
SELECT fenced_append('n', 'free', NULL, NULL, 4, 'four');
SELECT fenced_put('n', 'value', NULL, NULL, 'name', 'x');
SELECT key, epoch, writer, first_idx, last_idx, length, deleted FROM oplog_status
WHERE key <> 'k' ORDER BY key;
SELECT key FROM oplog_metadata;
SELECT key FROM oplog_keys('n');
SELECT fenced_append('n', 'free', 0, :w1, 5, 'x');
SELECT fence_check('n', 'free', 0, :w1);
SELECT fenced_delete('n', 'free', 0, :w1);
SELECT oplog_metadata_upsert('n', 'free', 0, :w1);
SELECT fenced_append('n', 'free', 0, :w1, 5, 'five');
SELECT idx, epoch FROM oplog_read('n', 'free');
SELECT name, epoch, value FROM fenced_values;

-- Unfenced trims, removals, deletes; what is not there is no error and is not made.
SELECT fenced_drop_prefix('n', 'free', NULL, NULL, 4);
SELECT fenced_append('n', 'free', NULL, NULL, 4, 'four');
SELECT fenced_remove('n', 'value', NULL, NULL, 'name');
SELECT fenced_remove('n', 'value', NULL, NULL, 'name');
SELECT fenced_drop_prefix('n', 'none', NULL, NULL, 4);
SELECT fenced_remove('n', 'none', NULL, NULL, 'name');
SELECT fenced_delete('n', 'none', NULL, NULL);
SELECT count(*) FROM oplog_status WHERE key = 'none';

-- L18, L22: an unfenced delete takes what somebody owns, and is harmless when repeated.
SELECT fenced_delete('n', 'k', NULL, :w2);
SELECT fenced_delete('n', 'k', NULL, :w2);
SELECT fenced_append('n', 'k', 9, :w1, 6, 'late');
SELECT fenced_delete('n', 'k', 9, :w1);
SELECT epoch, first_idx, last_idx, length, deleted FROM oplog_status WHERE key = 'k';

-- An unfenced write begins a new life of a deleted key: without owner, above its floor.
SELECT fenced_append('n', 'k', NULL, NULL, 1, 'new');
SELECT epoch, writer, first_idx, last_idx, length, deleted FROM oplog_status WHERE key = 'k';
SELECT fenced_append('n', 'k', 9, :w1, 2, 'late');
SELECT oplog_metadata_upsert('n', 'k', 9, :w1);
SELECT oplog_metadata_upsert('n', 'k', 10, :w1);

-- M3, mode unfenced: no write states an epoch, and nothing else goes.
SELECT fence_namespace_set('n', 'unfenced', true);
SELECT namespace, mode, identical_repeat, shard_space, floor FROM fence_namespaces;
SELECT fenced_append('n', 'k', 10, :w1, 2, 'x');
SELECT fenced_put('n', 'k', 10, :w1, 'name', 'x');
SELECT fenced_remove('n', 'k', 10, :w1, 'name');
SELECT fenced_drop_prefix('n', 'k', 10, :w1, 1);
SELECT fenced_delete('n', 'k', 10, :w1);
SELECT fenced_publish('n', 'k', 10, :w1, 'n', 'free', 5);
SELECT oplog_metadata_upsert('n', 'k', 11, :w1);
SELECT oplog_metadata_upsert_many('n', '[{"key": "k", "epoch": "11"}]', :w1);
SELECT try_oplog_metadata_upsert('n', 'k', 11, :w1);
SELECT fence_check('n', 'k', 10, :w1);
SELECT fence_check('n', 'k', NULL, :w1);
SELECT fenced_append('n', 'k', NULL, NULL, 2, 'x');
SELECT fenced_append('n', 'k', NULL, 'anybody', 3, 'x');

-- L38: with identical_repeat the same bytes are a repeat, of whatever epoch.
SELECT fence_namespace_set('a', 'required', true);
SELECT oplog_metadata_upsert('a', 'k', 1, :w1);
SELECT fenced_append('a', 'k', 1, :w1, 1, 'chunk');
SELECT oplog_metadata_upsert('a', 'k', 2, :w2);
SELECT fenced_append('a', 'k', 2, :w2, 1, 'chunk');
SELECT fenced_append('a', 'k', 2, :w2, 1, 'other');
SELECT fenced_append('a', 'k', 1, :w1, 1, 'chunk');
SELECT idx, epoch, payload FROM oplog_read('a', 'k');

-- Unfenced publishing: the staged namespace has a say where no epoch is given.
SELECT fence_namespace_set('n', 'optional');
SELECT fenced_append('n', 'staged', NULL, NULL, 1, 'one');
SELECT oplog_metadata_upsert('r', 'staged', 1, :w1);
SELECT fenced_append('r', 'staged', 1, :w1, 1, 'one');
SELECT fenced_publish('n', 'to', NULL, NULL, 'r', 'staged', 1);
SELECT fenced_publish('n', 'to', NULL, NULL, 'n', 'staged', 1);
SELECT fenced_publish('n', 'to', NULL, NULL, 'n', 'staged', 1);
SELECT idx, epoch, payload FROM oplog_read('n', 'to');
SELECT oplog_metadata_upsert('r', 'to', 1, :w1);
SELECT fenced_append('n', 'staged', NULL, NULL, 1, 'again');
SELECT fenced_publish('r', 'to', 1, :w1, 'n', 'staged', 1);
SELECT idx, epoch, payload FROM oplog_read('r', 'to');
