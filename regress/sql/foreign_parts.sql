-- What somebody adds to Fence's own tables and the functions would pass by or fill wrong:
-- each call that needs the table is refused and says what to drop, and none crashes.

\set w1 '11111111-1111-4111-8111-111111111111'
SELECT current_database() AS here \gset
SET client_min_messages = warning;
CREATE DATABASE foreign_test;
\c foreign_test
SET client_min_messages = warning;
CREATE EXTENSION fence;
SET search_path = fence, fence_internal, public;
SELECT oplog_metadata_upsert('f', 'k', 1, :'w1');
SELECT fenced_append('f', 'k', 1, :'w1', 1, 'first');

-- A constraint that the next entry would break.
ALTER TABLE entry ADD CHECK (length(payload) < 6);
SELECT fenced_append('f', 'k', 1, :'w1', 2, 'longer');
\set VERBOSITY terse
SELECT fenced_append_many('f', 'k', 1, :'w1', '{2}', '{longer}');
INSERT INTO fenced_append VALUES ('f', 'k', 1, :'w1', 2, 'longer');
SELECT oplog_metadata_upsert('f', 'k', 2, :'w1');
ALTER TABLE entry DROP CONSTRAINT entry_payload_check;
SELECT fenced_append('f', 'k', 1, :'w1', 2, 'longer');

-- Indexes that need an executor, and such as would refuse rows.
\set VERBOSITY default
CREATE INDEX ON record(lower(key));
SELECT oplog_metadata_upsert('f', 'k', 2, :'w1');
\set VERBOSITY terse
DROP INDEX record_lower_idx;
CREATE UNIQUE INDEX ON value((1));
SELECT fenced_put('f', 'k', 1, :'w1', 'a', 'x');
DROP INDEX value_expr_idx;
CREATE INDEX ON value(value) WHERE name > 'm';
SELECT fenced_put('f', 'k', 1, :'w1', 'a', 'x');
DROP INDEX value_value_idx;
CREATE UNIQUE INDEX ON entry((idx % 100));
SELECT fenced_append('f', 'k', 1, :'w1', 101, 'x');
DROP INDEX entry_expr_idx;
CREATE UNIQUE INDEX ON entry(epoch, idx);
SELECT fenced_append('f', 'k', 1, :'w1', 101, 'x');
DROP INDEX entry_epoch_idx_idx;
ALTER TABLE trim_mark ADD EXCLUDE (trimmed WITH =);
SELECT fenced_drop_prefix('f', 'k', 1, :'w1', 0);
ALTER TABLE trim_mark DROP CONSTRAINT trim_mark_trimmed_excl;
ALTER TABLE namespace ADD UNIQUE (mode) DEFERRABLE;
SELECT fence_namespace_set('g', 'optional');
ALTER TABLE namespace DROP CONSTRAINT namespace_mode_key;
CREATE INDEX ON lineage((generation + 1));
SELECT fence_adopt();
DROP INDEX lineage_expr_idx;
CREATE ROLE foreign_writer;
SELECT fence_grant_writer('foreign_writer', 'f');
CREATE INDEX ON access((NOT may_write));
SELECT fence_grant_writer('foreign_writer', 'g');
SET ROLE foreign_writer;
SELECT fence.fence_check('f', 'k', 1, :'w1');
RESET ROLE;
DROP INDEX access_expr_idx;

-- Foreign keys in both directions, children, parents.
CREATE TABLE public.namespaces(namespace text COLLATE "C" PRIMARY KEY);
INSERT INTO public.namespaces VALUES ('f');
ALTER TABLE record ADD FOREIGN KEY (namespace) REFERENCES public.namespaces;
SELECT oplog_metadata_upsert('f', 'k', 2, :'w1');
ALTER TABLE record DROP CONSTRAINT record_namespace_fkey;
CREATE TABLE public.of_key(namespace text, key text, FOREIGN KEY (namespace, key) REFERENCES record);
SELECT fenced_delete('f', 'k', 1, :'w1');
DROP TABLE public.of_key;
CREATE TABLE public.more() INHERITS (entry);
SELECT fenced_append('f', 'k', 1, :'w1', 3, 'x');
DROP TABLE public.more;
CREATE TABLE public.all_values(name text COLLATE "C");
ALTER TABLE value INHERIT public.all_values;
SELECT fenced_put('f', 'k', 1, :'w1', 'a', 'x');
ALTER TABLE value NO INHERIT public.all_values;

-- What was made otherwise than by the script.
ALTER TABLE record ALTER writer DROP NOT NULL;
SELECT oplog_metadata_upsert('f', 'k', 2, :'w1');
ALTER TABLE record ALTER writer SET NOT NULL;
ALTER TABLE value ALTER value SET NOT NULL;
SELECT fenced_put('f', 'k', 1, :'w1', 'a', 'x');
ALTER TABLE value ALTER value DROP NOT NULL;
BEGIN;
ALTER TABLE record ALTER timeline TYPE bigint;
SELECT fenced_append('f', 'k', 1, :'w1', 3, 'x');
ROLLBACK;
BEGIN;
ALTER TABLE entry DROP CONSTRAINT entry_pkey;
CREATE INDEX entry_pkey ON entry(namespace, key, idx, epoch);
SELECT fenced_append('f', 'k', 1, :'w1', 3, 'x');
ROLLBACK;
DROP INDEX record_deleted;
SELECT fence_purge('f', 0);
CREATE INDEX record_deleted ON record(deleted_at);
SELECT fence_purge('f', 0);
DROP INDEX record_deleted;
CREATE INDEX record_deleted ON record(namespace, deleted_at);
SELECT fence_purge('f', 0);

-- A plain index is filled like any other; and what a table looks like after maintenance
-- is what it was.
CREATE INDEX plain ON value(value);
SELECT fenced_put('f', 'k', 1, :'w1', 'a', 'x'), fenced_put('f', 'k', 1, :'w1', 'b', 'y');
SET enable_seqscan = off;
SELECT name FROM value WHERE value = 'y';
RESET enable_seqscan;
REINDEX TABLE CONCURRENTLY value;
REINDEX TABLE record;
REINDEX INDEX CONCURRENTLY entry_pkey;
VACUUM FULL record, entry, value, lineage, access;
CLUSTER value USING plain;
SELECT fenced_put('f', 'k', 1, :'w1', 'b', 'z');
SELECT oplog_metadata_upsert('f', 'k', 2, :'w1');
SELECT fenced_append('f', 'k', 2, :'w1', 3, 'x');
SELECT name, convert_from(value, 'UTF8') FROM fenced_values ORDER BY name;
-- As a REINDEX CONCURRENTLY that was broken off leaves it.
CREATE UNIQUE INDEX entry_pkey_ccnew ON entry(namespace, key, idx, epoch);
SELECT fenced_append('f', 'k', 2, :'w1', 4, 'x');
SELECT fenced_append('f', 'k', 2, :'w1', 4, 'x');
SELECT fenced_append('f', 'k', 2, :'w1', 4, 'y');

\c :here
DROP DATABASE foreign_test;
DROP ROLE foreign_writer;
