-- Every statement that changes a row of a protected table: refused without an assertion, as
-- any other statement with one. Each attempt shows its code; the rows at the end of a part
-- are those that the owner put there.

\set w1 '11111111-1111-4111-8111-111111111111'
\set w2 '22222222-2222-4222-8222-222222222222'
\pset tuples_only on
\pset format unaligned
SET search_path = public, fence;
SELECT oplog_metadata_upsert('pw', 'a', 1, :'w1');
SELECT oplog_metadata_upsert('pw', 'b', 1, :'w2');
SELECT oplog_metadata_upsert('pw', 'c', 1, :'w1');
CREATE TABLE job(id text PRIMARY KEY, v int);
INSERT INTO job VALUES ('a', 1), ('b', 1);
SELECT fence_protect('job', 'pw', '["id"]');

-- P14: INSERT, UPDATE and DELETE; the first one shows all that it says.
INSERT INTO job VALUES ('c', 1);
\set VERBOSITY sqlstate
UPDATE job SET v = 2 WHERE id = 'a';
UPDATE job SET v = v;
DELETE FROM job WHERE id = 'a';
DELETE FROM job;
-- In a block as well, and a savepoint does not help.
BEGIN;
SAVEPOINT s;
UPDATE job SET v = 2 WHERE id = 'a';
ROLLBACK TO s;
UPDATE job SET v = 2 WHERE id = 'a';
COMMIT;
-- A row that nobody has claimed can be asserted by nobody.
BEGIN;
SELECT fence_assert('pw', 'nobody', 1, :'w1');
ROLLBACK;
INSERT INTO job VALUES ('nobody', 1);
-- The assertion of one key is none of another.
BEGIN;
SELECT fence_assert('pw', 'a', 1, :'w1');
UPDATE job SET v = 2;
ROLLBACK;
-- Nor that of the same key in another namespace.
SELECT oplog_metadata_upsert('other', 'a', 1, :'w1');
BEGIN;
SELECT fence_assert('other', 'a', 1, :'w1');
UPDATE job SET v = 2 WHERE id = 'a';
ROLLBACK;
-- Given the key, all of them are ordinary statements.
BEGIN;
SELECT fence_assert('pw', 'a', 1, :'w1');
SELECT fence_assert('pw', 'c', 1, :'w1');
INSERT INTO job VALUES ('c', 1) RETURNING id, v;
UPDATE job SET v = 2 WHERE id = 'a' RETURNING id, v;
DELETE FROM job WHERE id = 'c' RETURNING id, v;
COMMIT;
SELECT * FROM job ORDER BY id;
-- A statement of which one row is not asserted changes none.
BEGIN;
SELECT fence_assert('pw', 'a', 1, :'w1');
SAVEPOINT s;
UPDATE job SET v = v + 1 WHERE id IN ('a', 'b');
ROLLBACK TO s;
SELECT * FROM job ORDER BY id;
ROLLBACK;
-- A row that moves to another key needs both, whichever of them is missing.
BEGIN;
SELECT fence_assert('pw', 'a', 1, :'w1');
SAVEPOINT s;
UPDATE job SET id = 'c' WHERE id = 'a';
ROLLBACK TO s;
UPDATE job SET id = 'a2' WHERE id = 'a';
ROLLBACK TO s;
SELECT fence_assert('pw', 'c', 1, :'w1');
UPDATE job SET id = 'c' WHERE id = 'a';
UPDATE job SET id = 'a' WHERE id = 'c';
ROLLBACK TO s;
ROLLBACK;
BEGIN;
SELECT fence_assert('pw', 'c', 1, :'w1');
UPDATE job SET id = 'c' WHERE id = 'a';
ROLLBACK;

-- P16: the other ways to write a row.
INSERT INTO job VALUES ('a', 9) ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v;
INSERT INTO job VALUES ('c', 9) ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v;
INSERT INTO job VALUES ('c', 9) ON CONFLICT DO NOTHING;
-- This one changes nothing, and nothing is what it says.
WITH done AS (INSERT INTO job VALUES ('a', 9) ON CONFLICT DO NOTHING RETURNING 1) SELECT count(*) FROM done;
MERGE INTO job USING (VALUES ('a', 9)) AS n(id, v) ON job.id = n.id WHEN MATCHED THEN UPDATE SET v = n.v;
MERGE INTO job USING (VALUES ('a', 9)) AS n(id, v) ON job.id = n.id WHEN MATCHED THEN DELETE;
MERGE INTO job USING (VALUES ('c', 9)) AS n(id, v) ON job.id = n.id WHEN NOT MATCHED THEN INSERT VALUES (n.id, n.v);
COPY job FROM STDIN;
c	9
\.
WITH gone AS (DELETE FROM job WHERE id = 'a' RETURNING id) SELECT count(*) FROM gone;
WITH new AS (INSERT INTO job VALUES ('c', 9)) SELECT 1;
WITH gone AS (DELETE FROM job WHERE id = 'a' RETURNING v) INSERT INTO job SELECT 'c', v FROM gone;
UPDATE ONLY job SET v = 9;
UPDATE job SET v = 9 FROM (VALUES (1)) AS n WHERE id = 'a';
DELETE FROM job USING (VALUES (1)) AS n WHERE id = 'a';
-- Nothing is made of a table that is there.
SELECT 'c' AS id, 9 AS v INTO job;
SELECT * FROM job ORDER BY id;
-- With the key each of them works.
BEGIN;
SELECT fence_assert_many('pw', '["a", "c"]', 1, :'w1');
INSERT INTO job VALUES ('a', 3) ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v;
INSERT INTO job VALUES ('c', 3) ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v;
MERGE INTO job USING (VALUES ('a', 4), ('c', 4)) AS n(id, v) ON job.id = n.id WHEN MATCHED AND n.id = 'c' THEN DELETE WHEN MATCHED THEN UPDATE SET v = n.v;
COPY job FROM STDIN;
c	5
\.
WITH gone AS (DELETE FROM job WHERE id = 'c' RETURNING v) UPDATE job SET v = gone.v FROM gone WHERE id = 'a';
COMMIT;
SELECT * FROM job ORDER BY id;

-- COPY FREEZE, into a table that is made and protected in the same transaction.
BEGIN;
CREATE TABLE frozen(id text NOT NULL);
SELECT fence_protect('frozen', 'pw', '["id"]');
COPY frozen FROM STDIN (FREEZE);
a
\.
ROLLBACK;
BEGIN;
CREATE TABLE frozen(id text NOT NULL);
SELECT fence_protect('frozen', 'pw', '["id"]');
SELECT fence_assert('pw', 'a', 1, :'w1');
COPY frozen FROM STDIN (FREEZE);
a
\.
ROLLBACK;

-- Prepared statements, cursors, the languages of the server.
PREPARE up(int) AS UPDATE job SET v = $1 WHERE id = 'a';
EXECUTE up(9);
DECLARE c CURSOR WITH HOLD FOR WITH gone AS (DELETE FROM job RETURNING id) SELECT * FROM gone;
CREATE FUNCTION sql_write() RETURNS SETOF text LANGUAGE sql AS 'UPDATE public.job SET v = 9 WHERE id = ''a'' RETURNING id';
CREATE FUNCTION pl_write() RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY UPDATE public.job SET v = 9 WHERE id = 'a' RETURNING id;
END
$$;
CREATE FUNCTION pl_loop() RETURNS void LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
  FOR r IN UPDATE public.job SET v = 9 WHERE id = 'a' RETURNING id LOOP
    RETURN;
  END LOOP;
END
$$;
SELECT sql_write();
SELECT pl_write();
SELECT pl_loop();
SELECT * FROM sql_write() LIMIT 0;
SELECT * FROM pl_write() LIMIT 1;
DECLARE c CURSOR WITH HOLD FOR SELECT sql_write();
BEGIN;
DECLARE c CURSOR WITH HOLD FOR SELECT pl_write();
COMMIT;
BEGIN;
DECLARE c CURSOR FOR SELECT sql_write() UNION ALL SELECT 'more';
FETCH c;
ROLLBACK;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM job WHERE id = 'a' FOR UPDATE;
FETCH c;
UPDATE job SET v = 9 WHERE CURRENT OF c;
ROLLBACK;
DO $$ BEGIN UPDATE public.job SET v = 9; END $$;
DO $$ BEGIN EXECUTE 'DELETE FROM public.job'; EXCEPTION WHEN SQLSTATE 'ZF005' THEN RAISE NOTICE 'swallowed'; END $$;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) UPDATE job SET v = 9 WHERE id = 'a';
-- This one plans, and does nothing.
EXPLAIN (COSTS OFF) DELETE FROM job WHERE id = 'a';
SELECT * FROM job ORDER BY id;

-- P17: TRUNCATE, of the table and from one that refers to it or that it refers to.
CREATE TABLE parent(id text PRIMARY KEY);
INSERT INTO parent VALUES ('p');
CREATE TABLE child(id text NOT NULL REFERENCES parent ON DELETE CASCADE ON UPDATE CASCADE, key text NOT NULL);
INSERT INTO child VALUES ('p', 'a');
SELECT fence_protect('child', 'pw', '["key"]');
\set VERBOSITY default
TRUNCATE child;
\set VERBOSITY sqlstate
TRUNCATE parent;
TRUNCATE parent CASCADE;
TRUNCATE ONLY child;
TRUNCATE parent, child RESTART IDENTITY;
BEGIN;
SELECT fence_assert('pw', 'a', 1, :'w1');
TRUNCATE child;
ROLLBACK;
-- A role that was not given it is denied before.
CREATE ROLE pw_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON child, job TO pw_app;
SET ROLE pw_app;
TRUNCATE child;
RESET ROLE;

-- P18: foreign keys write as the owner of the table, and their writes are writes.
DELETE FROM parent;
UPDATE parent SET id = 'q';
SELECT parent.id, child.key FROM parent JOIN child ON child.id = parent.id;
CREATE TABLE child_null(id text REFERENCES parent ON DELETE SET NULL ON UPDATE SET NULL, key text NOT NULL);
CREATE TABLE child_default(id text DEFAULT 'q' REFERENCES parent ON DELETE SET DEFAULT, key text NOT NULL);
INSERT INTO parent VALUES ('n'), ('d'), ('q');
INSERT INTO child_null VALUES ('n', 'a');
INSERT INTO child_default VALUES ('d', 'a');
SELECT fence_protect('child_null', 'pw', '["key"]');
SELECT fence_protect('child_default', 'pw', '["key"]');
DELETE FROM parent WHERE id = 'n';
UPDATE parent SET id = 'n2' WHERE id = 'n';
DELETE FROM parent WHERE id = 'd';
SELECT id FROM parent ORDER BY id;
-- With replica roles the server follows no foreign key: the fence has nothing to do with it.
SET session_replication_role = replica;
DELETE FROM parent WHERE id = 'n';
RESET session_replication_role;
SELECT * FROM child_null;
INSERT INTO parent VALUES ('n');
BEGIN;
SELECT fence_assert('pw', 'a', 1, :'w1');
DELETE FROM parent WHERE id <> 'q';
SELECT * FROM child;
SELECT * FROM child_null;
SELECT * FROM child_default;
ROLLBACK;

-- The key itself follows a foreign key: a row moves to another key.
CREATE TABLE child_key(id text PRIMARY KEY REFERENCES parent ON UPDATE CASCADE ON DELETE CASCADE);
INSERT INTO parent VALUES ('a');
INSERT INTO child_key VALUES ('a');
SELECT fence_protect('child_key', 'pw', '["id"]');
BEGIN;
SELECT fence_assert('pw', 'a', 1, :'w1');
SAVEPOINT s;
UPDATE parent SET id = 'c' WHERE id = 'a';
ROLLBACK TO s;
SELECT fence_assert('pw', 'c', 1, :'w1');
UPDATE parent SET id = 'c' WHERE id = 'a';
SELECT id FROM child_key;
ROLLBACK;

-- P19: an updatable view whose owner may write, and one with an INSTEAD trigger.
CREATE ROLE pw_owner;
ALTER TABLE job OWNER TO pw_owner;
CREATE VIEW job_view AS SELECT id, v FROM job;
ALTER VIEW job_view OWNER TO pw_owner;
GRANT ALL ON job_view TO pw_app;
SET ROLE pw_app;
INSERT INTO job_view VALUES ('c', 9);
UPDATE job_view SET v = 9 WHERE id = 'a';
DELETE FROM job_view;
RESET ROLE;
SET ROLE pw_owner;
UPDATE public.job SET v = 9;
RESET ROLE;
CREATE VIEW job_other AS SELECT id, v FROM job;
CREATE FUNCTION write_through() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  UPDATE public.job SET v = NEW.v WHERE id = NEW.id;
  RETURN NEW;
END
$$;
CREATE TRIGGER write_through INSTEAD OF UPDATE ON job_other FOR EACH ROW EXECUTE FUNCTION write_through();
UPDATE job_other SET v = 9;
CREATE TABLE to_rewrite(id text, v int);
CREATE RULE rewrite AS ON INSERT TO to_rewrite DO INSTEAD UPDATE job SET v = NEW.v WHERE id = NEW.id;
INSERT INTO to_rewrite VALUES ('a', 9);
SELECT * FROM job ORDER BY id;
BEGIN;
SELECT fence_assert('pw', 'a', 1, :'w1');
INSERT INTO to_rewrite VALUES ('a', 6);
UPDATE job_view SET v = v + 1 WHERE id = 'a' RETURNING v;
COMMIT;

-- P28: a foreign table cannot be protected; a write through one is another session's.
CREATE EXTENSION postgres_fdw SCHEMA public;
DO $$
BEGIN
  EXECUTE format('CREATE SERVER here FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host %L, port %L, dbname %L)',
    split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'), current_database());
  EXECUTE format('CREATE USER MAPPING FOR CURRENT_USER SERVER here OPTIONS (user %L)', current_user);
END
$$;
CREATE FOREIGN TABLE far_job(id text, v int) SERVER here OPTIONS (table_name 'job', schema_name 'public');
\set VERBOSITY terse
SELECT fence_protect('far_job', 'pw', '[]', 'all');
\set VERBOSITY sqlstate
INSERT INTO far_job VALUES ('c', 9);
UPDATE far_job SET v = 9 WHERE id = 'a';
DELETE FROM far_job;
BEGIN;
SELECT fence_assert('pw', 'a', 1, :'w1');
UPDATE far_job SET v = 9 WHERE id = 'a';
ROLLBACK;
SELECT * FROM job ORDER BY id;

\set VERBOSITY terse
DROP TABLE job, parent, child, child_key, child_null, child_default, to_rewrite CASCADE;
DROP EXTENSION postgres_fdw CASCADE;
DROP FUNCTION sql_write, pl_write, pl_loop, write_through;
DROP ROLE pw_app, pw_owner;
