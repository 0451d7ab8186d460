-- A refused write dooms its transaction: it cannot commit, and nothing of it is kept.

CREATE TEMP TABLE work (step INTEGER);
SELECT oplog_metadata_upsert('n', 'k', 5, :w1);
SELECT oplog_metadata_upsert('n', 'other', 2, :w2);

-- ZF001, swallowed by a savepoint. The commit names the first refusal.
BEGIN;
INSERT INTO work VALUES (1);
SELECT fenced_append('n', 'other', 2, :w2, 1, 'good');
SAVEPOINT s;
SELECT fenced_append('n', 'k', 4, :w1, 1, 'stale');
ROLLBACK TO s;
INSERT INTO work VALUES (2);
COMMIT;
SELECT count(*) FROM work;
SELECT key, last_idx, length FROM oplog_status ORDER BY key;

-- The transaction is over, and the next one is not doomed.
BEGIN;
SELECT fenced_append('n', 'other', 2, :w2, 1, 'good');
COMMIT;
SELECT key, last_idx, length FROM oplog_status ORDER BY key;

-- ZF002, ZF003 and ZF004 do the same.
BEGIN;
INSERT INTO work VALUES (1);
SAVEPOINT s;
SELECT fenced_append('n', 'k', 5, :w2, 1, 'not mine');
ROLLBACK TO s;
COMMIT;
BEGIN;
INSERT INTO work VALUES (1);
SAVEPOINT s;
SELECT fenced_append('n', 'none', 1, :w1, 1, 'never claimed');
ROLLBACK TO s;
COMMIT;
BEGIN;
INSERT INTO work VALUES (1);
SAVEPOINT s;
SELECT fenced_append('n', 'k', 6, :w1, 1, 'not yet claimed');
ROLLBACK TO s;
COMMIT;
SELECT count(*) FROM work;

-- So does the bulk form, and a refusal several savepoints deep.
BEGIN;
INSERT INTO work VALUES (1);
SAVEPOINT a;
SAVEPOINT b;
SAVEPOINT c;
INSERT INTO fenced_append(namespace, key, epoch, writer, idx, payload)
VALUES ('n', 'other', 2, :w2, 2, 'good'), ('n', 'k', 4, :w1, 1, 'stale');
ROLLBACK TO c;
RELEASE b;
ROLLBACK TO a;
COMMIT;
SELECT count(*) FROM work;

-- Every later call in it is ZF009 at once, whatever it is and whoever calls; the detail
-- stays that of the first refusal.
BEGIN;
SAVEPOINT s;
SELECT fenced_append('n', 'k', 4, :w1, 1, 'stale');
ROLLBACK TO s;
SELECT fenced_append('n', 'k', 5, :w1, 1, 'the owner');
ROLLBACK TO s;
INSERT INTO fenced_append(namespace, key, epoch, writer, idx, payload) VALUES ('n', 'other', 2, :w2, 2, 'good');
ROLLBACK TO s;
SELECT fenced_append('n', 'none', 1, :w1, 1, 'never claimed');
ROLLBACK TO s;
SELECT fence_check('n', 'k', 5, :w1);
ROLLBACK TO s;
SELECT oplog_metadata_upsert('n', 'k', 6, :w1);
ROLLBACK TO s;
SELECT try_oplog_metadata_upsert('n', 'k', 6, :w1);
ROLLBACK TO s;
SELECT oplog_metadata_upsert_many('n', '[]', :w1);
ROLLBACK TO s;
SELECT fenced_append('n', 'k', NULL, :w1, 1, 'no epoch');
ROLLBACK TO s;
SELECT fenced_append('n', 'k', 5, :w1, -1, 'no idx');
ROLLBACK TO s;
-- Looking is allowed.
SELECT key, epoch, last_idx FROM oplog_status ORDER BY key;
COMMIT;

-- ROLLBACK ends it without an error.
BEGIN;
SAVEPOINT s;
SELECT fenced_append('n', 'k', 4, :w1, 1, 'stale');
ROLLBACK TO s;
ROLLBACK;
SELECT fenced_append('n', 'k', 5, :w1, 1, 'one');
SELECT key, epoch, last_idx, length FROM oplog_status ORDER BY key;
SELECT count(*) FROM work;
