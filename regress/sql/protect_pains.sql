-- What people with this problem complain about, where the state of the work stands in a table of
-- their own. W1 is the process that was paused or replaced, W2 its successor. (Pains 12, 13, 53
-- and 59 take several sessions: specs/ and pg/.)

\set w1 '11111111-1111-4111-8111-111111111111'
\set w2 '22222222-2222-4222-8222-222222222222'
\pset tuples_only on
\pset format unaligned
\set VERBOSITY terse
SET search_path = public, fence;
CREATE TABLE job(id text PRIMARY KEY, state text NOT NULL, checkpoint int NOT NULL DEFAULT 0);
INSERT INTO job VALUES ('j1', 'running'), ('j2', 'running'), ('j3', 'running'), ('j5', 'running'), ('j7', 'running'), ('j10', 'running'), ('j11', 'running');
SELECT fence_protect('job', 'jobs', '["id"]');

-- pain 1: a job is rescued because it took long, and then its first attempt completes, too. Of
-- two attempts one completes, and the other one is told.
SELECT oplog_metadata_upsert('jobs', 'j1', 1, :'w1');
SELECT oplog_metadata_upsert('jobs', 'j1', 2, :'w2');
BEGIN;
SELECT fence_assert('jobs', 'j1', 2, :'w2');
UPDATE job SET state = 'completed by the second' WHERE id = 'j1';
COMMIT;
BEGIN;
SELECT fence_assert('jobs', 'j1', 1, :'w1');
UPDATE job SET state = 'completed by the first' WHERE id = 'j1';
COMMIT;
SELECT state FROM job WHERE id = 'j1';

-- pain 2: a rescuer overwrites a job that has just completed. "Is it running" is no authority, and
-- who takes the key over sees what was committed before.
SELECT oplog_metadata_upsert('jobs', 'j2', 1, :'w1');
BEGIN;
SELECT fence_assert('jobs', 'j2', 1, :'w1');
UPDATE job SET state = 'completed' WHERE id = 'j2';
COMMIT;
UPDATE job SET state = 'available' WHERE id = 'j2';
BEGIN;
SELECT fence_assert('jobs', 'j2', 1, :'w2');
UPDATE job SET state = 'available' WHERE id = 'j2';
COMMIT;
SELECT oplog_metadata_upsert('jobs', 'j2', 2, :'w2');
BEGIN;
SELECT fence_assert('jobs', 'j2', 2, :'w2');
UPDATE job SET state = 'available' WHERE id = 'j2' AND state = 'running' RETURNING state;
COMMIT;
SELECT state FROM job WHERE id = 'j2';

-- pain 3: a job that is both finished and failed: two tables, one key.
CREATE TABLE finished(id text NOT NULL);
CREATE TABLE failed(id text NOT NULL);
SELECT fence_protect('finished', 'jobs', '["id"]');
SELECT fence_protect('failed', 'jobs', '["id"]');
SELECT oplog_metadata_upsert('jobs', 'j3', 1, :'w1');
SELECT oplog_metadata_upsert('jobs', 'j3', 2, :'w2');
BEGIN;
SELECT fence_assert('jobs', 'j3', 2, :'w2');
INSERT INTO failed VALUES ('j3');
UPDATE job SET state = 'failed' WHERE id = 'j3';
COMMIT;
BEGIN;
SELECT fence_assert('jobs', 'j3', 1, :'w1');
INSERT INTO finished VALUES ('j3');
COMMIT;
INSERT INTO finished VALUES ('j3');
SELECT count(*) FROM finished;
SELECT count(*) FROM failed;

-- pain 5: not renewed during long work, and a second worker starts: what the first one writes in the
-- end is refused, whatever it checked at the beginning.
SELECT oplog_metadata_upsert('jobs', 'j5', 1, :'w1');
SELECT fence_check('jobs', 'j5', 1, :'w1');
SELECT oplog_metadata_upsert('jobs', 'j5', 2, :'w2');
BEGIN;
SELECT fence_assert('jobs', 'j5', 1, :'w1');
UPDATE job SET state = 'done' WHERE id = 'j5';
COMMIT;

-- pain 7: a stable name of a worker lets its stalled attempt go on as its replacement. A writer is
-- one attempt: the same epoch is no help, nor is the name.
ALTER TABLE job ADD COLUMN worker text;
SELECT oplog_metadata_upsert('jobs', 'j7', 2, :'w2');
BEGIN;
SELECT fence_assert('jobs', 'j7', 2, :'w2');
UPDATE job SET worker = 'worker-1', state = 'second attempt' WHERE id = 'j7';
COMMIT;
BEGIN;
SELECT fence_assert('jobs', 'j7', 2, :'w1');
UPDATE job SET state = 'released' WHERE id = 'j7' AND worker = 'worker-1';
COMMIT;
UPDATE job SET state = 'heartbeat' WHERE id = 'j7' AND worker = 'worker-1';
SELECT state FROM job WHERE id = 'j7';

-- pain 10: a checkpoint silently becomes a no-op. It raises, is counted, and a program that goes on all
-- the same commits nothing.
SELECT oplog_metadata_upsert('jobs', 'j10', 2, :'w2');
CREATE FUNCTION set_checkpoint(n int) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM fence_assert('jobs', 'j10', 1, '11111111-1111-4111-8111-111111111111');
  UPDATE job SET checkpoint = n WHERE id = 'j10';
  RETURN found;
EXCEPTION WHEN OTHERS THEN
  RETURN true;
END
$$;
CREATE TABLE acknowledged(n int);
BEGIN;
SELECT set_checkpoint(17);
INSERT INTO acknowledged VALUES (17);
COMMIT;
SELECT checkpoint FROM job WHERE id = 'j10';
SELECT count(*) FROM acknowledged;
SELECT code, key FROM fence_refusals WHERE namespace = 'jobs' AND key = 'j10' ORDER BY at DESC LIMIT 1;
SELECT count AS before FROM fence_stat WHERE code = 'ZF005' \gset
UPDATE job SET checkpoint = 17 WHERE id = 'j10';
SELECT count - :before FROM fence_stat WHERE code = 'ZF005';

-- pain 11: the check comes first, the takeover in between, the write last: a check is no assertion,
-- and the assertion is a check at the commit (specs/protect_late_commit).
SELECT oplog_metadata_upsert('jobs', 'j11', 1, :'w1');
BEGIN;
SELECT fence_check('jobs', 'j11', 1, :'w1');
UPDATE job SET state = 'done' WHERE id = 'j11';
COMMIT;

-- pain 60: triggers do not fire for replicas.
SET session_replication_role = replica;
UPDATE job SET state = 'replicated';
RESET session_replication_role;

-- pain 66: the check in functions of one's own, between reading and writing.
SELECT oplog_metadata_upsert('jobs', 'j66', 1, :'w1');
CREATE FUNCTION step(job_id text, epoch bigint, writer text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  now_at int;
BEGIN
  PERFORM fence_assert('jobs', job_id, epoch, writer);
  INSERT INTO job(id, state, checkpoint) VALUES (job_id, 'running', 1)
    ON CONFLICT (id) DO UPDATE SET checkpoint = job.checkpoint + 1 RETURNING checkpoint INTO now_at;
  RETURN now_at;
END
$$;
BEGIN;
SELECT step('j66', 1, :'w1');
SELECT step('j66', 1, :'w1');
COMMIT;
SELECT oplog_metadata_upsert('jobs', 'j66', 2, :'w2');
BEGIN;
SELECT step('j66', 1, :'w1');
ROLLBACK;
BEGIN;
SELECT step('j66', 2, :'w2');
COMMIT;

-- pain 70: two leaders act. The table of the leader's decisions has one key for all of it.
CREATE TABLE decision(what text NOT NULL);
SELECT fence_protect('decision', 'leaders', key => 'scheduler');
SELECT oplog_metadata_upsert('leaders', 'scheduler', 1, :'w1');
SELECT oplog_metadata_upsert('leaders', 'scheduler', 2, :'w2');
BEGIN;
SELECT fence_assert('leaders', 'scheduler', 1, :'w1');
INSERT INTO decision VALUES ('of the former leader');
COMMIT;
INSERT INTO decision VALUES ('of nobody');
BEGIN;
SELECT fence_assert('leaders', 'scheduler', 2, :'w2');
INSERT INTO decision VALUES ('of the leader');
COMMIT;
SELECT what FROM decision;

DROP FUNCTION set_checkpoint, step;
DROP TABLE job, finished, failed, acknowledged, decision;
SELECT count(fence_unprotect(relation::oid)) FROM fence_protected WHERE namespace IN ('jobs', 'leaders');
