-- Which tables and columns fence_protect takes, and which key a row has.

\set w1 '11111111-1111-4111-8111-111111111111'
\pset tuples_only on
\pset format unaligned
\set VERBOSITY terse
SET search_path = public, fence;

-- Each type that a key column can have: as the text by which the key is claimed.
CREATE PROCEDURE claim_keys(VARIADIC keys text[]) LANGUAGE plpgsql AS $$
DECLARE
  key text;
BEGIN
  FOREACH key IN ARRAY keys LOOP
    PERFORM fence.oplog_metadata_upsert('pk', key, 1, '11111111-1111-4111-8111-111111111111');
    COMMIT;
  END LOOP;
END
$$;
CALL claim_keys('-32768', '32767', '0', '-2147483648', '2147483647', '-9223372036854775808', '9223372036854775807',
  'true', 'false', '00000000-0000-0000-0000-00000000abcd', 'text', 'ä€🔒', ' ', '-1', 'one');
CREATE TABLE typed(i2 int2 NOT NULL, i4 int4 NOT NULL, i8 int8 NOT NULL, t text NOT NULL, vc varchar(9) NOT NULL, u uuid NOT NULL, b boolean NOT NULL);
-- The key of a row as the refusal names it, which is the key that opens it.
CREATE FUNCTION key_by(column_name text, value text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  said text;
  row typed := (0, 0, 0, 'one', 'one', '00000000-0000-0000-0000-000000000000', false);
BEGIN
  row := jsonb_populate_record(row, jsonb_build_object(column_name, value));
  BEGIN
    INSERT INTO typed SELECT row.*;
    RETURN 'stored';
  EXCEPTION WHEN SQLSTATE 'ZF005' OR SQLSTATE 'ZF010' THEN
    GET STACKED DIAGNOSTICS said = PG_EXCEPTION_DETAIL;
  END;
  RETURN said::jsonb->>'code' || ' ' || quote_nullable(said::jsonb->>'key');
END
$$;
SELECT fence_protect('typed', 'pk', '["i2"]');
SELECT key_by('i2', n) FROM unnest(ARRAY['-32768', '32767', '0']) AS n;
SELECT fence_protect('typed', 'pk', '["i4"]');
SELECT key_by('i4', n) FROM unnest(ARRAY['-2147483648', '2147483647', '-1']) AS n;
SELECT fence_protect('typed', 'pk', '["i8"]');
SELECT key_by('i8', n) FROM unnest(ARRAY['-9223372036854775808', '9223372036854775807']) AS n;
SELECT fence_protect('typed', 'pk', '["b"]');
SELECT key_by('b', n) FROM unnest(ARRAY['t', 'off']) AS n;
SELECT fence_protect('typed', 'pk', '["u"]');
SELECT key_by('u', n) FROM unnest(ARRAY['{00000000-0000-0000-0000-00000000ABCD}', '00000000000000000000000000000000']) AS n;
SELECT fence_protect('typed', 'pk', '["t"]');
SELECT key_by('t', n) FROM unnest(ARRAY['text', 'ä€🔒', ' ', '', E'a\tb\\', repeat('x', 255), repeat('x', 256), repeat('ä', 128), repeat('x', 1000000)]) AS n;
SELECT fence_protect('typed', 'pk', '["vc"]');
SELECT key_by('vc', n) FROM unnest(ARRAY['text', '']) AS n;
-- Those keys, once asserted, open the rows.
BEGIN;
SELECT fence_assert_many('pk', '["-32768", "32767", "0", "-2147483648", "2147483647", "-9223372036854775808", "9223372036854775807", "true", "false", "00000000-0000-0000-0000-00000000abcd", "text", "ä€🔒", " ", "-1", "one"]', 1, :'w1');
SELECT key_by('vc', 'text');
SELECT fence_protect('typed', 'pk', '["t"]');
ROLLBACK;
-- By the columns that were named last.
BEGIN;
SELECT fence_assert_many('pk', '["-32768", "one"]', 1, :'w1');
SELECT key_by('i2', '-32768'), key_by('vc', 'other');
ROLLBACK;

-- Several columns: as fence_key writes it.
CALL claim_keys('one/7', 'a\/b/7', 'a/b\/7', 'a\\/7', '/7', 'one/7/true');
SELECT fence_protect('typed', 'pk', '["t", "i4"]');
CREATE FUNCTION keys_of(t text, i4 int, b boolean DEFAULT false) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  said text;
BEGIN
  INSERT INTO typed VALUES (0, i4, 0, t, 'one', '00000000-0000-0000-0000-000000000000', b);
  RETURN 'stored';
EXCEPTION WHEN SQLSTATE 'ZF005' OR SQLSTATE 'ZF010' THEN
  GET STACKED DIAGNOSTICS said = PG_EXCEPTION_DETAIL;
  RETURN said::jsonb->>'code' || ' ' || quote_nullable(said::jsonb->>'key');
END
$$;
SELECT keys_of(t, 7) FROM unnest(ARRAY['one', 'a/b', 'a\', '', repeat('x', 253), repeat('x', 254), repeat('/', 127)]) AS t;
SELECT length(keys_of(repeat('/', 126), 7));
BEGIN;
SELECT fence_assert('pk', 'a\/b/7', 1, :'w1');
SELECT keys_of('a/b', 7), keys_of('a', 7), keys_of('one', 7);
ROLLBACK;
SELECT fence_protect('typed', 'pk', '["t", "i4", "b"]');
SELECT keys_of('one', 7, true);
-- The order of the columns is that of the key.
SELECT fence_protect('typed', 'pk', '["i4", "t"]');
SELECT keys_of('one', 7);
-- A row moves when any of them changes.
CREATE TABLE two(a text NOT NULL, b int NOT NULL, v int);
INSERT INTO two VALUES ('one', 7, 0);
SELECT fence_protect('two', 'pk', '["a", "b"]');
BEGIN;
SELECT fence_assert('pk', 'one/7', 1, :'w1');
UPDATE two SET v = 1 RETURNING v;
SAVEPOINT s;
UPDATE two SET b = 8;
ROLLBACK TO s;
UPDATE two SET a = 'two';
ROLLBACK;

-- One key for the whole table.
CREATE TABLE whole(v int);
SELECT fence_protect('whole', 'pk', '[]', 'one');
INSERT INTO whole VALUES (1);
BEGIN;
SELECT fence_assert('pk', 'one', 1, :'w1');
INSERT INTO whole VALUES (1), (NULL);
UPDATE whole SET v = 2 WHERE v = 1;
DELETE FROM whole WHERE v = 2;
COMMIT;
DELETE FROM whole;
SELECT count(*) FROM whole;
SELECT fence_protect('whole', 'pk', key => 'another');
DELETE FROM whole;

-- Columns that are no key, each with the reason.
CREATE DOMAIN name_of AS text;
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE odd(nullable text, ch char(3) NOT NULL, num numeric NOT NULL, ts timestamptz NOT NULL, js jsonb NOT NULL, by bytea NOT NULL,
  dom name_of NOT NULL, en mood NOT NULL, ar text[] NOT NULL, f8 float8 NOT NULL, nm name NOT NULL, dt date NOT NULL, od oid NOT NULL,
  cs text COLLATE any_case NOT NULL, ok text COLLATE "C" NOT NULL, "Quoted ""name" text, gen text GENERATED ALWAYS AS ('g' || ok) STORED NOT NULL);
CREATE FUNCTION try_column(name text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM fence.fence_protect('odd', 'pk', jsonb_build_array(name));
  RETURN name || ': protected';
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ' ' || SQLERRM;
END
$$;
SELECT try_column(name) FROM unnest(ARRAY['nullable', 'ch', 'num', 'ts', 'js', 'by', 'dom', 'en', 'ar', 'f8', 'nm', 'dt', 'od', 'cs',
  'Quoted "name', 'missing', 'OK', 'ctid', 'tableoid', 'xmin']) AS name;
SELECT count(*) FROM fence_protected WHERE relation = 'odd'::regclass;
SELECT fence_protect('odd', 'pk', '["ok", "nullable"]');
SELECT try_column('ok');
-- A generated column is one like others.
SELECT try_column('gen');
CALL claim_keys('gx', 'gy');
INSERT INTO odd VALUES (NULL, '', 0, now(), '0', '', '', 'sad', '{}', 0, '', now(), 0, '', 'x');
BEGIN;
SELECT fence_assert('pk', 'gx', 1, :'w1');
INSERT INTO odd VALUES (NULL, '', 0, now(), '0', '', '', 'sad', '{}', 0, '', now(), 0, '', 'x') RETURNING gen;
SAVEPOINT s;
UPDATE odd SET ok = 'y';
ROLLBACK TO s;
SELECT fence_assert('pk', 'gy', 1, :'w1');
UPDATE odd SET ok = 'y' RETURNING gen;
ROLLBACK;

-- Tables that cannot be protected, each with the reason.
CREATE TEMP TABLE temporary(id text NOT NULL);
CREATE UNLOGGED TABLE unlogged(id text NOT NULL);
CREATE VIEW view_of_it AS SELECT ok AS id FROM odd;
CREATE MATERIALIZED VIEW matview_of_it AS SELECT ok AS id FROM odd;
CREATE SEQUENCE sequence_of_it;
CREATE TYPE type_of_it AS (id text);
CREATE TABLE parent(id text NOT NULL);
CREATE TABLE child() INHERITS (parent);
CREATE TABLE parts(id text NOT NULL) PARTITION BY LIST (id);
CREATE TABLE parts_logged PARTITION OF parts FOR VALUES IN ('a');
CREATE UNLOGGED TABLE parts_unlogged PARTITION OF parts FOR VALUES IN ('b');
CREATE FOREIGN DATA WRAPPER nothing;
CREATE SERVER nowhere FOREIGN DATA WRAPPER nothing;
CREATE FOREIGN TABLE far(id text NOT NULL) SERVER nowhere;
CREATE TABLE far_parts(id text NOT NULL) PARTITION BY LIST (id);
CREATE FOREIGN TABLE far_part PARTITION OF far_parts FOR VALUES IN ('a') SERVER nowhere;
CREATE INDEX index_of_it ON odd(ok);
CREATE FUNCTION try_table(name text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM fence.fence_protect(name::regclass, 'pk', '["id"]');
  RETURN name || ': protected';
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ' ' || SQLERRM;
END
$$;
SELECT try_table(name) FROM unnest(ARRAY['temporary', 'unlogged', 'view_of_it', 'matview_of_it', 'sequence_of_it', 'type_of_it', 'parent', 'child',
  'parts', 'parts_logged', 'far', 'far_parts', 'far_part', 'index_of_it', 'pg_class', 'pg_toast.pg_toast_2618',
  'fence_internal.record', 'fence.fenced_append', 'fence.oplog_entries', 'missing', '4294967295']) AS name;
-- Not given a partition that is unlogged, its root can be.
DROP TABLE parts_unlogged;
SELECT try_table('parts');

-- Arguments that are no arguments.
CREATE FUNCTION try_protect(VARIADIC arguments text[]) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM fence.fence_protect(arguments[1]::regclass, arguments[2], arguments[3]::jsonb, arguments[4], arguments[5], arguments[6]);
  RETURN 'protected';
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ' ' || SQLERRM;
END
$$;
CREATE TABLE plain(id text NOT NULL, other text NOT NULL);
SELECT try_protect(NULL, 'pk', '["id"]', NULL, 'epoch', 'refuse');
SELECT try_protect('plain', NULL, '["id"]', NULL, 'epoch', 'refuse');
SELECT try_protect('plain', '', '["id"]', NULL, 'epoch', 'refuse');
SELECT try_protect('plain', repeat('x', 256), '["id"]', NULL, 'epoch', 'refuse');
SELECT left(try_protect('plain', 'pk', columns, NULL, 'epoch', 'refuse'), 70), left(columns, 40) FROM unnest(ARRAY[
  NULL, '"id"', '{}', '{"id": 1}', 'null', '1', '[1]', '[null]', '[["id"]]', '[""]', '["id", "id"]', '["id", 1]', '[]',
  jsonb_build_array(repeat('x', 64))::text, (SELECT jsonb_agg('c' || n)::text FROM generate_series(1, 33) AS n)]) AS columns;
SELECT try_protect('plain', 'pk', '["id"]', 'a', 'epoch', 'refuse');
SELECT try_protect('plain', 'pk', '[]', '', 'epoch', 'refuse');
SELECT try_protect('plain', 'pk', '[]', repeat('x', 256), 'epoch', 'refuse');
SELECT try_protect('plain', 'pk', '["id"]', NULL, authority, 'refuse'), authority FROM unnest(ARRAY[NULL, '', 'Epoch', 'epoch ', 'nothing', 'shard', 'delegation', 'any']) AS authority;
SELECT try_protect('plain', 'pk', '["id"]', NULL, 'epoch', policy), policy FROM unnest(ARRAY[NULL, '', 'REFUSE', 'both']) AS policy;
SELECT relation FROM fence_protected WHERE relation = 'plain'::regclass;
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'plain'::regclass;

-- Repeated with other settings: the last one counts, in one row.
SELECT try_protect('plain', 'pk', '["id"]', NULL, 'epoch', 'refuse');
SELECT try_protect('plain', 'pk2', '["other"]', NULL, 'epoch', 'apply');
SELECT * FROM fence_protected WHERE relation = 'plain'::regclass;
SELECT try_protect('plain', 'pk2', '[]', 'all', 'epoch', 'refuse');
SELECT * FROM fence_protected WHERE relation = 'plain'::regclass;
SELECT tgname, tgenabled, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'plain'::regclass ORDER BY tgname;
-- Rolled back, to a savepoint or at all, the former ones do.
BEGIN;
SAVEPOINT s;
SELECT try_protect('plain', 'pk', '["id"]', NULL, 'epoch', 'refuse');
SAVEPOINT t;
INSERT INTO plain VALUES ('one', 'x');
ROLLBACK TO t;
ROLLBACK TO s;
INSERT INTO plain VALUES ('one', 'x');
ROLLBACK;
CALL claim_keys('x');
BEGIN;
SELECT fence_unprotect('plain');
INSERT INTO plain VALUES ('one', 'x') RETURNING id;
ROLLBACK;
INSERT INTO plain VALUES ('one', 'x');
SELECT count(*) FROM plain;
BEGIN;
SELECT try_protect('plain', 'pk', '["id"]', NULL, 'epoch', 'refuse');
SELECT fence_assert('pk', 'one', 1, :'w1');
INSERT INTO plain VALUES ('one', 'x') RETURNING id;
COMMIT;
-- Not while a statement or a cursor is at it, or events of it wait.
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM plain;
FETCH c;
SELECT try_protect('plain', 'pk', '["other"]', NULL, 'epoch', 'refuse');
SELECT fence_unprotect('plain');
ROLLBACK;
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE CONSTRAINT TRIGGER later AFTER UPDATE ON plain DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION nothing();
BEGIN;
SELECT fence_assert('pk', 'one', 1, :'w1');
UPDATE plain SET other = 'y';
SELECT fence_unprotect('plain');
ROLLBACK;
DROP TRIGGER later ON plain;

-- A key column that is renamed, changed or gone: nobody can tell whose the rows are.
INSERT INTO plain VALUES ('two', 'x');
ALTER TABLE plain RENAME COLUMN id TO key;
UPDATE plain SET other = 'y';
DELETE FROM plain;
ALTER TABLE plain RENAME COLUMN key TO id;
ALTER TABLE plain ALTER COLUMN id DROP NOT NULL;
UPDATE plain SET other = 'y';
ALTER TABLE plain ALTER COLUMN id SET NOT NULL;
ALTER TABLE plain ALTER COLUMN id TYPE varchar(300);
UPDATE plain SET other = 'y';
ALTER TABLE plain ALTER COLUMN id TYPE char(3);
UPDATE plain SET other = 'y';
ALTER TABLE plain ALTER COLUMN id TYPE text COLLATE any_case;
UPDATE plain SET other = 'y';
ALTER TABLE plain DROP COLUMN id;
UPDATE plain SET other = 'y';
-- Also of one who has asserted.
BEGIN;
SELECT fence_assert('pk', 'one', 1, :'w1');
UPDATE plain SET other = 'y';
ROLLBACK;
SELECT try_protect('plain', 'pk', '["other"]', NULL, 'epoch', 'refuse');
BEGIN;
SELECT fence_assert('pk', 'x', 1, :'w1');
UPDATE plain SET other = other RETURNING other;
ROLLBACK;
-- A rename of the table, or of its schema, changes nothing.
ALTER TABLE plain RENAME TO renamed;
CREATE SCHEMA elsewhere;
ALTER TABLE renamed SET SCHEMA elsewhere;
DELETE FROM elsewhere.renamed;
SELECT relation, key_columns FROM fence_protected WHERE relation = 'elsewhere.renamed'::regclass;

-- A row that was there before with no key: nobody changes it while the table is protected.
CREATE TABLE before(id text NOT NULL);
INSERT INTO before VALUES (''), (repeat('x', 256));
SELECT fence_protect('before', 'pk', '["id"]');
UPDATE before SET id = 'one';
DELETE FROM before;

-- What is judged is the row as it is stored, whatever a trigger makes of it.
CREATE TABLE changed(id text NOT NULL, v int);
CREATE FUNCTION to_other() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.id := 'x';
  RETURN NEW;
END
$$;
SELECT fence_protect('changed', 'pk', '["id"]');
CREATE TRIGGER zzz BEFORE INSERT OR UPDATE ON changed FOR EACH ROW EXECUTE FUNCTION to_other();
BEGIN;
SELECT fence_assert('pk', 'one', 1, :'w1');
SAVEPOINT s;
INSERT INTO changed VALUES ('one', 1);
ROLLBACK TO s;
SELECT fence_assert('pk', 'x', 1, :'w1');
INSERT INTO changed VALUES ('other', 1) RETURNING id;
COMMIT;

-- TOAST: a key and a row that do not fit into a page.
CREATE TABLE toasted(id text NOT NULL, payload text);
ALTER TABLE toasted ALTER COLUMN id SET STORAGE EXTERNAL, ALTER COLUMN payload SET STORAGE EXTERNAL;
INSERT INTO toasted VALUES (repeat('x', 100000), '');
SELECT fence_protect('toasted', 'pk', '["id"]');
DELETE FROM toasted;
INSERT INTO toasted VALUES ('one', repeat('y', 100000));
BEGIN;
SELECT fence_assert('pk', 'one', 1, :'w1');
INSERT INTO toasted VALUES ('one', repeat('y', 100000));
UPDATE toasted SET payload = payload || 'z' WHERE id = 'one' RETURNING length(payload);
DELETE FROM toasted WHERE id = 'one';
COMMIT;
-- A column that was added after the rows, with a default that they do not store.
CREATE TABLE grown(v int);
INSERT INTO grown VALUES (1);
ALTER TABLE grown ADD COLUMN id text NOT NULL DEFAULT 'one';
SELECT fence_protect('grown', 'pk', '["id"]');
DELETE FROM grown;
BEGIN;
SELECT fence_assert('pk', 'one', 1, :'w1');
DELETE FROM grown RETURNING id;
ROLLBACK;

-- fence_unprotect, also of what is not there any more.
SELECT fence_unprotect(NULL);
SELECT fence_unprotect('odd');
SELECT fence_unprotect('odd');
SELECT fence_unprotect(0);
SELECT oid AS dropped FROM pg_class WHERE oid = 'grown'::regclass \gset
DROP TABLE grown;
SELECT count(*) FROM fence_protected WHERE relation = :dropped;
SELECT fence_unprotect(:dropped);
SELECT count(*) FROM fence_protected WHERE relation = :dropped;
SELECT fence_unprotect('parts_logged');
SELECT fence_unprotect('parts');
SELECT count(*) FROM pg_trigger WHERE tgrelid IN ('parts'::regclass, 'parts_logged'::regclass, 'odd'::regclass);
INSERT INTO parts VALUES ('a');

-- Who may: the owner of the table, given EXECUTE.
CREATE ROLE pk_owner;
CREATE ROLE pk_admin;
CREATE TABLE theirs(id text NOT NULL);
ALTER TABLE theirs OWNER TO pk_owner;
SET ROLE pk_owner;
SELECT fence.fence_protect('theirs', 'pk', '["id"]');
RESET ROLE;
GRANT USAGE ON SCHEMA fence TO pk_owner, pk_admin;
GRANT EXECUTE ON FUNCTION fence.fence_protect, fence.fence_unprotect TO pk_admin;
SET ROLE pk_owner;
SELECT fence.fence_protect('theirs', 'pk', '["id"]');
RESET ROLE;
SET ROLE pk_admin;
SELECT fence.fence_protect('theirs', 'pk', '["id"]');
RESET ROLE;
GRANT pk_admin TO pk_owner;
SET ROLE pk_owner;
SELECT fence.fence_protect('theirs', 'pk', '["id"]');
INSERT INTO theirs VALUES ('one');
RESET ROLE;
SET ROLE pk_admin;
SELECT fence.fence_unprotect('theirs');
RESET ROLE;
SET ROLE pk_owner;
SELECT fence.fence_unprotect('theirs');
RESET ROLE;

-- A trigger of the user's own that happens to have one of Fence's names is nobody's to drop.
CREATE TABLE named(id text NOT NULL);
CREATE TRIGGER fence_rows BEFORE INSERT ON named FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
SELECT fence_protect('named', 'pk', '["id"]');
ALTER TRIGGER fence_rows ON named RENAME TO theirs;
SELECT fence_protect('named', 'pk', '["id"]');
SELECT tgname FROM pg_trigger WHERE tgrelid = 'named'::regclass ORDER BY tgname;
DROP TABLE named;
DROP SCHEMA elsewhere CASCADE;
DROP TABLE typed, two, whole, odd, unlogged, parent, child, parts, far_parts, before, changed, toasted, theirs CASCADE;
DROP FOREIGN DATA WRAPPER nothing CASCADE;
DROP SEQUENCE sequence_of_it;
DROP TYPE type_of_it, mood CASCADE;
DROP DOMAIN name_of;
DROP COLLATION any_case;
DROP FUNCTION key_by, keys_of, try_column, try_table, try_protect, nothing, to_other;
DROP PROCEDURE claim_keys;
SELECT fence_unprotect(oid) FROM (SELECT relation::oid AS oid FROM fence_protected WHERE namespace LIKE 'pk%' ORDER BY relation) AS left_over;
SELECT count(*) FROM fence_protected WHERE namespace LIKE 'pk%';
DROP OWNED BY pk_owner, pk_admin;
DROP ROLE pk_owner, pk_admin;
