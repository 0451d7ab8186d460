-- In a database that publishes all tables, Fence's can be updated and deleted from: each
-- has what names a row of it to a subscriber.

\set w1 '11111111-1111-4111-8111-111111111111'
\set w2 '22222222-2222-4222-8222-222222222222'
SELECT current_database() AS here \gset
SET client_min_messages = warning;
CREATE ROLE publication_writer;
CREATE DATABASE publication_test;
\c publication_test
SET client_min_messages = error; -- wal_level need not be logical for this
CREATE EXTENSION fence;
CREATE PUBLICATION everything FOR ALL TABLES;
RESET client_min_messages;

SELECT tablename FROM pg_publication_tables WHERE schemaname = 'fence_internal' ORDER BY tablename COLLATE "C";
SELECT c.relname AS without_identity FROM pg_class AS c
WHERE c.relnamespace = 'fence_internal'::regnamespace AND c.relkind = 'r' AND c.relreplident <> 'f'
  AND (c.relreplident <> 'd' OR NOT EXISTS (SELECT FROM pg_index AS i WHERE i.indrelid = c.oid AND i.indisprimary));

-- Each call once, and the changes of rows that it makes.
SET search_path = fence, public;
SELECT fence_namespace_set('p', 'required');
SELECT fence_namespace_set('p', 'optional');
SELECT oplog_metadata_upsert('p', 'k', 1, :'w1');
SELECT oplog_metadata_upsert('p', 'k', 2, :'w1');
SELECT fenced_append_many('p', 'k', 2, :'w1', '{1,2,3}', '{a,b,c}');
SELECT fenced_append('p', 'k', NULL, NULL, 4, 'd');
SELECT fenced_drop_prefix('p', 'k', 2, :'w1', 1), fenced_drop_prefix('p', 'k', 2, :'w1', 2);
SELECT fenced_put('p', 'k', 2, :'w1', 'n', 'a'), fenced_put('p', 'k', 2, :'w1', 'n', 'b');
SELECT fenced_remove('p', 'k', 2, :'w1', 'n');
SELECT oplog_metadata_upsert('p', 'final', 1, :'w1');
SELECT oplog_metadata_upsert('p', 'stage', 1, :'w1');
SELECT fenced_append('p', 'stage', 1, :'w1', 1, 'a');
SELECT fenced_publish('p', 'final', 1, :'w1', 'p', 'stage', 1);
SELECT fence_reset('p', 'k', 0);
SELECT oplog_metadata_upsert('p', 'k', 1, :'w2');
SELECT fenced_delete('p', 'k', 1, :'w2');
SELECT fence_purge('p', 0);
SELECT fence_grant_writer('publication_writer'), fence_grant_writer('publication_writer', 'p'), fence_grant_reader('publication_writer');
SELECT fence_revoke_writer('publication_writer'), fence_revoke_reader('publication_writer');
SELECT * FROM fence_verify();

\c :here
DROP DATABASE publication_test;
DROP ROLE publication_writer;
