-- Ways round the triggers of a protected table that need no statement of its own: settings,
-- privileges, other triggers, other sessions. The owner has asserted nothing.

\set w1 '11111111-1111-4111-8111-111111111111'
\set w2 '22222222-2222-4222-8222-222222222222'
\pset tuples_only on
\pset format unaligned
SET search_path = public, fence;
SELECT oplog_metadata_upsert('pb', 'a', 1, :'w1');
SELECT oplog_metadata_upsert('pb', 'a', 2, :'w2');
CREATE TABLE job(id text PRIMARY KEY, v int);
INSERT INTO job VALUES ('a', 1);
SELECT fence_protect('job', 'pb', '["id"]');
CREATE ROLE pb_app;
CREATE ROLE pb_reads;
CREATE ROLE pb_writes IN ROLE pg_write_all_data, pg_read_all_data;
CREATE ROLE pb_bypass BYPASSRLS;
GRANT USAGE ON SCHEMA fence TO pb_app;
GRANT ALL ON job TO pb_app, pb_bypass;
GRANT SELECT ON job TO pb_reads;
GRANT CREATE ON SCHEMA public TO pb_app;
\set VERBOSITY terse

-- P29: what arrives as a replica's. The role may not say so, and given the right it gains nothing.
SET ROLE pb_app;
SET session_replication_role = replica;
RESET ROLE;
GRANT SET ON PARAMETER session_replication_role TO pb_app;
SET ROLE pb_app;
SET session_replication_role = replica;
INSERT INTO job VALUES ('b', 1);
UPDATE job SET v = 9;
DELETE FROM job;
TRUNCATE job;
SET session_replication_role = local;
UPDATE job SET v = 9;
RESET session_replication_role;
RESET ROLE;
ALTER ROLE pb_app SET session_replication_role = replica;
REVOKE SET ON PARAMETER session_replication_role FROM pb_app;

-- A role that may write everywhere, and to the list of what is protected.
SET ROLE pb_writes;
UPDATE job SET v = 9;
DELETE FROM job;
DELETE FROM fence_internal.protected;
UPDATE fence_internal.protected SET key_columns = '{v}';
UPDATE fence_internal.protected SET subscriber = 'apply';
INSERT INTO fence_internal.protected SELECT 'pg_class'::regclass, namespace, key_columns, key, authority, subscriber, protected_as, key_attributes FROM fence_internal.protected;
RESET ROLE;

-- P32: the extension does not go while a table depends on it; with CASCADE it says what goes.
\set VERBOSITY default
DROP EXTENSION fence;
BEGIN;
DROP EXTENSION fence CASCADE;
UPDATE job SET v = 9;
ROLLBACK;
UPDATE job SET v = 9;
\set VERBOSITY terse
DROP FUNCTION fence_internal.check_row() CASCADE;
DROP SCHEMA fence_internal CASCADE;
SET ROLE pb_app;
DROP EXTENSION fence CASCADE;
DROP TRIGGER fence_rows ON job;
ALTER TABLE job DISABLE TRIGGER fence_rows;
ALTER TABLE job DISABLE TRIGGER ALL;
DROP TABLE job;
RESET ROLE;

-- GRANT ALL gives TRIGGER: with it no trigger is put in the place of the one on rows.
SET ROLE pb_app;
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE OR REPLACE TRIGGER fence_rows AFTER INSERT OR UPDATE OR DELETE ON job FOR EACH ROW EXECUTE FUNCTION nothing();
CREATE OR REPLACE TRIGGER fence_rows BEFORE TRUNCATE ON job EXECUTE FUNCTION nothing();
CREATE OR REPLACE TRIGGER fence_rows AFTER INSERT ON job FOR EACH ROW WHEN (false) EXECUTE FUNCTION nothing();
CREATE CONSTRAINT TRIGGER fence_rows AFTER INSERT ON job FOR EACH ROW EXECUTE FUNCTION nothing();
UPDATE job SET v = 9;
RESET ROLE;
-- It is no constraint that could be deferred, or dropped by itself.
ALTER TABLE job ALTER CONSTRAINT fence_rows DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE job DROP CONSTRAINT fence_rows;
BEGIN;
SET CONSTRAINTS fence_rows DEFERRED;
ROLLBACK;
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
UPDATE job SET v = 9;
ROLLBACK;
-- What fence_protect finds otherwise, it mends.
ALTER TABLE job DISABLE TRIGGER ALL;
SELECT fence_protect('job', 'pb', '["id"]');
UPDATE job SET v = 9;
ALTER TABLE job ENABLE REPLICA TRIGGER fence_rows;
SELECT fence_protect('job', 'pb', '["id"]');
UPDATE job SET v = 9;
DROP TRIGGER fence_rows ON job;
CREATE TRIGGER fence_rows AFTER INSERT OR UPDATE OR DELETE ON job FOR EACH ROW EXECUTE FUNCTION fence_internal.check_row();
SELECT fence_protect('job', 'pb', '["id"]');
DROP TRIGGER fence_rows ON job;
CREATE TRIGGER fence_rows AFTER INSERT OR UPDATE ON job FOR EACH ROW WHEN (false) EXECUTE FUNCTION nothing();
CREATE OR REPLACE TRIGGER fence_truncate BEFORE TRUNCATE ON job EXECUTE FUNCTION nothing();
SELECT fence_protect('job', 'pb', '["id"]');
SELECT tgenabled, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'job'::regclass ORDER BY tgname;
UPDATE job SET v = 9;
TRUNCATE job;

-- Other triggers: before ours or after it, of the row or the statement, that revert the change,
-- swallow an error or raise one.
CREATE FUNCTION revert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM public.job WHERE id = NEW.id;
  RETURN NULL;
END
$$;
CREATE TRIGGER aaa AFTER INSERT ON job FOR EACH ROW EXECUTE FUNCTION revert();
INSERT INTO job VALUES ('b', 1);
DROP TRIGGER aaa ON job;
CREATE TRIGGER zzz AFTER INSERT ON job FOR EACH ROW EXECUTE FUNCTION revert();
INSERT INTO job VALUES ('b', 1);
DROP TRIGGER zzz ON job;
CREATE FUNCTION swallowing() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  BEGIN
    UPDATE public.job SET v = 9;
  EXCEPTION WHEN OTHERS THEN
    RAISE NOTICE '%', SQLSTATE;
  END;
  RETURN NULL;
END
$$;
CREATE TRIGGER aaa AFTER INSERT ON job FOR EACH STATEMENT EXECUTE FUNCTION swallowing();
CREATE TRIGGER zzz BEFORE INSERT ON job FOR EACH STATEMENT EXECUTE FUNCTION swallowing();
INSERT INTO job VALUES ('b', 1);
DROP TRIGGER aaa ON job;
DROP TRIGGER zzz ON job;
-- A trigger that keeps the row from being written: there is nothing to refuse.
CREATE TRIGGER aaa BEFORE INSERT OR UPDATE OR DELETE ON job FOR EACH ROW EXECUTE FUNCTION nothing();
UPDATE job SET v = 9;
INSERT INTO job VALUES ('b', 1);
SELECT * FROM job;
DROP TRIGGER aaa ON job;
-- An assertion that is stale, made and swallowed by a trigger that runs before ours.
CREATE FUNCTION assert_old() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM fence.fence_assert('pb', 'a', 1, '11111111-1111-4111-8111-111111111111');
  RETURN NULL;
EXCEPTION WHEN OTHERS THEN
  RAISE NOTICE '%', SQLSTATE;
  RETURN NULL;
END
$$;
CREATE TRIGGER aaa AFTER UPDATE ON job FOR EACH ROW EXECUTE FUNCTION assert_old();
UPDATE job SET v = 9;
BEGIN;
UPDATE job SET v = 9;
ROLLBACK;
DROP TRIGGER aaa ON job;
-- One that is good, and goes with the savepoint of an error.
CREATE FUNCTION assert_and_fail() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM fence.fence_assert('pb', 'a', 2, '22222222-2222-4222-8222-222222222222');
  RAISE EXCEPTION 'undone';
EXCEPTION WHEN raise_exception THEN
  RETURN NULL;
END
$$;
CREATE TRIGGER aaa AFTER UPDATE ON job FOR EACH ROW EXECUTE FUNCTION assert_and_fail();
BEGIN;
UPDATE job SET v = 9;
ROLLBACK;
DROP TRIGGER aaa ON job;
-- P52: a deferred trigger writes as whoever it runs as; nothing in the check is about roles.
CREATE TABLE other(id int);
GRANT ALL ON other TO pb_app;
CREATE FUNCTION write_later() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE public.job SET v = 9;
  RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER later AFTER INSERT ON other DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION write_later();
BEGIN;
SET LOCAL ROLE pb_app;
INSERT INTO other VALUES (1);
RESET ROLE;
COMMIT;
BEGIN;
INSERT INTO other VALUES (1);
SET CONSTRAINTS ALL IMMEDIATE;
ROLLBACK;
SELECT count(*) FROM other;

-- P42: who may only read cannot lock rows or the table either.
SET ROLE pb_reads;
SELECT id FROM job FOR UPDATE;
SELECT id FROM job FOR NO KEY UPDATE;
SELECT id FROM job FOR SHARE;
SELECT id FROM job FOR KEY SHARE;
BEGIN;
LOCK TABLE job IN ROW SHARE MODE;
ROLLBACK;
BEGIN;
LOCK TABLE job IN ACCESS EXCLUSIVE MODE;
ROLLBACK;
UPDATE job SET v = 9;
RESET ROLE;
-- Who may write locks rows, which changes none.
SET ROLE pb_app;
SELECT id FROM job FOR UPDATE;
RESET ROLE;
-- The locks of who has asserted are not to be let go by the server's own functions.
BEGIN;
SELECT fence_assert('pb', 'a', 2, :'w2');
SELECT pg_advisory_unlock_all();
SELECT count(*), min(mode) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory';
UPDATE job SET v = 2;
COMMIT;

-- P46: no setting says who somebody is.
SET fence.asserted = 'pb/a';
SELECT set_config('fence.epoch', '2', false), set_config('fence.writer', :'w2', false);
SET my.fence_assert = 'a';
ALTER ROLE pb_app SET fence.key = 'a';
UPDATE job SET v = 9;
-- Nor does a table or a function of one's own.
CREATE TEMP TABLE protected AS TABLE fence_internal.protected WITH NO DATA;
CREATE FUNCTION pg_temp.check_row() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
SET search_path = pg_temp, public, fence;
UPDATE job SET v = 9;
RESET search_path;
SET search_path = public, fence;
DROP TABLE pg_temp.protected;

-- P38, P62: the equal epoch by another writer; and what a role can read of the record is no
-- writer.
BEGIN;
SELECT fence_assert('pb', 'a', 2, :'w1');
ROLLBACK;
BEGIN;
SELECT fence_assert('pb', 'a', (SELECT epoch FROM oplog_metadata WHERE namespace = 'pb'), (SELECT writer FROM oplog_metadata WHERE namespace = 'pb'));
ROLLBACK;
BEGIN;
SELECT fence_assert('pb', 'a', (SELECT epoch FROM oplog_metadata WHERE namespace = 'pb'), gen_random_uuid()::text);
ROLLBACK;

-- P50: the functions of the triggers, called by somebody or put on another table.
SELECT fence_internal.check_row();
SELECT fence_internal.refuse_truncate();
CREATE TABLE mine(id text);
CREATE TRIGGER t AFTER INSERT ON mine FOR EACH ROW EXECUTE FUNCTION fence_internal.check_row();
INSERT INTO mine VALUES ('a');
DROP TRIGGER t ON mine;
CREATE TRIGGER t BEFORE TRUNCATE ON mine EXECUTE FUNCTION fence_internal.refuse_truncate();
TRUNCATE mine;
CREATE TRIGGER t1 BEFORE INSERT ON job FOR EACH ROW EXECUTE FUNCTION fence_internal.check_row();
BEGIN;
SELECT fence_assert('pb', 'a', 2, :'w2');
INSERT INTO job VALUES ('a', 1) ON CONFLICT DO NOTHING;
ROLLBACK;
DROP TRIGGER t1 ON job;
CREATE TRIGGER t1 AFTER UPDATE ON job FOR EACH STATEMENT EXECUTE FUNCTION fence_internal.check_row();
BEGIN;
SELECT fence_assert('pb', 'a', 2, :'w2');
UPDATE job SET v = 2;
ROLLBACK;
DROP TRIGGER t1 ON job;
CREATE TRIGGER t1 AFTER UPDATE ON job FOR EACH ROW EXECUTE FUNCTION fence_internal.refuse_truncate();
BEGIN;
SELECT fence_assert('pb', 'a', 2, :'w2');
UPDATE job SET v = 2;
ROLLBACK;
DROP TRIGGER t1 ON job;
SET ROLE pb_app;
CREATE TABLE theirs(id text);
CREATE TRIGGER t AFTER INSERT ON theirs FOR EACH ROW EXECUTE FUNCTION fence_internal.check_row();
RESET ROLE;

-- P51: whether a role may assert is asked when it does. The role that a SECURITY DEFINER function
-- runs as is the one that counts in it.
GRANT EXECUTE ON FUNCTION fence.fence_assert, fence.fence_assert_many TO pb_app;
SELECT fence_grant_writer('pb_app', 'elsewhere');
PREPARE assert_a AS SELECT fence_assert('pb', 'a', 2, '22222222-2222-4222-8222-222222222222');
CREATE FUNCTION assert_for_all() RETURNS void LANGUAGE sql SECURITY DEFINER AS $$SELECT fence.fence_assert('pb', 'a', 2, '22222222-2222-4222-8222-222222222222')$$;
SET ROLE pb_app;
BEGIN;
EXECUTE assert_a;
ROLLBACK;
BEGIN;
SELECT fence.fence_assert_many('pb', '["a"]', 2, :'w2');
ROLLBACK;
BEGIN;
SELECT fence.fence_assert_many('pb', '[]', 2, :'w2');
ROLLBACK;
UPDATE job SET v = 9;
BEGIN;
SELECT assert_for_all();
UPDATE job SET v = 3;
COMMIT;
RESET ROLE;
SELECT fence_grant_writer('pb_app', 'pb');
SET ROLE pb_app;
BEGIN;
EXECUTE assert_a;
UPDATE job SET v = 4;
COMMIT;
RESET ROLE;
-- Taken back in the middle of the transaction: what it has asserted was its right.
BEGIN;
SET LOCAL ROLE pb_app;
EXECUTE assert_a;
RESET ROLE;
REVOKE EXECUTE ON FUNCTION fence.fence_assert FROM pb_app;
SET LOCAL ROLE pb_app;
UPDATE job SET v = 5;
EXECUTE assert_a;
ROLLBACK;

-- P54: row security is no fence, and none of its settings opens or closes one.
ALTER TABLE job ENABLE ROW LEVEL SECURITY;
CREATE POLICY everything ON job FOR ALL TO pb_app USING (true);
SET ROLE pb_app;
UPDATE job SET v = 9;
RESET ROLE;
SET ROLE pb_bypass;
UPDATE job SET v = 9;
SET row_security = off;
UPDATE job SET v = 9;
RESET row_security;
RESET ROLE;
ALTER TABLE job FORCE ROW LEVEL SECURITY;
UPDATE job SET v = 9;
DROP POLICY everything ON job;
SET ROLE pb_app;
UPDATE job SET v = 9;
INSERT INTO job VALUES ('b', 1);
RESET ROLE;
ALTER TABLE job NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY;

-- P58: another session has asserted nothing, whoever opened it.
CREATE EXTENSION dblink SCHEMA public;
SELECT format('host=%s port=%s dbname=%s user=%s', split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'), current_database(), current_user) AS here \gset
BEGIN;
SELECT fence_assert('pb', 'a', 2, :'w2');
SELECT dblink_exec(:'here', 'UPDATE public.job SET v = 9', false);
SELECT dblink_exec(:'here', 'BEGIN; UPDATE public.job SET v = 9; COMMIT', false);
SELECT dblink_exec(:'here', $$BEGIN; SELECT fence.fence_assert('pb', 'a', 1, '11111111-1111-4111-8111-111111111111'); UPDATE public.job SET v = 9; COMMIT$$, false);
COMMIT;
SELECT * FROM job;
SELECT dblink_connect('far', :'here');
SELECT dblink_exec('far', 'BEGIN');
SELECT count(*) FROM dblink('far', $$SELECT fence.fence_assert('pb', 'a', 2, '22222222-2222-4222-8222-222222222222')$$) AS t(nothing text);
UPDATE job SET v = 9;
SELECT dblink_exec('far', 'UPDATE public.job SET v = 6');
SELECT dblink_exec('far', 'COMMIT');
SELECT dblink_disconnect('far');
SELECT * FROM job;

-- P60: an unlogged table would be empty after a crash.
CREATE UNLOGGED TABLE fleeting(id text NOT NULL);
SELECT fence_protect('fleeting', 'pb', '["id"]');
SELECT fence_protect('fleeting', 'pb', '[]', 'a');

-- What the server does with a table by itself changes no row, and no trigger.
VACUUM FULL job;
CLUSTER job USING job_pkey;
REINDEX TABLE job;
VACUUM (FREEZE, ANALYZE) job;
ALTER TABLE job ADD COLUMN more int DEFAULT 7, ADD COLUMN luck boolean DEFAULT random() >= 0;
ALTER TABLE job ALTER COLUMN v TYPE bigint USING v + 0;
ALTER TABLE job SET (fillfactor = 50), ALTER COLUMN id SET STATISTICS 10, REPLICA IDENTITY FULL;
ALTER TABLE job ADD CONSTRAINT small CHECK (v < 1000);
ALTER TRIGGER fence_rows ON job RENAME TO renamed;
SELECT v, more FROM job;
UPDATE job SET v = 9;
ALTER TRIGGER renamed ON job RENAME TO fence_rows;
-- HOT or not, an update is one.
UPDATE job SET more = more;
UPDATE job SET id = id;

-- A statement that was prepared before the table was protected, or while it was.
CREATE TABLE later(id text PRIMARY KEY, v int);
INSERT INTO later VALUES ('a', 1);
PREPARE write_later AS UPDATE later SET v = v + 1 RETURNING v;
CREATE FUNCTION write_planned() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  seen int;
BEGIN
  UPDATE public.later SET v = v + 1 RETURNING v INTO seen;
  RETURN seen;
END
$$;
EXECUTE write_later;
SELECT write_planned();
SELECT fence_protect('later', 'pb', '["id"]');
EXECUTE write_later;
SELECT write_planned();
SELECT fence_unprotect('later');
EXECUTE write_later;
SELECT write_planned();
SELECT fence_protect('later', 'pb', '["id"]');
EXECUTE write_later;
SELECT write_planned();
BEGIN;
SELECT fence_unprotect('later');
EXECUTE write_later;
ROLLBACK;
EXECUTE write_later;
SELECT write_planned();

SELECT * FROM job;
\set VERBOSITY sqlstate
DROP TABLE job, other, mine, theirs, fleeting, later CASCADE;
DROP EXTENSION dblink;
DROP FUNCTION nothing, revert, swallowing, assert_old, assert_and_fail, write_later, assert_for_all, write_planned;
DROP OWNED BY pb_app, pb_reads, pb_writes, pb_bypass;
DROP ROLE pb_app, pb_reads, pb_writes, pb_bypass;
