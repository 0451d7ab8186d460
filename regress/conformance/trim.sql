-- fenced_drop_prefix: the beginning of a log goes, its last idx is remembered.

-- L24: given the entries 10, 11, 12.
SELECT oplog_metadata_upsert('n', 'k', 7, :w1);
INSERT INTO fenced_append(namespace, key, epoch, writer, idx, payload)
VALUES ('n', 'k', 7, :w1, 10, 'ten'), ('n', 'k', 7, :w1, 11, 'eleven'), ('n', 'k', 7, :w1, 12, 'twelve');
SELECT fenced_drop_prefix('n', 'k', 7, :w1, 5);
SELECT first_idx, last_idx, length FROM oplog_status;
SELECT fenced_drop_prefix('n', 'k', 7, :w1, 10);
SELECT fenced_drop_prefix('n', 'k', 7, :w1, 10);
SELECT idx, payload FROM oplog_read('n', 'k');

-- M24: what was trimmed is never stored again, the bytes do not matter.
SELECT fenced_append('n', 'k', 7, :w1, 10, 'ten');
SELECT fenced_append('n', 'k', 7, :w1, 3, 'three');
INSERT INTO fenced_append(namespace, key, epoch, writer, idx, payload)
VALUES ('n', 'k', 7, :w1, 13, 'thirteen'), ('n', 'k', 7, :w1, 9, 'nine');
SELECT fenced_append('n', 'k', 7, :w1, 11, 'eleven');
SELECT first_idx, last_idx, length FROM oplog_status;

-- Beyond the end: the log is empty, the key and its last idx stay.
SELECT fenced_drop_prefix('n', 'k', 7, :w1, 20);
SELECT epoch, first_idx, last_idx, length, deleted FROM oplog_status;
SELECT key FROM oplog_keys('n');
SELECT oplog_metadata_upsert('n', 'k', 8, :w2);
SELECT fenced_append('n', 'k', 8, :w2, 12, 'twelve');
SELECT fenced_append('n', 'k', 8, :w2, 13, 'thirteen');
SELECT fenced_append('n', 'k', 8, :w2, 20, 'twenty');
SELECT fenced_append('n', 'k', 8, :w2, 15, 'late');
SELECT fenced_drop_prefix('n', 'k', 8, :w2, 15);
SELECT idx, payload FROM oplog_read('n', 'k');

-- L25, L39: a stale owner trims nothing. So do others.
SELECT fenced_drop_prefix('n', 'k', 7, :w1, 20);
SELECT fenced_drop_prefix('n', 'k', 8, :w1, 20);
SELECT fenced_drop_prefix('n', 'k', 9, :w2, 20);
SELECT fenced_drop_prefix('n', 'none', 7, :w1, 20);
SELECT count(*) FROM oplog_status WHERE key = 'none';
SELECT first_idx, last_idx, length FROM oplog_status WHERE key = 'k';

-- What through_idx cannot be; the greatest idx of all.
SELECT fenced_drop_prefix('n', 'k', 8, :w2, NULL);
SELECT fenced_drop_prefix('n', 'k', 8, :w2, -1);
SELECT fenced_drop_prefix('n', 'k', NULL, :w2, 1);
SELECT fenced_drop_prefix('n', 'k', 8, :w2, 9223372036854775807);
SELECT fenced_append('n', 'k', 8, :w2, 21, 'twenty-one');

-- Idx 0 alone.
SELECT oplog_metadata_upsert('n', 'zero', 1, :w1);
SELECT fenced_append('n', 'zero', 1, :w1, 0, 'zero');
SELECT fenced_append('n', 'zero', 1, :w1, 1, 'one');
SELECT fenced_drop_prefix('n', 'zero', 1, :w1, 0);
SELECT idx FROM oplog_read('n', 'zero');

-- In a transaction a trim goes with a savepoint.
BEGIN;
SAVEPOINT s;
SELECT fenced_drop_prefix('n', 'zero', 1, :w1, 1);
ROLLBACK TO s;
COMMIT;
SELECT first_idx, last_idx, length FROM oplog_status WHERE key = 'zero';
