-- fence_assert and fence_assert_many: what they take, how long they hold, what they refuse.

\set w1 '11111111-1111-4111-8111-111111111111'
\set w2 '22222222-2222-4222-8222-222222222222'
\pset tuples_only on
\pset format unaligned
SET search_path = public, fence;
SELECT oplog_metadata_upsert('pa', 'mine', 5, :'w1');
SELECT oplog_metadata_upsert('pa', 'too', 5, :'w1');
SELECT oplog_metadata_upsert('pa', 'lost', 4, :'w1');
SELECT oplog_metadata_upsert('pa', 'lost', 5, :'w2');
CREATE TABLE job(id text PRIMARY KEY, v int NOT NULL DEFAULT 0);
INSERT INTO job VALUES ('mine'), ('too'), ('lost');
SELECT fence_protect('job', 'pa', '["id"]');
CREATE TABLE derived(step text);

-- What is refused, and what it says.
BEGIN;
SELECT fence_assert('pa', 'lost', 4, :'w1');
ROLLBACK;
BEGIN;
SELECT fence_assert('pa', 'mine', 5, :'w2');
ROLLBACK;
BEGIN;
SELECT fence_assert('pa', 'never', 5, :'w1');
ROLLBACK;
BEGIN;
SELECT fence_assert('pa', 'mine', 6, :'w1');
ROLLBACK;
\set VERBOSITY terse
SELECT fence_assert('pa', NULL, 5, :'w1');
SELECT fence_assert(NULL, 'mine', 5, :'w1');
SELECT fence_assert('pa', '', 5, :'w1');
SELECT fence_assert('pa', 'mine', -1, :'w1');
SELECT fence_assert('pa', 'mine', 5, NULL);
SELECT fence_assert('pa', 'mine', 5, 'me');
SELECT fence_assert('pa', 'mine', 5, '');
SELECT fence_assert('pa', 'mine', 9223372036854775808, :'w1');
BEGIN;
SELECT fence_assert('pa', 'mine', NULL, :'w1');
ROLLBACK;
-- Any spelling of the writer.
BEGIN;
SELECT fence_assert('pa', 'mine', 5, '{11111111-1111-4111-8111-111111111111}');
SELECT fence_assert('pa', 'mine', 5, '11111111111141118111111111111111');
UPDATE job SET v = 1 WHERE id = 'mine';
ROLLBACK;

-- Outside a transaction block, in any statement: ZF012, and nothing is written.
SELECT fence_assert('pa', 'mine', 5, :'w1');
SELECT fence_assert('pa', 'lost', 4, :'w1');
SELECT fence_assert_many('pa', '["mine"]', 5, :'w1');
SELECT fence_assert_many('pa', '[]', 5, :'w1');
UPDATE job SET v = 1 WHERE id = 'mine' AND fence_assert('pa', 'mine', 5, :'w1') IS NOT NULL;
WITH a AS MATERIALIZED (SELECT fence_assert('pa', 'mine', 5, :'w1')) UPDATE job SET v = 1 FROM a WHERE id = 'mine';
DO $$ BEGIN PERFORM fence.fence_assert('pa', 'mine', 5, '11111111-1111-4111-8111-111111111111'); UPDATE job SET v = 1 WHERE id = 'mine'; END $$;
CREATE FUNCTION assert(key text, epoch bigint DEFAULT 5) RETURNS void LANGUAGE sql AS $$SELECT fence.fence_assert('pa', key, epoch, '11111111-1111-4111-8111-111111111111')$$;
SELECT assert('mine');
SELECT sum(v) FROM job;
-- A block with EXCEPTION is a savepoint, and in one the server does not say whether a block is open
-- around it. There the assertion counts, and is judged again at commit like any other.
DO $$
BEGIN
  PERFORM assert('mine');
  UPDATE job SET v = 0 WHERE id = 'mine';
EXCEPTION WHEN SQLSTATE 'ZF012' THEN
  RAISE NOTICE 'refused';
END
$$;
UPDATE job SET v = 9 WHERE id = 'mine';
-- Several statements in one message of the client are a block.
SELECT assert('mine')\; UPDATE job SET v = v + 1 WHERE id = 'mine' RETURNING v\; SELECT v FROM job WHERE id = 'mine';
UPDATE job SET v = v + 1 WHERE id = 'mine';
-- In the statement itself, in a block, the assertion may come with the row.
BEGIN;
WITH a AS MATERIALIZED (SELECT assert('mine')) UPDATE job SET v = v + 1 FROM a WHERE id = 'mine' RETURNING v;
COMMIT;

-- It holds for its transaction only.
BEGIN;
SELECT assert('mine');
COMMIT;
UPDATE job SET v = 9 WHERE id = 'mine';
BEGIN;
SELECT assert('mine');
ROLLBACK;
BEGIN;
UPDATE job SET v = 9 WHERE id = 'mine';
ROLLBACK;
BEGIN;
SELECT assert('mine');
COMMIT AND CHAIN;
UPDATE job SET v = 9 WHERE id = 'mine';
ROLLBACK;

-- Said again, it changes nothing. Two epochs of one key are ZF012, which is not for ever.
BEGIN;
SELECT assert('mine');
SELECT assert('mine');
SAVEPOINT s;
SELECT assert('mine', 4);
ROLLBACK TO s;
SELECT assert('mine', 6);
ROLLBACK TO s;
-- Also where another of the keys is refused for its epoch.
SELECT fence_assert_many('pa', '["too", "mine"]', 6, :'w1');
ROLLBACK TO s;
SELECT fenced_append('pa', 'mine', 4, :'w1', 1, 'x');
ROLLBACK TO s;
UPDATE job SET v = 10 WHERE id = 'mine' RETURNING v;
COMMIT;
-- Another writer of that epoch is ZF002, which is.
BEGIN;
SELECT assert('mine');
SAVEPOINT s;
SELECT fence_assert('pa', 'mine', 5, :'w2');
ROLLBACK TO s;
UPDATE job SET v = 9 WHERE id = 'mine';
ROLLBACK TO s;
COMMIT;

-- P1, P3, P4: at each level, with a snapshot or without; never 40001.
BEGIN ISOLATION LEVEL READ COMMITTED;
SELECT assert('lost', 4);
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM job;
SELECT assert('lost', 4);
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM job;
SELECT assert('lost', 4);
COMMIT;
BEGIN READ ONLY;
SELECT assert('mine');
ROLLBACK;
-- M23: of Fence's own tables nothing is locked that could make somebody else fail with 40001.
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT assert('mine');
UPDATE job SET v = v WHERE id = 'mine';
SELECT DISTINCT relation::regclass FROM pg_locks WHERE mode = 'SIReadLock' AND pid = pg_backend_pid() AND relation::regclass::text !~ '^job';
ROLLBACK;

-- P5: a savepoint takes its assertions along, and only those.
BEGIN;
SAVEPOINT s;
SELECT assert('mine');
UPDATE job SET v = 11 WHERE id = 'mine' RETURNING v;
ROLLBACK TO s;
UPDATE job SET v = 9 WHERE id = 'mine';
ROLLBACK TO s;
SELECT assert('mine');
RELEASE s;
UPDATE job SET v = 11 WHERE id = 'mine' RETURNING v;
SAVEPOINT t;
SELECT assert('too');
SAVEPOINT u;
UPDATE job SET v = 11 WHERE id = 'too' RETURNING v;
ROLLBACK TO u;
UPDATE job SET v = 12 WHERE id = 'too' RETURNING v;
ROLLBACK TO t;
UPDATE job SET v = 9 WHERE id = 'too';
ROLLBACK TO t;
COMMIT;
SELECT * FROM job ORDER BY id;
-- Made in a function that fails and is caught: gone with it.
BEGIN;
DO $$
BEGIN
  PERFORM assert('mine');
  PERFORM 1 / 0;
EXCEPTION WHEN division_by_zero THEN
  RAISE NOTICE 'caught';
END
$$;
UPDATE job SET v = 9 WHERE id = 'mine';
ROLLBACK;
-- Made in one that does not: there.
BEGIN;
DO $$
BEGIN
  BEGIN
    PERFORM assert('mine');
  EXCEPTION WHEN division_by_zero THEN
    NULL;
  END;
END
$$;
UPDATE job SET v = v + 1 WHERE id = 'mine' RETURNING v;
COMMIT;

-- P6: deferred triggers come before the check at commit, and what they write is written.
CREATE FUNCTION write_later() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE job SET v = v + 1 WHERE id = NEW.step;
  RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER later AFTER INSERT ON derived DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION write_later();
BEGIN;
INSERT INTO derived VALUES ('mine');
SELECT assert('mine');
COMMIT;
BEGIN;
INSERT INTO derived VALUES ('too');
SELECT assert('mine');
COMMIT;
BEGIN;
INSERT INTO derived VALUES ('mine');
SET CONSTRAINTS ALL IMMEDIATE;
ROLLBACK;
CREATE OR REPLACE FUNCTION write_later() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM assert('mine');
  UPDATE job SET v = v + 1 WHERE id = NEW.step;
  RETURN NULL;
END
$$;
BEGIN;
INSERT INTO derived VALUES ('mine');
COMMIT;
SELECT * FROM job ORDER BY id;
SELECT * FROM derived;
DROP TRIGGER later ON derived;
DELETE FROM derived;

-- P7: a refusal that somebody swallows, and what is derived from it.
BEGIN;
DO $$
BEGIN
  PERFORM assert('lost', 4);
EXCEPTION WHEN OTHERS THEN
  RAISE NOTICE 'swallowed %', SQLSTATE;
END
$$;
INSERT INTO derived VALUES ('derived');
COMMIT;
SELECT * FROM derived;
BEGIN;
SELECT assert('mine');
UPDATE job SET v = 99 WHERE id = 'mine';
SAVEPOINT s;
SELECT assert('lost', 4);
ROLLBACK TO s;
UPDATE job SET v = 98 WHERE id = 'mine';
ROLLBACK TO s;
COMMIT;
SELECT v FROM job WHERE id = 'mine';
-- All or none of many keys, also where it is swallowed.
BEGIN;
DO $$
BEGIN
  PERFORM fence.fence_assert_many('pa', '["mine", "lost"]', 4, '11111111-1111-4111-8111-111111111111');
EXCEPTION WHEN OTHERS THEN
  RAISE NOTICE 'swallowed %', SQLSTATE;
END
$$;
UPDATE job SET v = 9 WHERE id = 'mine';
COMMIT;
-- A missing assertion is no refusal of ownership: swallowed, the rest can be committed.
BEGIN;
DO $$
BEGIN
  UPDATE job SET v = 9 WHERE id = 'mine';
EXCEPTION WHEN SQLSTATE 'ZF005' THEN
  RAISE NOTICE 'swallowed %', SQLSTATE;
END
$$;
INSERT INTO derived VALUES ('without the row');
COMMIT;
SELECT * FROM derived;
SELECT v FROM job WHERE id = 'mine';

-- P8: COMMIT inside a procedure ends what was asserted, by whatever call.
CREATE PROCEDURE in_parts(second boolean) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM fence.fenced_append('pa', 'mine', 5, '11111111-1111-4111-8111-111111111111', 1, 'x');
  UPDATE job SET v = 20 WHERE id = 'mine';
  COMMIT;
  IF second THEN
    PERFORM fence.fenced_append('pa', 'mine', 5, '11111111-1111-4111-8111-111111111111', 2, 'x');
  END IF;
  UPDATE job SET v = v + 1 WHERE id = 'mine';
END
$$;
CALL in_parts(false);
SELECT v FROM job WHERE id = 'mine';
CALL in_parts(true);
SELECT v FROM job WHERE id = 'mine';
DO $$
BEGIN
  PERFORM fence.fenced_append('pa', 'mine', 5, '11111111-1111-4111-8111-111111111111', 1, 'x');
  ROLLBACK;
  UPDATE job SET v = 9 WHERE id = 'mine';
END
$$;
-- Nobody can assert there, since the procedure runs outside a block.
DO $$
BEGIN
  COMMIT;
  PERFORM assert('mine');
END
$$;

-- Every fenced write of a key is an assertion; a claim and a question are none.
BEGIN;
SELECT fenced_put('pa', 'mine', 5, :'w1', 'n', 'x');
UPDATE job SET v = 30 WHERE id = 'mine' RETURNING v;
COMMIT;
BEGIN;
SELECT fence_check('pa', 'mine', 5, :'w1');
UPDATE job SET v = 9 WHERE id = 'mine';
ROLLBACK;
BEGIN;
SELECT fenced_append('pa', 'too', 5, :'w1', 1, 'x');
UPDATE job SET v = 9 WHERE id = 'mine';
ROLLBACK;
INSERT INTO job SELECT 'new' FROM oplog_metadata_upsert('pa', 'new', 1, :'w1');
-- One of a namespace where an epoch is optional, without an epoch, is none either.
SELECT fence_namespace_set('pa_free', 'optional');
SELECT oplog_metadata_upsert('pa_free', 'mine', 5, :'w1');
CREATE TABLE free(id text NOT NULL);
SELECT fence_protect('free', 'pa_free', '["id"]');
BEGIN;
SELECT fenced_append('pa_free', 'mine', NULL, NULL, 1, 'x');
INSERT INTO free VALUES ('mine');
ROLLBACK;
BEGIN;
SELECT fence_assert('pa_free', 'mine', NULL, NULL);
ROLLBACK;
BEGIN;
SELECT fence_assert('pa_free', 'mine', 5, :'w1');
INSERT INTO free VALUES ('mine');
COMMIT;
SELECT fence_namespace_set('pa_free', 'unfenced');
BEGIN;
SELECT fence_assert('pa_free', 'mine', NULL, NULL);
ROLLBACK;
BEGIN;
SELECT fence_assert('pa_free', 'mine', 5, :'w1');
ROLLBACK;
DELETE FROM free;

-- P10: nobody checks again what is prepared.
BEGIN;
SELECT assert('mine');
UPDATE job SET v = 9 WHERE id = 'mine';
PREPARE TRANSACTION 'pa';
SELECT count(*) FROM pg_prepared_xacts;
BEGIN;
SELECT assert('mine');
PREPARE TRANSACTION 'pa';
BEGIN;
SELECT assert('lost', 4);
PREPARE TRANSACTION 'pa';
-- Given none, it is not Fence's business.
BEGIN;
SAVEPOINT s;
SELECT assert('mine');
UPDATE job SET v = 9 WHERE id = 'mine';
ROLLBACK TO s;
INSERT INTO derived VALUES ('prepared');
PREPARE TRANSACTION 'pa';
COMMIT PREPARED 'pa';
SELECT v FROM job WHERE id = 'mine';

-- P59: a claim in the transaction of an assertion, or of a protected row.
BEGIN;
SELECT assert('mine');
SELECT oplog_metadata_upsert('pa', 'mine', 6, :'w1');
ROLLBACK;
SELECT epoch FROM oplog_metadata WHERE namespace = 'pa' AND key = 'mine';

-- fence_assert_many.
BEGIN;
SELECT fence_assert_many('pa', '["mine", "too", "mine"]', 5, :'w1');
UPDATE job SET v = 40 WHERE id IN ('mine', 'too');
UPDATE job SET v = 40 WHERE id = 'lost';
ROLLBACK;
BEGIN;
SELECT fence_assert_many('pa', '[]', 5, :'w1');
UPDATE job SET v = 40;
ROLLBACK;
BEGIN;
SELECT fence_assert_many('pa', '["mine", "lost"]', 5, :'w1');
ROLLBACK;
BEGIN;
SELECT fence_assert_many('pa', '["mine", "never"]', 5, :'w1');
ROLLBACK;
SELECT fence_assert_many('pa', keys::jsonb, 5, :'w1') FROM (VALUES (NULL)) AS v(keys);
SELECT fence_assert_many('pa', '"mine"', 5, :'w1');
SELECT fence_assert_many('pa', '{"mine": 1}', 5, :'w1');
SELECT fence_assert_many('pa', 'null', 5, :'w1');
SELECT fence_assert_many('pa', '["mine", 7]', 5, :'w1');
SELECT fence_assert_many('pa', '["mine", "too", null]', 5, :'w1');
SELECT fence_assert_many('pa', '["mine", ""]', 5, :'w1');
SELECT fence_assert_many('pa', '[["mine"]]', 5, :'w1');
SELECT fence_assert_many('pa', jsonb_build_array(repeat('x', 256)), 5, :'w1');
SELECT fence_assert_many(NULL, '["mine"]', 5, :'w1');
SELECT fence_assert_many('pa', '[]', 5, 'me');
SELECT fence_assert_many('pa', '[]', -5, :'w1');
BEGIN;
SELECT fence_assert_many('pa', '["mine"]', NULL, :'w1');
ROLLBACK;

-- A key that was deleted.
SELECT oplog_metadata_upsert('pa', 'gone', 1, :'w1');
SELECT fenced_delete('pa', 'gone', 1, :'w1');
BEGIN;
SELECT assert('gone', 1);
ROLLBACK;
SELECT * FROM job ORDER BY id;
DROP TABLE job, derived, free;
DROP FUNCTION assert, write_later;
DROP PROCEDURE in_parts;
SELECT count(fence_unprotect(relation::oid)) FROM fence_protected WHERE namespace LIKE 'pa%';
SELECT fence_namespace_set('pa_free', 'required');
