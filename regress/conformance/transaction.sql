-- Fenced writes in a transaction: what stays, and what makes it impossible to commit.

-- The application's own table: what it writes beside the log shares its fate.
CREATE TEMP TABLE work (step INTEGER);
SELECT oplog_metadata_upsert('n', 'k', 5, :w1);
SELECT oplog_metadata_upsert('n', 'other', 2, :w2);

-- An empty transaction.
BEGIN;
COMMIT;

-- Given the owner, entries and other work are committed together, or rolled back.
BEGIN;
SELECT fenced_append('n', 'k', 5, :w1, 1, 'one');
INSERT INTO work VALUES (1);
COMMIT;
BEGIN;
SELECT fenced_append('n', 'k', 5, :w1, 2, 'undone');
INSERT INTO work VALUES (2);
ROLLBACK;
SELECT idx, payload FROM oplog_read('n', 'k');
SELECT step FROM work ORDER BY step;

-- A savepoint takes its entries with it; their idx is free again.
BEGIN;
SELECT fenced_append('n', 'k', 5, :w1, 2, 'two');
SAVEPOINT s;
SELECT fenced_append('n', 'k', 5, :w1, 3, 'undone');
ROLLBACK TO s;
SELECT fenced_append('n', 'k', 5, :w1, 3, 'three');
RELEASE s;
COMMIT;
SELECT idx, payload FROM oplog_read('n', 'k');

-- Two keys, each under its own ownership.
BEGIN;
SELECT fenced_append('n', 'k', 5, :w1, 4, 'four');
SELECT fenced_append('n', 'other', 2, :w2, 1, 'one');
COMMIT;
SELECT key, last_idx, length FROM oplog_status ORDER BY key;

-- M5, M10: a claim is a transaction of its own. It fails alone; the work before and
-- after it can be committed.
BEGIN;
SELECT fenced_append('n', 'k', 5, :w1, 5, 'five');
SAVEPOINT s;
SELECT oplog_metadata_upsert('n', 'k2', 1, :w1);
ROLLBACK TO s;
SELECT oplog_metadata_upsert('n', 'k', 6, :w1);
ROLLBACK TO s;
SELECT try_oplog_metadata_upsert('n', 'k2', 1, :w1);
ROLLBACK TO s;
SELECT oplog_metadata_upsert_many('n', '[{"key": "k2", "epoch": "1"}]', :w1);
ROLLBACK TO s;
SELECT fenced_append('n', 'k', 5, :w1, 6, 'six');
COMMIT;
SELECT key, epoch, last_idx FROM oplog_status ORDER BY key;

-- M9: two epochs of one key are not two owners' work committed as one. The second is
-- refused alone, before anybody asks who owns the key; the first can be committed.
BEGIN;
SELECT fenced_append('n', 'k', 5, :w1, 7, 'seven');
SAVEPOINT s;
SELECT fenced_append('n', 'k', 4, :w1, 8, 'eight');
ROLLBACK TO s;
SELECT fenced_append('n', 'k', 6, :w1, 8, 'eight');
ROLLBACK TO s;
COMMIT;
SELECT key, epoch, last_idx FROM oplog_status ORDER BY key;

-- What says nothing about ownership fails its statement only: ZF010, ZF012, ZF013.
BEGIN;
SAVEPOINT s;
SELECT fenced_append('n', 'k', 5, :w1, -1, 'no idx');
ROLLBACK TO s;
SELECT fenced_append('n', 'k', NULL, :w1, 8, 'no epoch');
ROLLBACK TO s;
SELECT fenced_append('n', 'k', 5, :w1, 7, 'other bytes');
ROLLBACK TO s;
SELECT fenced_append('n', 'k', 5, :w1, 8, 'eight');
COMMIT;
SELECT last_idx, length FROM oplog_status WHERE key = 'k';

-- A question is no write: a stale fence_check dooms nothing.
BEGIN;
SAVEPOINT s;
SELECT fence_check('n', 'k', 4, :w1);
ROLLBACK TO s;
SELECT fence_check('n', 'none', 4, :w1);
ROLLBACK TO s;
SELECT fenced_append('n', 'k', 5, :w1, 9, 'nine');
COMMIT;
SELECT last_idx, length FROM oplog_status WHERE key = 'k';
