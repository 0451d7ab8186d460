-- fenced_append in both forms: what the owner of a key may store.

-- L1: given epoch 7 of writer 1, three entries are accepted; each call returns its idx.
SELECT oplog_metadata_upsert('n', 'k', 7, :w1);
SELECT fenced_append('n', 'k', 7, :w1, 1, 'one');
SELECT fenced_append('n', 'k', 7, :w1, 2, 'two');
SELECT fenced_append('n', 'k', 7, :w1, 3, 'three');
SELECT length FROM oplog_status WHERE namespace = 'n' AND key = 'k';
SELECT idx, epoch, payload FROM oplog_entries WHERE namespace = 'n' AND key = 'k' ORDER BY idx;

-- The bulk form stores several in one statement, in whatever order.
INSERT INTO fenced_append(namespace, key, epoch, writer, idx, payload)
VALUES ('n', 'k', 7, :w1, 6, 'six'), ('n', 'k', 7, :w1, 4, 'four'), ('n', 'k', 7, :w1, 5, 'five');
SELECT idx, payload FROM oplog_entries WHERE namespace = 'n' AND key = 'k' AND idx > 3 ORDER BY idx;

-- The columns are known by name, not by place.
INSERT INTO fenced_append(payload, idx, writer, epoch, key, namespace)
VALUES ('seven', 7, :w1, 7, 'k', 'n');
SELECT idx, epoch, payload FROM oplog_entries WHERE namespace = 'n' AND key = 'k' AND idx = 7;

-- One statement may serve several keys, each under its own epoch and writer.
SELECT oplog_metadata_upsert('n', 'other', 2, :w2);
INSERT INTO fenced_append(namespace, key, epoch, writer, idx, payload)
VALUES ('n', 'k', 7, :w1, 8, 'eight'), ('n', 'other', 2, :w2, 1, 'one');
SELECT key, last_idx, length FROM oplog_status WHERE namespace = 'n' ORDER BY key;

-- L28: gaps are allowed, and an idx may come below the last one.
SELECT oplog_metadata_upsert('n', 'gaps', 1, :w1);
SELECT fenced_append('n', 'gaps', 1, :w1, 8, 'eight');
SELECT fenced_append('n', 'gaps', 1, :w1, 4, 'four');
SELECT fenced_append('n', 'gaps', 1, :w1, 0, 'zero');
SELECT idx, payload FROM oplog_read('n', 'gaps');

-- A payload may be empty and is kept byte for byte.
SELECT oplog_metadata_upsert('n', 'bytes', 1, :w1);
SELECT fenced_append('n', 'bytes', 1, :w1, 1, '');
SELECT fenced_append('n', 'bytes', 1, :w1, 2, ' leading and trailing blanks ');
SELECT fenced_append('n', 'bytes', 1, :w1, 3, 'it''s "quoted"; {braces}');
SELECT fenced_append('n', 'bytes', 1, :w1, 4, 'größer € 🔒');
SELECT idx, payload FROM oplog_read('n', 'bytes');

-- A new owner goes on behind the entries of the old one, and both keep their epochs.
SELECT oplog_metadata_upsert('n', 'k', 8, :w2);
SELECT fenced_append('n', 'k', 8, :w2, 9, 'nine');
SELECT idx, epoch FROM oplog_entries WHERE namespace = 'n' AND key = 'k' AND idx >= 8 ORDER BY idx;

-- A statement without rows stores nothing and is not refused, even under a stale epoch.
INSERT INTO fenced_append(namespace, key, epoch, writer, idx, payload)
SELECT 'n', 'k', 7, :w1, 10, 'ten' WHERE 1 = 0;
SELECT last_idx FROM oplog_status WHERE namespace = 'n' AND key = 'k';
