-- Fence's own tables against everybody but Fence: direct writes, locks, row security,
-- the trigger functions in other hands.

\set w1 '11111111-1111-4111-8111-111111111111'
\set w2 '22222222-2222-4222-8222-222222222222'
SELECT fence.oplog_metadata_upsert('guards', 'k', 5, :'w1');
SELECT fence.fenced_append('guards', 'k', 5, :'w1', 1, 'one');
CREATE ROLE guards_plain;
INSERT INTO fence_internal.access VALUES ('guards_plain', 'elsewhere', false);
CREATE ROLE guards_reads IN ROLE pg_read_all_data;
CREATE ROLE guards_writes IN ROLE pg_write_all_data, pg_read_all_data;
CREATE ROLE guards_bypass BYPASSRLS IN ROLE pg_write_all_data, pg_read_all_data;
SET search_path = fence_internal, public;

-- P35: a role that may write to every table, here the record of a key. Whether triggers
-- are in replica mode makes no difference.
SET ROLE guards_writes;
UPDATE record SET epoch = 4 WHERE namespace = 'guards';
INSERT INTO record SELECT namespace, 'planted', hash, 9, writer, deleted_at, -1, -1, 0, timeline, lineage FROM record WHERE namespace = 'guards';
\set VERBOSITY terse
UPDATE record SET namespace = namespace WHERE namespace = 'guards';
DELETE FROM record WHERE namespace = 'guards';
INSERT INTO record SELECT * FROM record WHERE namespace = 'guards' ON CONFLICT (namespace, key) DO UPDATE SET epoch = 0;
MERGE INTO record AS r USING (SELECT 'guards' AS namespace) AS s ON r.namespace = s.namespace WHEN MATCHED THEN DELETE;
MERGE INTO record AS r USING (SELECT 'guards' AS namespace) AS s ON r.namespace = s.namespace WHEN MATCHED THEN UPDATE SET epoch = 0;
WITH gone AS (DELETE FROM record RETURNING key) SELECT * FROM gone;
TRUNCATE record;
INSERT INTO entry VALUES (2, 5, 'guards', 'k', 'planted');
UPDATE entry SET payload = 'changed' WHERE namespace = 'guards';
DELETE FROM entry WHERE namespace = 'guards';
TRUNCATE entry;
COPY entry FROM STDIN;
2	5	guards	k	planted
\.
INSERT INTO trim_mark VALUES ('guards', 'k', 5, 100);
INSERT INTO value VALUES ('guards', 'k', 'n', 5, 'v');
INSERT INTO namespace VALUES ('guards', 'unfenced', true, NULL, -1);
INSERT INTO lineage SELECT generation + 1, install, system_identifier, database, timeline, NULL FROM lineage;
INSERT INTO install VALUES ('00000000-0000-0000-0000-000000000000');
DELETE FROM install;
INSERT INTO access VALUES ('guards_writes', NULL, true);
UPDATE access SET may_write = true;
DELETE FROM access;
INSERT INTO fence.fenced_append VALUES ('guards', 'k', 5, :'w1', 2, 'planted');
RESET ROLE;
SET session_replication_role = replica;
SET ROLE guards_writes;
UPDATE record SET epoch = 4 WHERE namespace = 'guards';
DELETE FROM record WHERE namespace = 'guards';
INSERT INTO entry VALUES (2, 5, 'guards', 'k', 'planted');
DELETE FROM entry WHERE namespace = 'guards';
INSERT INTO access VALUES ('guards_writes', NULL, true);
UPDATE access SET may_write = true;
DELETE FROM access;
INSERT INTO fence.fenced_append VALUES ('guards', 'k', 5, :'w1', 2, 'planted');
RESET ROLE;
-- What is not stored is not reported as stored: the bulk form works, or fails.
INSERT INTO fence.fenced_append VALUES ('guards', 'k', 5, :'w1', 2, 'two');
INSERT INTO fence.fenced_append VALUES ('guards', 'k', 4, :'w1', 3, 'stale');
SELECT idx FROM fence.oplog_read('guards', 'k');
-- The owner of the tables is no exception, but for the access it gives.
UPDATE record SET epoch = 4 WHERE namespace = 'guards';
DELETE FROM record WHERE namespace = 'guards';
TRUNCATE record;
UPDATE entry SET payload = 'changed' WHERE namespace = 'guards';
DELETE FROM entry WHERE namespace = 'guards';
TRUNCATE entry, record, trim_mark, value;
RESET session_replication_role;
UPDATE record SET epoch = 4 WHERE namespace = 'guards';
DELETE FROM record WHERE namespace = 'guards';
TRUNCATE record, entry;
INSERT INTO record SELECT * FROM record WHERE namespace = 'guards';
INSERT INTO record SELECT * FROM record WHERE namespace = 'guards' ON CONFLICT (namespace, key) DO UPDATE SET epoch = 0;
UPDATE entry SET payload = 'changed' WHERE namespace = 'guards';
DELETE FROM entry WHERE namespace = 'guards';
UPDATE lineage SET generation = 7;
DELETE FROM install;
TRUNCATE access;
TRUNCATE access, install;
UPDATE access SET may_write = true;
SET session_replication_role = replica;
TRUNCATE access;
RESET session_replication_role;
SELECT role, namespace, may_write FROM fence.fence_grants WHERE role = 'guards_plain';
\set VERBOSITY default

-- P55: the owner inserts what is missing, as a restore does.
BEGIN;
INSERT INTO record SELECT namespace, 'restored', hash + 1, 3, writer, deleted_at, -1, -1, 3, timeline, lineage FROM record WHERE namespace = 'guards';
INSERT INTO entry VALUES (1, 3, 'guards', 'restored', 'one');
SELECT epoch, last_idx FROM fence.oplog_status WHERE key = 'restored';
ROLLBACK;
INSERT INTO access VALUES ('guards_plain', 'guards', true);
DELETE FROM access WHERE role = 'guards_plain'::regrole;

-- A role without any right.
\set VERBOSITY terse
SET ROLE guards_plain;
SELECT 1 FROM fence_internal.record;
UPDATE fence_internal.record SET epoch = 4;
INSERT INTO fence_internal.entry VALUES (2, 5, 'guards', 'k', 'planted');
INSERT INTO fence.fenced_append VALUES ('guards', 'k', 5, :'w1', 2, 'planted');
SELECT fence.fenced_append('guards', 'k', 5, :'w1', 2, 'planted');
SELECT 1 FROM fence.oplog_metadata;
RESET ROLE;

-- P42: locks that would hold up claims or appends.
SET ROLE guards_plain;
SELECT 1 FROM fence_internal.record FOR KEY SHARE;
BEGIN;
LOCK TABLE fence_internal.record IN ACCESS SHARE MODE;
ROLLBACK;
SET ROLE guards_reads;
SELECT 1 FROM fence_internal.record FOR UPDATE;
SELECT 1 FROM fence_internal.record FOR KEY SHARE;
SELECT 1 FROM fence_internal.entry FOR SHARE;
BEGIN;
LOCK TABLE fence_internal.record, fence_internal.entry IN ROW SHARE MODE;
ROLLBACK;
BEGIN;
LOCK TABLE fence_internal.record, fence_internal.entry IN ACCESS EXCLUSIVE MODE;
ROLLBACK;
BEGIN;
LOCK TABLE fence.oplog_metadata, fence.oplog_entries IN ROW SHARE MODE;
ROLLBACK;
RESET ROLE;

-- P50: the trigger functions, called as plain SQL or put on a table of one's own.
SELECT fence_internal.guard();
SELECT fence_internal.guard_access();
SELECT fence_internal.append_table();
CREATE TABLE public.guards_own(a int, b int);
GRANT ALL ON public.guards_own TO guards_plain, guards_writes;
SET ROLE guards_plain;
CREATE TRIGGER own BEFORE INSERT ON public.guards_own FOR EACH ROW EXECUTE FUNCTION fence_internal.guard();
SET ROLE guards_writes;
CREATE TRIGGER own BEFORE INSERT ON public.guards_own FOR EACH ROW EXECUTE FUNCTION fence_internal.guard_access();
RESET ROLE;
CREATE TRIGGER own BEFORE INSERT ON public.guards_own FOR EACH ROW EXECUTE FUNCTION fence_internal.guard();
INSERT INTO public.guards_own VALUES (1, 2);
DROP TRIGGER own ON public.guards_own;
CREATE TRIGGER own BEFORE INSERT ON public.guards_own FOR EACH ROW EXECUTE FUNCTION fence_internal.guard_access();
INSERT INTO public.guards_own VALUES (1, 2);
DROP TRIGGER own ON public.guards_own;
CREATE TRIGGER own BEFORE TRUNCATE ON public.guards_own FOR EACH STATEMENT EXECUTE FUNCTION fence_internal.guard();
TRUNCATE public.guards_own;
DROP TRIGGER own ON public.guards_own;
-- A foreign table of one's own by Fence's wrapper takes no rows of other columns.
CREATE FOREIGN TABLE public.guards_foreign(a int) SERVER fence_appends;
INSERT INTO public.guards_foreign VALUES (1);
SELECT * FROM public.guards_foreign;
DROP FOREIGN TABLE public.guards_foreign;
CREATE FOREIGN TABLE public.guards_foreign(a int, b text) SERVER fence_records;
SELECT * FROM public.guards_foreign;
DROP FOREIGN TABLE public.guards_foreign;
\set VERBOSITY default

-- P54: row security on Fence's tables is never the fence, and no way round it.
ALTER TABLE record ENABLE ROW LEVEL SECURITY;
ALTER TABLE record FORCE ROW LEVEL SECURITY;
ALTER TABLE entry ENABLE ROW LEVEL SECURITY;
ALTER TABLE entry FORCE ROW LEVEL SECURITY;
SELECT fence.fence_grant_writer('guards_plain', 'guards');
SELECT fence.fence_grant_writer('guards_bypass', 'guards');
SET ROLE guards_plain;
SELECT fence.fenced_append('guards', 'k', 4, :'w1', 2, 'stale');
SELECT fence.fenced_append('guards', 'none', 4, :'w1', 2, 'stale');
SELECT fence.fenced_append('guards', 'k', 5, :'w1', 2, 'two');
SELECT fence.fenced_append('guards', 'k', 5, :'w1', 2, 'other');
SELECT fence.oplog_metadata_upsert('guards', 'k', 4, :'w2');
SELECT key, epoch, last_idx FROM fence.oplog_status;
SET ROLE guards_bypass;
SELECT fence.fenced_append('guards', 'k', 4, :'w1', 3, 'stale');
UPDATE fence_internal.record SET epoch = 4;
RESET ROLE;
ALTER TABLE record NO FORCE ROW LEVEL SECURITY;
ALTER TABLE record DISABLE ROW LEVEL SECURITY;
ALTER TABLE entry NO FORCE ROW LEVEL SECURITY;
ALTER TABLE entry DISABLE ROW LEVEL SECURITY;

-- Triggers, rules and defaults that somebody adds to Fence's tables change nothing of
-- what it stores.
CREATE FUNCTION public.guards_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.payload := 'changed';
  RETURN NEW;
END
$$;
CREATE TRIGGER change BEFORE INSERT ON entry FOR EACH ROW EXECUTE FUNCTION public.guards_change();
SELECT fence.fenced_append('guards', 'k', 5, :'w1', 3, 'three');
DROP TRIGGER change ON entry;
CREATE FUNCTION public.guards_skip() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NULL; END$$;
CREATE TRIGGER skip BEFORE INSERT OR UPDATE ON entry FOR EACH ROW EXECUTE FUNCTION public.guards_skip();
CREATE TRIGGER skip BEFORE INSERT OR UPDATE ON record FOR EACH ROW EXECUTE FUNCTION public.guards_skip();
SELECT fence.oplog_metadata_upsert('guards', 'k', 6, :'w2');
SELECT fence.fenced_append('guards', 'k', 6, :'w2', 4, 'four');
DROP TRIGGER skip ON entry;
DROP TRIGGER skip ON record;
SELECT idx, epoch, convert_from(payload, 'UTF8') FROM fence.oplog_read('guards', 'k');
SELECT epoch, writer FROM fence.oplog_metadata WHERE namespace = 'guards';

RESET search_path;
DROP TABLE public.guards_own;
DROP FUNCTION guards_change(), guards_skip();
DELETE FROM fence_internal.access WHERE role IN ('guards_plain'::regrole, 'guards_bypass'::regrole);
DROP OWNED BY guards_plain, guards_bypass;
DROP ROLE guards_plain, guards_reads, guards_writes, guards_bypass;
