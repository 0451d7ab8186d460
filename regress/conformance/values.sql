-- fenced_put, fenced_remove, fenced_values: small named values of a key.

-- Given a claimed key, its owner stores values and replaces them.
SELECT oplog_metadata_upsert('n', 'k', 7, :w1);
SELECT fenced_put('n', 'k', 7, :w1, 'status', 'open');
SELECT fenced_put('n', 'k', 7, :w1, 'cursor', '');
SELECT fenced_put('n', 'k', 7, :w1, 'status', 'busy');
SELECT namespace, key, name, epoch, value FROM fenced_values ORDER BY namespace, key, name;

-- The very same value again is a repeat: false, nothing is stored.
SELECT fenced_put('n', 'k', 7, :w1, 'status', 'busy');
SELECT fenced_put('n', 'k', 7, :w1, 'cursor', '');

-- Removed once.
SELECT fenced_remove('n', 'k', 7, :w1, 'cursor');
SELECT fenced_remove('n', 'k', 7, :w1, 'cursor');
SELECT fenced_remove('n', 'k', 7, :w1, 'never');

-- After a takeover the same bytes are stored anew, with the new epoch.
SELECT oplog_metadata_upsert('n', 'k', 8, :w2);
SELECT fenced_put('n', 'k', 8, :w2, 'status', 'busy');
SELECT fenced_put('n', 'k', 8, :w2, 'status', 'busy');
SELECT name, epoch, value FROM fenced_values;

-- The old owner is refused, also what is there already.
SELECT fenced_put('n', 'k', 7, :w1, 'status', 'late');
SELECT fenced_put('n', 'k', 7, :w1, 'new', 'late');
SELECT fenced_remove('n', 'k', 7, :w1, 'status');
SELECT fenced_remove('n', 'k', 7, :w1, 'never');

-- So are a later epoch, another writer, a key without a record.
SELECT fenced_put('n', 'k', 9, :w2, 'status', 'early');
SELECT fenced_put('n', 'k', 8, :w1, 'status', 'other');
SELECT fenced_put('n', 'none', 0, :w1, 'status', 'x');
SELECT fenced_remove('n', 'none', 0, :w1, 'status');
SELECT key, name, epoch, value FROM fenced_values ORDER BY key, name;

-- What cannot be a name or a value.
SELECT fenced_put('n', 'k', 8, :w2, NULL, 'x');
SELECT fenced_put('n', 'k', 8, :w2, '', 'x');
SELECT fenced_put('n', 'k', 8, :w2, 'name', NULL);
SELECT fenced_remove('n', 'k', 8, :w2, '');
SELECT fenced_put('n', 'k', 8, NULL, 'name', 'x');
SELECT fenced_put('n', 'k', -1, :w2, 'name', 'x');
SELECT fenced_put('n', 'k', NULL, :w2, 'name', 'x');
SELECT fenced_remove('n', 'k', NULL, :w2, 'name');
SELECT fenced_remove('n', 'k', NULL, NULL, 'name');

-- Names are compared by their bytes, and so sorted.
SELECT fenced_put('n', 'k', 8, :w2, 'Status', '1');
SELECT fenced_put('n', 'k', 8, :w2, 'status ', '2');
SELECT fenced_put('n', 'k', 8, :w2, 'é', '3');
SELECT name FROM fenced_values ORDER BY name;

-- L27: a value belongs to one key of one namespace.
SELECT oplog_metadata_upsert('m', 'k', 8, :w2);
SELECT fenced_put('m', 'k', 8, :w2, 'status', 'm');
SELECT fenced_remove('n', 'k', 8, :w2, 'status');
SELECT namespace, name FROM fenced_values ORDER BY namespace, name;

-- In a transaction a value goes with a savepoint, and two epochs are one too many.
BEGIN;
SAVEPOINT s;
SELECT fenced_put('n', 'k', 8, :w2, 'gone', 'x');
ROLLBACK TO s;
SELECT fenced_put('n', 'k', 8, :w2, 'kept', 'x');
SAVEPOINT s;
SELECT fenced_put('n', 'k', 7, :w1, 'kept', 'y');
ROLLBACK TO s;
COMMIT;
SELECT name, value FROM fenced_values WHERE name IN ('gone', 'kept');
