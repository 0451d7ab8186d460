-- oplog_read and the views oplog_entries, oplog_metadata: they ask for no ownership.

-- Given five entries, stored out of order by two owners.
SELECT oplog_metadata_upsert('n', 'k', 1, :w1);
SELECT fenced_append('n', 'k', 1, :w1, 5, 'five');
SELECT fenced_append('n', 'k', 1, :w1, 1, 'one');
SELECT fenced_append('n', 'k', 1, :w1, 3, 'three');
SELECT oplog_metadata_upsert('n', 'k', 2, :w2);
SELECT fenced_append('n', 'k', 2, :w2, 9, 'nine');
SELECT fenced_append('n', 'k', 2, :w2, 2, 'two');

-- L29: the answer ascends, both bounds belong to it.
SELECT idx, epoch, payload FROM oplog_read('n', 'k');
SELECT idx, epoch, payload FROM oplog_read('n', 'k', 1, 3);
SELECT idx, epoch, payload FROM oplog_read('n', 'k', 3, 3);
SELECT idx FROM oplog_read('n', 'k', 4, 8);
SELECT idx FROM oplog_read('n', 'k', 6);
SELECT idx FROM oplog_read('n', 'k', 10);
SELECT idx FROM oplog_read('n', 'k', 3, 1);
SELECT idx FROM oplog_read('n', 'k', 9223372036854775807);

-- No upper bound, but a greatest number of entries.
SELECT idx FROM oplog_read('n', 'k', 2, NULL, 2);
SELECT idx FROM oplog_read('n', 'k', 0, 9223372036854775807, 3);
SELECT idx FROM oplog_read('n', 'k', 0, NULL, 0);
SELECT idx FROM oplog_read('n', 'k', 0, NULL, 9223372036854775807);

-- It can be sorted, filtered, counted and joined like a table.
SELECT idx FROM oplog_read('n', 'k') ORDER BY idx DESC;
SELECT count(*), min(idx), max(idx) FROM oplog_read('n', 'k') WHERE epoch = 1;
SELECT m.key, r.idx FROM oplog_metadata m, oplog_read('n', 'k', 0, 2) r WHERE m.namespace = 'n' ORDER BY r.idx;

-- A key without entries, and a key that never existed, have none.
SELECT oplog_metadata_upsert('n', 'empty', 1, :w1);
SELECT idx FROM oplog_read('n', 'empty');
SELECT idx FROM oplog_read('n', 'never');
SELECT count(*) FROM oplog_metadata WHERE key = 'never';

-- What cannot be a name or a bound is refused.
SELECT idx FROM oplog_read(NULL, 'k');
SELECT idx FROM oplog_read('n', NULL);
SELECT idx FROM oplog_read('', 'k');
SELECT idx FROM oplog_read('n', '');
SELECT idx FROM oplog_read('n', 'k', -1);
SELECT idx FROM oplog_read('n', 'k', 0, -1);
SELECT idx FROM oplog_read('n', 'k', 0, 9, -1);

-- The views: all entries; the owners, by the fingerprints of their writers.
SELECT namespace, key, idx, epoch, payload FROM oplog_entries ORDER BY namespace, key, idx;
SELECT namespace, key, epoch, writer FROM oplog_metadata ORDER BY namespace, key;
SELECT writer, fence_fingerprint(:w2) FROM oplog_metadata WHERE key = 'k';
