-- Savepoints, isolation levels, read-only and prepared transactions, in one session.

\set w1 '11111111-1111-4111-8111-111111111111'
\set w2 '22222222-2222-4222-8222-222222222222'
SET search_path = fence, public;
CREATE TABLE tx_work(step int);
SELECT oplog_metadata_upsert('tx', 'k', 5, :'w1');
SELECT oplog_metadata_upsert('tx', 'k2', 2, :'w2');

-- P5: an append that is rolled back to a savepoint is no licence for the next one.
BEGIN;
SAVEPOINT s;
SELECT fenced_append('tx', 'k', 5, :'w1', 1, 'undone');
ROLLBACK TO s;
SELECT fenced_append('tx', 'k', 4, :'w1', 1, 'stale');
ROLLBACK;
-- The assertion goes with its savepoint, and stays with one that is released.
CREATE VIEW asserted AS SELECT key, state FROM fence_holders WHERE pid = pg_backend_pid() ORDER BY key;
BEGIN;
SAVEPOINT a;
SELECT fenced_append('tx', 'k', 5, :'w1', 1, 'one');
SAVEPOINT b;
SELECT fenced_append('tx', 'k2', 2, :'w2', 1, 'one');
RELEASE b;
SELECT * FROM asserted;
SAVEPOINT c;
SELECT fenced_append('tx', 'k', 4, :'w1', 2, 'another epoch');
ROLLBACK TO c;
ROLLBACK TO a;
-- Nothing of k is left: another epoch of it is a question of ownership again.
SELECT fenced_append('tx', 'k', 6, :'w1', 2, 'ahead');
ROLLBACK;
SELECT * FROM asserted;
SELECT count(*) FROM oplog_entries WHERE namespace = 'tx';

-- M9: two epochs of one key are ZF012 in any form of the call; the first can commit.
BEGIN;
SELECT fenced_append('tx', 'k', 5, :'w1', 1, 'one');
SAVEPOINT s;
INSERT INTO fenced_append VALUES ('tx', 'k', 4, :'w1', 2, 'two');
ROLLBACK TO s;
SELECT fenced_append_many('tx', 'k', 6, :'w1', '{2}', '{two}');
ROLLBACK TO s;
SELECT fenced_append('tx', 'k', 6, :'w2', 2, 'two');
ROLLBACK TO s;
COMMIT;
-- The same epoch by another writer is ZF002, and dooms.
BEGIN;
SELECT fenced_append('tx', 'k', 5, :'w1', 2, 'two');
SAVEPOINT s;
SELECT fenced_append('tx', 'k', 5, :'w2', 3, 'three');
ROLLBACK TO s;
COMMIT;
SELECT idx FROM oplog_read('tx', 'k');

-- M5, M10: a claim in a transaction, at any level and in any place of it, fails alone.
BEGIN;
SELECT oplog_metadata_upsert('tx', 'k', 6, :'w2');
ROLLBACK;
BEGIN;
INSERT INTO tx_work VALUES (1);
SAVEPOINT s;
SELECT oplog_metadata_upsert('tx', 'k', 6, :'w2');
ROLLBACK TO s;
SELECT try_oplog_metadata_upsert('tx', 'new', 1, :'w2');
ROLLBACK TO s;
SELECT oplog_metadata_upsert_many('tx', '[{"key": "new", "epoch": "1"}]', :'w2');
ROLLBACK TO s;
SELECT oplog_metadata_upsert_many('tx', '[]', :'w2');
ROLLBACK TO s;
SELECT fenced_append('tx', 'k', 5, :'w1', 2, 'two');
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT oplog_metadata_upsert('tx', 'k', 6, :'w2');
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT oplog_metadata_upsert('tx', 'k', 6, :'w2');
ROLLBACK;
SELECT step FROM tx_work;
SELECT key, epoch FROM oplog_metadata WHERE namespace = 'tx' ORDER BY key;
-- In autocommit any level will do.
SET default_transaction_isolation = 'serializable';
SELECT oplog_metadata_upsert('tx', 'k', 6, :'w2');
SELECT fenced_append('tx', 'k', 6, :'w2', 3, 'three');
SELECT fenced_append('tx', 'k', 5, :'w1', 4, 'stale');
SET default_transaction_isolation = 'repeatable read';
SELECT oplog_metadata_upsert('tx', 'k', 7, :'w1');
SELECT fenced_append('tx', 'k', 6, :'w2', 4, 'stale');
RESET default_transaction_isolation;

-- P3, P4: given a snapshot, appends see what is committed and not what it shows. (Another
-- session's claim behind it: specs/.) The stale code is ZF001, never 40001.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM tx_work;
SELECT fenced_append('tx', 'k', 7, :'w1', 4, 'four');
SELECT idx FROM oplog_read('tx', 'k', 4);
SELECT fenced_append('tx', 'k', 7, :'w1', 4, 'four');
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT idx FROM oplog_read('tx', 'k', 4);
SELECT fenced_append('tx', 'k', 6, :'w2', 5, 'stale');
ROLLBACK;

-- M23: what reads and appends under SERIALIZABLE leaves no predicate lock on Fence's
-- tables, by which it or somebody else could fail with 40001.
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) > 0 FROM oplog_entries WHERE namespace = 'tx';
SELECT count(*) > 0 FROM oplog_status WHERE namespace = 'tx';
SELECT count(*) > 0 FROM oplog_metadata WHERE namespace = 'tx';
SELECT count(*) > 0 FROM oplog_read('tx', 'k');
SELECT fenced_append('tx', 'k', 7, :'w1', 5, 'five');
SELECT fence_check('tx', 'k', 7, :'w1');
SELECT count(*) FROM tx_work;
SELECT relation::regclass FROM pg_locks WHERE mode = 'SIReadLock' AND pid = pg_backend_pid();
COMMIT;

-- A read-only transaction writes nothing, and may look and ask.
BEGIN READ ONLY;
SAVEPOINT s;
SELECT fenced_append('tx', 'k', 7, :'w1', 6, 'six');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK TO s;
INSERT INTO fenced_append VALUES ('tx', 'k', 7, :'w1', 6, 'six');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK TO s;
SELECT fenced_append_many('tx', 'k', 7, :'w1', '{6}', '{six}');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK TO s;
SELECT oplog_metadata_upsert('tx', 'k', 8, :'w1');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK TO s;
SELECT fenced_append('tx', 'k', 7, :'w1', -6, 'six');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK TO s;
SELECT fence_drain('tx', 'k', 7, :'w1', 0);
\echo :LAST_ERROR_SQLSTATE
ROLLBACK TO s;
SELECT fence_evict('tx', 'k', 7, :'w1');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK TO s;
SELECT fence_check('tx', 'k', 7, :'w1');
SELECT count(*) FROM oplog_read('tx', 'k');
COMMIT;
SET default_transaction_read_only = on;
SELECT oplog_metadata_upsert('tx', 'k', 8, :'w1');
\echo :LAST_ERROR_SQLSTATE
SELECT try_oplog_metadata_upsert('tx', 'k', 8, :'w1');
\echo :LAST_ERROR_SQLSTATE
SELECT fenced_append('tx', 'k', 7, :'w1', 6, 'six');
\echo :LAST_ERROR_SQLSTATE
RESET default_transaction_read_only;
SELECT epoch, last_idx FROM oplog_status WHERE namespace = 'tx' AND key = 'k';

-- P10: PREPARE TRANSACTION with a fenced write, or with a refused one.
SET lock_timeout = '10s';
BEGIN;
SELECT fenced_append('tx', 'k', 7, :'w1', 6, 'six');
PREPARE TRANSACTION 'fenced';
\echo :LAST_ERROR_SQLSTATE
BEGIN;
SELECT fenced_append_many('tx', 'k', 7, :'w1', '{5}', '{five}');
PREPARE TRANSACTION 'repeated';
BEGIN;
SAVEPOINT s;
SELECT fenced_append('tx', 'k', 6, :'w1', 6, 'six');
ROLLBACK TO s;
PREPARE TRANSACTION 'doomed';
\echo :LAST_ERROR_SQLSTATE
SELECT gid FROM pg_prepared_xacts;
SELECT last_idx FROM oplog_status WHERE namespace = 'tx' AND key = 'k';
-- What has nothing to do with Fence, or only asked, is prepared as ever.
BEGIN;
INSERT INTO tx_work VALUES (2);
SELECT fence_check('tx', 'k', 7, :'w1');
SELECT count(*) FROM oplog_read('tx', 'k');
PREPARE TRANSACTION 'plain';
COMMIT PREPARED 'plain';
SELECT step FROM tx_work ORDER BY step;
-- So is one whose fenced write was undone; it must hold up nobody.
BEGIN;
INSERT INTO tx_work VALUES (3);
SAVEPOINT s;
SELECT fenced_append('tx', 'k', 7, :'w1', 6, 'six');
ROLLBACK TO s;
PREPARE TRANSACTION 'undone';
SELECT oplog_metadata_upsert('tx', 'k', 8, :'w2');
SELECT fence_drain('tx', 'k', 8, :'w2', 100);
ROLLBACK PREPARED 'undone';
-- But not where writes without an epoch may come: the lock against them would stay, and nobody
-- to end it.
SELECT fence_namespace_set('tx', 'optional');
BEGIN;
SAVEPOINT s;
SELECT fenced_append('tx', 'k', 8, :'w2', 6, 'six');
ROLLBACK TO s;
PREPARE TRANSACTION 'undone too';
SELECT fence_namespace_set('tx', 'required');

-- COMMIT AND CHAIN begins anew.
BEGIN;
SELECT fenced_append('tx', 'k', 8, :'w2', 6, 'six');
COMMIT AND CHAIN;
SELECT * FROM asserted;
SELECT fenced_append('tx', 'k', 8, :'w2', 7, 'seven');
SAVEPOINT s;
SELECT fenced_append('tx', 'k', 7, :'w1', 8, 'stale');
ROLLBACK TO s;
COMMIT AND CHAIN;
SELECT 1 AS not_in_a_transaction;
ROLLBACK;
SELECT last_idx FROM oplog_status WHERE namespace = 'tx' AND key = 'k';

-- Locks of Fence are nothing that pg_advisory functions reach.
BEGIN;
SELECT fenced_append('tx', 'k', 8, :'w2', 7, 'seven');
SELECT pg_advisory_unlock_all();
SELECT * FROM asserted;
SELECT DISTINCT pg_try_advisory_lock(classid::bigint << 32 | objid::bigint) AS another_lock
FROM pg_locks WHERE locktype = 'advisory' AND objsubid IN (20449, 20450) AND pid = pg_backend_pid();
COMMIT;
SELECT pg_advisory_unlock_all();
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid();

DROP VIEW asserted;
DROP TABLE tx_work;
