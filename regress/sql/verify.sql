-- fence_verify: each kind of damage is made by hand, past the guards, and named.

\set w1 '11111111-1111-4111-8111-111111111111'
\set w2 '22222222-2222-4222-8222-222222222222'
SELECT current_database() AS here \gset
SET client_min_messages = warning;
CREATE DATABASE verify_test;
\c verify_test
SET client_min_messages = warning;
CREATE EXTENSION fence;
SET search_path = fence, fence_internal, public;

-- A database that is used as it should be: nothing, whatever the calls were.
\o /dev/null
SELECT oplog_metadata_upsert('v', 'plain', 1, :'w1');
SELECT fenced_append_many('v', 'plain', 1, :'w1', '{0,1,2,3}', '{a,b,c,d}');
SELECT fenced_put('v', 'plain', 1, :'w1', 'state', 'x');
SELECT fenced_drop_prefix('v', 'plain', 1, :'w1', 1);
SELECT oplog_metadata_upsert('v', 'plain', 2, :'w2');
SELECT fenced_append('v', 'plain', 2, :'w2', 4, 'e');
SELECT oplog_metadata_upsert('v', 'reset', 9223372036854775807, :'w1');
SELECT fenced_append_many('v', 'reset', 9223372036854775807, :'w1', '{1,2}', '{a,b}');
SELECT fence_reset('v', 'reset', 4);
SELECT oplog_metadata_upsert('v', 'reset', 5, :'w1');
SELECT fenced_append('v', 'reset', 5, :'w1', 3, 'c');
SELECT oplog_metadata_upsert('v', 'deleted', 3, :'w1');
SELECT fenced_append('v', 'deleted', 3, :'w1', 1, 'a');
SELECT fenced_delete('v', 'deleted', 3, :'w1');
SELECT oplog_metadata_upsert('p', 'purged', 7, :'w1');
SELECT fenced_delete('p', 'purged', 7, :'w1');
SELECT fence_purge('p', 0);
SELECT fence_namespace_set('u', 'unfenced');
SELECT fenced_append('u', 'k', NULL, NULL, 1, 'x');
\o
SELECT * FROM fence_verify();

-- What may be as it was meant, and may be not.
SELECT oplog_metadata_upsert('v', 'steps', 1, :'w1');
SELECT fenced_append_many('v', 'steps', 1, :'w1', '{100,200,300}', '{a,b,c}');
SELECT oplog_metadata_upsert('v', 'steps', 2, :'w2');
SELECT fenced_append('v', 'steps', 2, :'w2', 150, 'd');
SELECT * FROM fence_verify() ORDER BY problem COLLATE "C";
SELECT * FROM fence_verify('v', 'plain');
SELECT * FROM fence_verify('u');
SELECT fenced_delete('v', 'steps', 2, :'w2');

-- EXECUTE is the right to ask, of all namespaces, and gives no other. Objects of the
-- caller's own are not used.
CREATE ROLE verify_asks;
GRANT USAGE ON SCHEMA fence TO verify_asks;
GRANT CREATE ON DATABASE verify_test TO verify_asks;
SET ROLE verify_asks;
CREATE SCHEMA verify_own;
CREATE FUNCTION verify_own.differs(text, text) RETURNS boolean LANGUAGE plpgsql
AS $$BEGIN RAISE EXCEPTION 'used by %', current_user; END$$;
CREATE OPERATOR verify_own.= (LEFTARG = text, RIGHTARG = text, FUNCTION = verify_own.differs);
CREATE FUNCTION verify_own.format(text, text, text) RETURNS text LANGUAGE plpgsql
AS $$BEGIN RAISE EXCEPTION 'used by %', current_user; END$$;
CREATE TEMP TABLE record();
SELECT * FROM fence.fence_verify();
RESET ROLE;
GRANT EXECUTE ON FUNCTION fence.fence_verify(text, text) TO verify_asks;
BEGIN;
INSERT INTO value VALUES ('v', 'nobody', 'n', 1, 'x'), ('w', 'nobody', 'n', 1, 'x');
ALTER TABLE value DISABLE TRIGGER guard_rows;
SET LOCAL search_path = verify_own, pg_catalog, fence;
SET LOCAL ROLE verify_asks;
SELECT * FROM fence_verify() ORDER BY object, namespace;
SELECT * FROM fence_verify('w', 'nobody') ORDER BY object;
SAVEPOINT s;
SELECT * FROM fence_internal.value;
ROLLBACK TO s;
SELECT * FROM fence_internal.verify('v', NULL);
ROLLBACK TO s;
SELECT fence_purge('v', 0);
ROLLBACK;
DROP OWNED BY verify_asks;
DROP ROLE verify_asks;

-- From here on somebody writes past the guards.
BEGIN;
ALTER TABLE entry DISABLE TRIGGER guard_rows;
SELECT * FROM fence_verify();
DELETE FROM entry WHERE key = 'plain' AND idx = 3;
INSERT INTO entry VALUES (2, 1, 'v', 'reset', 'twice'), (9, 6, 'v', 'reset', 'ahead'), (-7, 5, 'v', 'reset', 'low'),
  (1, 1, 'v', 'nobody', 'x'), (5, -3, 'u', 'k', 'x');
ALTER TABLE entry ENABLE ALWAYS TRIGGER guard_rows;
SELECT * FROM fence_verify() ORDER BY key COLLATE "C", idx, problem COLLATE "C";
ROLLBACK;

BEGIN;
ALTER TABLE entry DISABLE TRIGGER ALL;
DELETE FROM entry WHERE key = 'plain' AND idx > 2;
DELETE FROM entry WHERE key = 'reset' AND epoch < 9;
ALTER TABLE entry ENABLE ALWAYS TRIGGER guard_rows;
ALTER TABLE entry ENABLE TRIGGER guard_truncate;
SELECT * FROM fence_verify() ORDER BY key COLLATE "C", object COLLATE "C";
ROLLBACK;

BEGIN;
ALTER TABLE record DISABLE TRIGGER USER;
UPDATE record SET epoch = -1 WHERE key = 'plain';
UPDATE record SET writer = '\x00' WHERE key = 'reset';
UPDATE record SET trimmed = -2 WHERE key = 'k';
UPDATE record SET hash = hash + 1 WHERE key = 'deleted';
ALTER TABLE record ENABLE ALWAYS TRIGGER guard_rows;
ALTER TABLE record ENABLE ALWAYS TRIGGER guard_truncate;
SELECT * FROM fence_verify() ORDER BY key COLLATE "C", object COLLATE "C", problem COLLATE "C";
ROLLBACK;

BEGIN;
ALTER TABLE record DISABLE TRIGGER USER;
ALTER TABLE namespace DISABLE TRIGGER USER;
DELETE FROM record;
UPDATE namespace SET floor = -2 WHERE namespace = 'p';
UPDATE namespace SET mode = 'open' WHERE namespace = 'u';
ALTER TABLE record ENABLE ALWAYS TRIGGER guard_rows;
ALTER TABLE record ENABLE ALWAYS TRIGGER guard_truncate;
ALTER TABLE namespace ENABLE ALWAYS TRIGGER guard_rows;
ALTER TABLE namespace ENABLE ALWAYS TRIGGER guard_truncate;
SELECT * FROM fence_verify() ORDER BY namespace COLLATE "C", key COLLATE "C", object COLLATE "C", problem COLLATE "C";
ROLLBACK;

-- The tables themselves.
BEGIN;
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NULL; END$$;
CREATE TRIGGER swallow BEFORE INSERT ON entry FOR EACH ROW EXECUTE FUNCTION nothing();
CREATE RULE swallow AS ON INSERT TO value DO INSTEAD NOTHING;
DROP TRIGGER guard_truncate ON record;
ALTER TABLE trim_mark SET UNLOGGED;
SELECT * FROM fence_verify() ORDER BY object COLLATE "C";
ROLLBACK;

-- Guards by name only.
BEGIN;
DROP TRIGGER guard_rows ON record;
CREATE TRIGGER guard_rows BEFORE INSERT ON record FOR EACH ROW EXECUTE FUNCTION guard();
ALTER TABLE record ENABLE ALWAYS TRIGGER guard_rows;
DROP TRIGGER guard_rows ON entry;
CREATE TRIGGER guard_rows BEFORE INSERT OR UPDATE OR DELETE ON entry FOR EACH ROW WHEN (false) EXECUTE FUNCTION guard();
ALTER TABLE entry ENABLE ALWAYS TRIGGER guard_rows;
DROP TRIGGER guard_rows ON value;
CREATE TRIGGER guard_rows BEFORE INSERT OR UPDATE OF name OR DELETE ON value FOR EACH ROW EXECUTE FUNCTION guard();
ALTER TABLE value ENABLE ALWAYS TRIGGER guard_rows;
DROP TRIGGER guard_rows ON namespace;
CREATE TRIGGER guard_rows BEFORE INSERT OR UPDATE OR DELETE ON namespace EXECUTE FUNCTION guard();
ALTER TABLE namespace ENABLE ALWAYS TRIGGER guard_rows;
DROP TRIGGER guard_truncate ON trim_mark;
CREATE TRIGGER guard_truncate AFTER TRUNCATE ON trim_mark EXECUTE FUNCTION guard();
ALTER TABLE trim_mark ENABLE ALWAYS TRIGGER guard_truncate;
DROP TRIGGER guard_rows ON lineage;
CREATE TRIGGER guard_rows BEFORE INSERT OR UPDATE OR DELETE ON lineage FOR EACH ROW EXECUTE FUNCTION guard_access();
ALTER TABLE lineage ENABLE ALWAYS TRIGGER guard_rows;
CREATE OR REPLACE FUNCTION fence_internal.guard_access() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NEW; END$$;
UPDATE record SET epoch = 0 WHERE key = 'plain';
SELECT * FROM fence_verify() ORDER BY object COLLATE "C";
ROLLBACK;

-- What the calls refuse, and would not keep.
BEGIN;
ALTER TABLE record DROP CONSTRAINT record_pkey;
ALTER TABLE entry ADD CHECK (idx < 1000);
CREATE UNIQUE INDEX ON value(name);
ALTER TABLE namespace ALTER floor DROP NOT NULL;
CREATE TABLE public.child() INHERITS (trim_mark);
ALTER TABLE install ADD COLUMN more text;
ALTER TABLE access DROP CONSTRAINT access_role_namespace_may_write_key;
CREATE INDEX ON lineage(timeline);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'record_hash'::regclass;
SELECT * FROM fence_verify() ORDER BY object COLLATE "C";
ROLLBACK;

-- Nothing of it stayed.
SELECT * FROM fence_verify();

-- Only administrators look past the rights of namespaces.
CREATE ROLE verify_writer;
SELECT fence_grant_writer('verify_writer');
SET ROLE verify_writer;
SELECT * FROM fence_verify();
RESET ROLE;

\c :here
DROP DATABASE verify_test;
DROP ROLE verify_writer;
