-- L17: a stored value that cannot be is reported and never used. Only the owner of the
-- tables can bring one in, by an INSERT as a restore makes it.

\set w1 '11111111-1111-4111-8111-111111111111'
SELECT current_database() AS here \gset
SET client_min_messages = warning;
CREATE DATABASE corrupt_test;
\c corrupt_test
SET client_min_messages = warning;
CREATE EXTENSION fence;
SET search_path = fence, public;
INSERT INTO fence_internal.record VALUES
  ('c', 'negative', 1, -5, decode(repeat('ab', 16), 'hex'), NULL, -1, -1, 0, 1, 1),
  ('c', 'short', 2, 5, '\xab', NULL, -1, -1, 0, 1, 1),
  ('c', 'long', 3, 5, decode(repeat('ab', 17), 'hex'), NULL, -1, -1, 0, 1, 1);

-- An epoch below 0: no claim is above it, no append meets it.
SELECT oplog_metadata_upsert('c', 'negative', 1, :'w1');
SELECT oplog_metadata_upsert('c', 'negative', 9223372036854775807, :'w1');
\set VERBOSITY terse
SELECT try_oplog_metadata_upsert('c', 'negative', 1, :'w1');
SELECT oplog_metadata_upsert_many('c', '[{"key": "sound", "epoch": 1}, {"key": "negative", "epoch": 1}]', :'w1');
SELECT fenced_append('c', 'negative', 1, :'w1', 1, 'x');
SELECT fenced_append('c', 'negative', 0, :'w1', 1, 'x');
SELECT fenced_append_many('c', 'negative', 0, :'w1', '{1}', '{x}');
INSERT INTO fenced_append VALUES ('c', 'negative', 0, :'w1', 1, 'x');
SELECT fence_check('c', 'negative', 0, :'w1');
SELECT fence_drain('c', 'negative', 0, :'w1', 0);
SELECT fence_evict('c', 'negative', 0, :'w1');
-- A hash that is none.
SELECT oplog_metadata_upsert('c', 'short', 6, :'w1');
SELECT fenced_append('c', 'short', 5, :'w1', 1, 'x');
SELECT oplog_metadata_upsert('c', 'long', 6, :'w1');
SELECT fenced_append('c', 'long', 5, :'w1', 1, 'x');
\set VERBOSITY default
-- It is not a fence: the transaction goes on.
BEGIN;
SAVEPOINT s;
SELECT fenced_append('c', 'negative', 0, :'w1', 1, 'x');
ROLLBACK TO s;
CREATE TABLE corrupt_work();
COMMIT;
SELECT to_regclass('corrupt_work');
-- Looking harms nobody. Keys beside it are as good as ever.
SELECT key, epoch, writer FROM oplog_metadata ORDER BY key;
SELECT key, epoch, last_idx, length FROM oplog_status ORDER BY key;
SELECT count(*) FROM oplog_read('c', 'negative');
SELECT oplog_metadata_upsert('c', 'sound', 1, :'w1');
SELECT fenced_append('c', 'sound', 1, :'w1', 1, 'x');

\c :here
DROP DATABASE corrupt_test;
