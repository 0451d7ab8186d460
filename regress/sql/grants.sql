-- fence_grant_writer and fence_grant_reader: a role does its whole job and nothing else.

\set w1 '11111111-1111-4111-8111-111111111111'
\set w2 '22222222-2222-4222-8222-222222222222'
CREATE ROLE grants_writer;
CREATE ROLE grants_reader;
CREATE ROLE grants_nobody;
CREATE ROLE grants_other;
GRANT CREATE ON SCHEMA public TO grants_writer, grants_reader, grants_nobody;
SELECT fence.fence_grant_writer('grants_writer', 'a');
SELECT fence.fence_grant_writer('grants_writer', 'a');
SELECT fence.fence_grant_reader('grants_reader');
SELECT role, namespace, may_write FROM fence_internal.access WHERE role::text LIKE 'grants%' ORDER BY role::text;
SELECT fence.oplog_metadata_upsert('b', 'k', 1, :'w2');
SELECT fence.fenced_append('b', 'k', 1, :'w2', 1, 'of b');

-- The whole job of a writer.
SET ROLE grants_writer;
SET search_path = fence, public;
SELECT oplog_metadata_upsert('a', 'k', 1, :'w1');
SELECT try_oplog_metadata_upsert('a', 'k', 2, :'w1');
SELECT oplog_metadata_upsert_many('a', '[{"key": "k", "epoch": "3"}, {"key": "l", "epoch": "1"}]', :'w1');
SELECT fenced_append('a', 'k', 3, :'w1', 1, 'one');
SELECT fenced_append_many('a', 'k', 3, :'w1', '{2,3}', '{two,three}', 1);
INSERT INTO fenced_append VALUES ('a', 'k', 3, :'w1', 4, 'four') RETURNING idx;
COPY fenced_append FROM STDIN;
a	k	3	11111111-1111-4111-8111-111111111111	5	five
\.
BEGIN;
SELECT fenced_append('a', 'k', 3, :'w1', 6, 'six');
SELECT key, role, state FROM fence_holders;
COMMIT;
SELECT fence_check('a', 'k', 3, :'w1');
SELECT fence_drain('a', 'k', 3, :'w1', 0);
SELECT fence_evict('a', 'k', 3, :'w1');
SELECT idx, convert_from(payload, 'UTF8') FROM oplog_read('a', 'k');
SELECT namespace, key, epoch, writer FROM oplog_metadata ORDER BY namespace, key;
SELECT namespace, key, epoch, last_idx, length, deleted FROM oplog_status ORDER BY namespace, key;
SELECT namespace, key, idx, epoch FROM oplog_entries ORDER BY namespace, key, idx;
SELECT fence_fingerprint(:'w1'), fence_key('a', 'b'), fence_version() IS NOT NULL AS version, fence_capabilities()->'fencing' AS fencing;
-- A refusal of ownership is the same for it.
SELECT fenced_append('a', 'k', 2, :'w1', 7, 'seven');
RESET ROLE;

-- The whole job of a reader: all namespaces.
SET ROLE grants_reader;
SELECT idx, convert_from(payload, 'UTF8') FROM oplog_read('b', 'k');
SELECT fence_check('a', 'k', 3, :'w1');
SELECT namespace, key, epoch, writer FROM oplog_metadata WHERE namespace IN ('a', 'b') ORDER BY namespace, key;
SELECT namespace, count(*) FROM oplog_entries WHERE namespace IN ('a', 'b') GROUP BY namespace ORDER BY namespace;
SELECT count(*) FROM oplog_status WHERE namespace IN ('a', 'b');
SELECT count(*) FROM fence_holders;
SELECT fence_fingerprint(:'w1'), fence_key('a', 'b'), fence_version() IS NOT NULL AS version, fence_capabilities()->'fencing' AS fencing;
RESET ROLE;
RESET search_path;

-- Everything else that a role could try. What is not refused shows as "done" and how many
-- rows there were, and is undone.
CREATE TABLE attempt(n int GENERATED ALWAYS AS IDENTITY, statement text);
INSERT INTO attempt(statement) VALUES
  ('SELECT fence.oplog_metadata_upsert(''b'', ''k'', 2, ''W'')'),
  ('SELECT fence.oplog_metadata_upsert(''new'', ''k'', 0, ''W'')'),
  ('SELECT fence.try_oplog_metadata_upsert(''b'', ''k'', 2, ''W'')'),
  ('SELECT fence.oplog_metadata_upsert_many(''b'', ''[{"key": "k", "epoch": "2"}]'', ''W'')'),
  ('SELECT fence.fenced_append(''b'', ''k'', 1, ''W'', 2, ''x'')'),
  ('SELECT fence.fenced_append(''b'', ''none'', 1, ''W'', 2, ''x'')'),
  ('SELECT fence.fenced_append_many(''b'', ''k'', 1, ''W'', ''{2}'', ''{x}'')'),
  ('SELECT fence.fenced_append_many(''b'', ''k'', 1, ''W'', ''{}'', ''{}'')'),
  ('INSERT INTO fence.fenced_append VALUES (''b'', ''k'', 1, ''W'', 2, ''x'')'),
  ('SELECT fence.fence_check(''b'', ''k'', 1, ''W'')'),
  ('SELECT * FROM fence.oplog_read(''b'', ''k'')'),
  ('SELECT * FROM fence.oplog_read(''b'', ''none'')'),
  ('SELECT fence.fence_drain(''b'', ''k'', 1, ''W'', 0)'),
  ('SELECT fence.fence_evict(''b'', ''k'', 1, ''W'')'),
  ('SELECT * FROM fence.oplog_metadata WHERE namespace = ''b'''),
  ('SELECT * FROM fence.oplog_status WHERE namespace = ''b'''),
  ('SELECT * FROM fence.oplog_entries WHERE namespace = ''b'''),
  ('SELECT fence.fence_grant_writer(''grants_other'')'),
  ('SELECT fence.fence_grant_writer(current_user, ''b'')'),
  ('SELECT fence.fence_grant_reader(current_user)'),
  ('SELECT fence_internal.grant_access(current_user, NULL, true)'),
  ('SELECT * FROM fence_internal.records()'),
  ('SELECT * FROM fence_internal.entries(''b'', ''k'')'),
  ('SELECT * FROM fence_internal.extent(''b'', ''k'')'),
  ('SELECT fence_internal.guard()'),
  ('SELECT fence_internal.append_table()'),
  ('SELECT * FROM fence_internal.record'),
  ('SELECT * FROM fence_internal.entry'),
  ('SELECT * FROM fence_internal.access'),
  ('SELECT 1 FROM fence_internal.record FOR KEY SHARE'),
  ('SELECT 1 FROM fence.oplog_metadata FOR SHARE'),
  ('INSERT INTO fence_internal.access VALUES (current_user::regrole, NULL, true)'),
  ('INSERT INTO fence_internal.record SELECT * FROM fence_internal.record'),
  ('INSERT INTO fence_internal.entry VALUES (2, 1, ''b'', ''k'', ''x'')'),
  ('UPDATE fence_internal.record SET epoch = 0'),
  ('DELETE FROM fence_internal.entry'),
  ('TRUNCATE fence_internal.entry'),
  ('COPY fence_internal.entry TO ''/dev/null'''),
  ('UPDATE fence.oplog_metadata SET epoch = 0'),
  ('DELETE FROM fence.oplog_entries'),
  ('INSERT INTO fence.oplog_entries VALUES (''b'', ''k'', 2, 1, ''x'')'),
  ('DELETE FROM fence.fenced_append'),
  ('LOCK TABLE fence_internal.record IN ACCESS SHARE MODE'),
  ('LOCK TABLE fence.oplog_metadata IN ROW SHARE MODE'),
  ('LOCK TABLE fence.fenced_append IN SHARE MODE'),
  ('ALTER TABLE fence_internal.record DISABLE TRIGGER ALL'),
  ('ALTER TABLE fence_internal.record ADD COLUMN x int'),
  ('CREATE TRIGGER mine BEFORE INSERT ON fence_internal.entry FOR EACH ROW EXECUTE FUNCTION public.try(''x'')'),
  ('CREATE TRIGGER mine BEFORE INSERT ON fence.fenced_append FOR EACH ROW EXECUTE FUNCTION public.try(''x'')'),
  ('CREATE FOREIGN TABLE public.mine(a int) SERVER fence_records'),
  ('CREATE FOREIGN TABLE public.mine(a int) SERVER fence_appends'),
  ('CREATE RULE mine AS ON INSERT TO fence.fenced_append DO INSTEAD NOTHING'),
  ('CREATE OR REPLACE VIEW fence.oplog_metadata AS SELECT 1 AS a'),
  ('CREATE FUNCTION fence.mine() RETURNS int LANGUAGE sql AS ''SELECT 1'''),
  ('CREATE TABLE fence.mine()'),
  ('CREATE TABLE fence_internal.mine()'),
  ('CREATE VIEW public.mine AS SELECT * FROM fence_internal.record'),
  ('CREATE INDEX ON fence_internal.entry(idx)'),
  ('ALTER FUNCTION fence.fence_version() RENAME TO other'),
  ('ALTER FUNCTION fence.fence_fingerprint(text) OWNER TO current_user'),
  ('CREATE FUNCTION public.mine() RETURNS text LANGUAGE c AS ''$libdir/fence'', ''fence_pg_version'''),
  ('GRANT EXECUTE ON FUNCTION fence.fence_version() TO PUBLIC'),
  ('GRANT SELECT ON fence_internal.record TO PUBLIC'),
  ('GRANT USAGE ON SCHEMA fence_internal TO PUBLIC'),
  ('DROP EXTENSION fence'),
  ('ALTER EXTENSION fence DROP TABLE fence_internal.record'),
  ('DROP TABLE fence_internal.record'),
  ('DROP SCHEMA fence CASCADE'),
  ('COMMENT ON SCHEMA fence IS ''x'''),
  ('SET fence.evict_after = ''1h'''),
  ('SET fence.log_refusals = off'),
  ('SET session_replication_role = replica'),
  ('SELECT pg_extension_config_dump(''fence_internal.record'', ''WHERE false'')');
CREATE FUNCTION try(statement text, OUT code text, OUT answer text) LANGUAGE plpgsql AS $$
DECLARE
  n bigint;
BEGIN
  BEGIN
    EXECUTE replace(statement, '''W''', '''22222222-2222-4222-8222-222222222222''');
    GET DIAGNOSTICS n = ROW_COUNT;
    RAISE EXCEPTION USING ERRCODE = 'UNDO1';
  EXCEPTION
    WHEN SQLSTATE 'UNDO1' THEN
      code := 'done';
      answer := n;
    WHEN OTHERS THEN
      code := SQLSTATE;
      answer := regexp_replace(SQLERRM, E'\n.*', '');
  END;
END
$$;
GRANT SELECT ON attempt TO grants_writer, grants_reader, grants_nobody;
SET ROLE grants_writer;
SELECT a.statement, t.code, t.answer FROM attempt AS a, try(a.statement) AS t ORDER BY a.n;
SET ROLE grants_reader;
SELECT a.statement, t.code, t.answer FROM attempt AS a, try(a.statement) AS t ORDER BY a.n;
-- Who was granted nothing: no statement is done.
SET ROLE grants_nobody;
SELECT t.code, count(*) FROM attempt AS a, try(a.statement) AS t GROUP BY t.code ORDER BY t.code;
RESET ROLE;
DROP TABLE attempt;
DROP FUNCTION try(text);

-- Membership: the rights of a role are those of its members who inherit.
CREATE ROLE grants_member IN ROLE grants_writer;
CREATE ROLE grants_aside NOINHERIT IN ROLE grants_writer;
\set VERBOSITY terse
SET ROLE grants_member;
SELECT fence.fenced_append('a', 'l', 1, :'w1', 1, 'one');
SELECT fence.fenced_append('b', 'k', 1, :'w2', 2, 'two');
SET ROLE grants_aside;
SELECT fence.fenced_append('a', 'l', 1, :'w1', 2, 'two');
SET ROLE grants_writer;
SELECT fence.fenced_append('a', 'l', 1, :'w1', 2, 'two');
RESET ROLE;
-- The session that has just been answered asks anew. (The server lets it call everything:
-- only Fence denies.)
GRANT USAGE ON SCHEMA fence TO grants_member;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA fence TO grants_member;
REVOKE grants_writer FROM grants_member;
SET ROLE grants_member;
SELECT fence.fenced_append('a', 'l', 1, :'w1', 3, 'three');
RESET ROLE;
GRANT grants_writer TO grants_member;
SET ROLE grants_member;
SELECT fence.fenced_append('a', 'l', 1, :'w1', 3, 'three');
RESET ROLE;
-- What one right does not give another role has through its own functions' grants.
GRANT USAGE ON SCHEMA fence TO grants_nobody;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA fence TO grants_nobody;
GRANT INSERT, SELECT ON ALL TABLES IN SCHEMA fence TO grants_nobody;
SET ROLE grants_nobody;
SELECT fence.fenced_append('a', 'l', 1, :'w1', 4, 'four');
INSERT INTO fence.fenced_append VALUES ('a', 'l', 1, :'w1', 4, 'four');
SELECT fence.oplog_metadata_upsert('a', 'new', 1, :'w1');
SELECT * FROM fence.oplog_read('a', 'l');
RESET ROLE;

-- P51: who calls is asked when the statement runs, not when it was prepared.
SET ROLE grants_writer;
PREPARE append AS SELECT fence.fenced_append('a', 'l', 1, '11111111-1111-4111-8111-111111111111', 4, 'four');
PREPARE bulk AS INSERT INTO fence.fenced_append VALUES ('a', 'l', 1, '11111111-1111-4111-8111-111111111111', 4, 'four');
SET ROLE grants_other;
EXECUTE append;
EXECUTE bulk;
SET ROLE grants_nobody;
EXECUTE append;
EXECUTE bulk;
SET ROLE grants_writer;
EXECUTE append;
EXECUTE bulk;
-- A function with its owner's rights acts as its owner, and only while it runs.
CREATE FUNCTION public.grants_definer() RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog
AS $$SELECT fence.fenced_append('a', 'l', 1, '11111111-1111-4111-8111-111111111111', 5, 'five')$$;
SET ROLE grants_other;
SELECT public.grants_definer();
SELECT fence.fenced_append('a', 'l', 1, :'w1', 5, 'five');
RESET ROLE;
REVOKE EXECUTE ON FUNCTION public.grants_definer() FROM PUBLIC;
SET ROLE grants_other;
SELECT public.grants_definer();
RESET ROLE;
-- Neither does a view of somebody who may read show more than its caller may see.
CREATE VIEW public.grants_view AS SELECT namespace, key FROM fence.oplog_metadata;
GRANT SELECT ON public.grants_view TO grants_writer, grants_nobody;
SET ROLE grants_writer;
SELECT DISTINCT namespace FROM public.grants_view;
SET ROLE grants_nobody;
SELECT DISTINCT namespace FROM public.grants_view;
RESET ROLE;
-- A transaction is checked at its end whoever it is by then.
BEGIN;
SET LOCAL ROLE grants_writer;
SELECT fence.fenced_append('a', 'l', 1, :'w1', 6, 'six');
SET LOCAL ROLE grants_other;
COMMIT;

-- A second namespace; all of them.
SELECT fence.fence_grant_writer('grants_writer', 'second');
SET ROLE grants_writer;
SELECT fence.oplog_metadata_upsert('second', 'k', 1, :'w1');
SELECT fence.fenced_append('a', 'l', 1, :'w1', 7, 'seven');
SELECT fence.fenced_append('b', 'k', 1, :'w2', 2, 'two');
RESET ROLE;
SELECT fence.fence_grant_writer('grants_other');
SET ROLE grants_other;
SELECT fence.fenced_append('b', 'k', 1, :'w2', 2, 'two');
SELECT fence.fenced_append('a', 'l', 1, :'w1', 8, 'eight');
RESET ROLE;
-- The rows of the table are the rights: one that goes takes effect at once.
DELETE FROM fence_internal.access WHERE role = 'grants_other'::regrole;
SET ROLE grants_other;
SELECT fence.fenced_append('b', 'k', 1, :'w2', 3, 'three');
SELECT fence.fenced_append('a', 'l', 1, :'w1', 9, 'nine');
RESET ROLE;
-- fence_revoke_writer takes back the one namespace it names, or all of them; what
-- fence_grant_reader gave is another right.
SELECT fence.fence_grant_writer('grants_other', 'a');
SELECT fence.fence_grant_writer('grants_other', 'b');
SELECT fence.fence_grant_reader('grants_other');
SELECT fence.fence_revoke_writer('grants_other', 'b');
SET ROLE grants_other;
SELECT fence.fenced_append('a', 'l', 1, :'w1', 9, 'nine');
SELECT fence.fenced_append('b', 'k', 1, :'w2', 3, 'three');
SELECT idx FROM fence.oplog_read('b', 'k');
SELECT fence.fence_revoke_writer('grants_writer', 'a');
RESET ROLE;
SELECT fence.fence_revoke_writer('grants_other', 'b');
SELECT fence.fence_revoke_writer('grants_other');
SET ROLE grants_other;
SELECT fence.fenced_append('a', 'l', 1, :'w1', 10, 'ten');
SELECT idx FROM fence.oplog_read('b', 'k');
RESET ROLE;
SELECT fence.fence_revoke_reader('grants_other');
SET ROLE grants_other;
SELECT idx FROM fence.oplog_read('b', 'k');
SELECT count(*) FROM fence.oplog_metadata;
RESET ROLE;
SELECT role, namespace, may_write FROM fence_internal.access WHERE role::text ~ 'grants' ORDER BY role::text, namespace;
SELECT fence.fence_revoke_writer('grants_missing');
BEGIN;
SELECT fence.fence_grant_writer('grants_other', 'b');
SET ROLE grants_other;
SELECT fence.fenced_append('b', 'k', 1, :'w2', 3, 'three');
ROLLBACK;
SET ROLE grants_other;
SELECT fence.fenced_append('b', 'k', 1, :'w2', 3, 'three');
RESET ROLE;

-- Names with capitals, blanks and quotes, of roles and of namespaces.
CREATE ROLE "grants Of ""Writers""";
SELECT fence.fence_grant_writer('grants Of "Writers"', 'It''s "a" Namespace; -- ');
SELECT role, namespace FROM fence_internal.access WHERE namespace LIKE 'It%';
SET ROLE "grants Of ""Writers""";
SELECT fence.oplog_metadata_upsert('It''s "a" Namespace; -- ', 'k', 1, :'w1');
SELECT fence.oplog_metadata_upsert('it''s "a" namespace; -- ', 'k', 1, :'w1');
SELECT namespace FROM fence.oplog_metadata;
RESET ROLE;
-- What is no role, or no namespace.
SELECT fence.fence_grant_writer('grants_missing', 'a');
SELECT fence.fence_grant_writer('GRANTS_WRITER', 'a');
SELECT fence.fence_grant_writer('public', 'a');
SELECT fence.fence_grant_writer('-', 'a');
SELECT fence.fence_grant_writer('0', 'a');
SELECT fence.fence_grant_writer('10', 'a');
SELECT fence.fence_grant_writer('', 'a');
SELECT fence.fence_grant_writer(NULL, 'a');
SELECT fence.fence_grant_reader(NULL);
SELECT fence.fence_revoke_writer(NULL);
SELECT fence.fence_revoke_reader(NULL);
SELECT fence.fence_grant_writer(NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT fence.fence_grant_writer('grants_missing', '');
SELECT fence.fence_revoke_writer('grants_writer', '');
SELECT fence.fence_grant_writer('grants_writer', '');
SELECT fence.fence_grant_writer('grants_writer', repeat('n', 256));
SELECT fence.fence_grant_writer('grants_writer; DROP TABLE x', 'a');
SELECT count(*) FROM fence_internal.access WHERE role::text !~ 'grants';
BEGIN READ ONLY;
SELECT fence.fence_revoke_writer('grants_writer');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
\set VERBOSITY default

-- With its last right a role has nothing left of Fence's: it can be dropped. Until then a
-- revoke says what it did not do.
CREATE ROLE grants_short;
SELECT fence.fence_grant_writer('grants_short'), fence.fence_grant_writer('grants_short', 'a'), fence.fence_grant_reader('grants_short');
SELECT namespace, may_write FROM fence.fence_grants WHERE role = 'grants_short' ORDER BY may_write, namespace;
SELECT fence.fence_revoke_writer('grants_short', 'a');
SELECT fence.fence_revoke_writer('grants_short');
SELECT fence.fence_revoke_writer('grants_short');
SELECT fence.fence_revoke_reader('grants_short');
DROP ROLE grants_short;

DROP VIEW public.grants_view;
DROP FUNCTION public.grants_definer();
DELETE FROM fence_internal.access WHERE role::text ~ 'grants';
DROP OWNED BY grants_writer, grants_reader, grants_nobody, grants_other, grants_member, "grants Of ""Writers""";
DROP ROLE grants_writer, grants_reader, grants_nobody, grants_other, grants_member, grants_aside, "grants Of ""Writers""";
