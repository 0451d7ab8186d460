-- fence_purge: the floors of deleted keys become one floor of the namespace.

-- Given keys deleted at 9 and at 3, and one that lives.
SELECT oplog_metadata_upsert('n', 'a', 9, :w1);
SELECT oplog_metadata_upsert('n', 'b', 3, :w1);
SELECT oplog_metadata_upsert('n', 'lives', 1, :w1);
SELECT fenced_delete('n', 'a', 9, :w1);
SELECT fenced_delete('n', 'b', 3, :w1);

-- Not those that were deleted more recently.
SELECT fence_purge('n', 3600000);
SELECT fence_purge('n', 9223372036854775807);
SELECT * FROM fence_namespaces;
SELECT fence_purge('n', 0);
SELECT fence_purge('n', 0);
SELECT key FROM oplog_status;
SELECT namespace, mode, identical_repeat, shard_space, floor FROM fence_namespaces;

-- From then on a first claim must exceed the floor, of whatever key.
SELECT oplog_metadata_upsert('n', 'a', 9, :w1);
SELECT oplog_metadata_upsert('n', 'new', 0, :w1);
SELECT try_oplog_metadata_upsert('n', 'new', 9, :w1);
SELECT oplog_metadata_upsert('n', 'new', 10, :w1);
SELECT oplog_metadata_upsert('n', 'lives', 2, :w2);
SELECT oplog_metadata_upsert('m', 'a', 0, :w1);

-- The floor holds for keys that unfenced writes make, and outlives a change of the mode.
SELECT fence_namespace_set('n', 'optional');
SELECT fenced_append('n', 'a', NULL, NULL, 1, 'x');
SELECT oplog_metadata_upsert('n', 'a', 9, :w1);
SELECT oplog_metadata_upsert('n', 'a', 10, :w1);
SELECT namespace, mode, floor FROM fence_namespaces;

-- It never falls; a key that nobody ever owned adds nothing.
SELECT fenced_append('n', 'free', NULL, NULL, 1, 'x');
SELECT fenced_delete('n', 'free', NULL, NULL);
SELECT fenced_delete('n', 'lives', 2, :w2);
SELECT fence_purge('n', 0);
SELECT namespace, mode, floor FROM fence_namespaces;

-- What cannot be, and a transaction of its own.
SELECT fence_purge(NULL, 0);
SELECT fence_purge('', 0);
SELECT fence_purge('n', NULL);
SELECT fence_purge('n', -1);
SELECT fence_purge('nothing here', 0);
BEGIN;
SAVEPOINT s;
SELECT fence_purge('n', 0);
ROLLBACK TO s;
COMMIT;
