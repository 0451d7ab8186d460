-- Values, trims and deletes in transactions: what a refusal leaves behind (nothing), also
-- where it is swallowed.

\set w1 '11111111-1111-4111-8111-111111111111'
\set w2 '22222222-2222-4222-8222-222222222222'
SET client_min_messages = warning;
SET search_path = fence, public;
CREATE TABLE content_work(what text);

SELECT oplog_metadata_upsert('content', 'k', 2, :'w2');
SELECT fenced_append_many('content', 'k', 2, :'w2', '{1,2,3}', '{a,b,c}');
SELECT fenced_put('content', 'k', 2, :'w2', 'state', 'begun');

-- Each of them, refused and swallowed: the COMMIT is refused, and the work beside it goes.
\set VERBOSITY terse
BEGIN;
SAVEPOINT s;
SELECT fenced_put('content', 'k', 1, :'w1', 'state', 'late');
ROLLBACK TO s;
INSERT INTO content_work VALUES ('beside a put');
SELECT fenced_remove('content', 'k', 1, :'w1', 'state');
ROLLBACK TO s;
SELECT fence_check('content', 'k', 2, :'w2');
ROLLBACK TO s;
COMMIT;
DO $$
BEGIN
  BEGIN
    PERFORM fence.fenced_drop_prefix('content', 'k', 1, '11111111-1111-4111-8111-111111111111', 3);
  EXCEPTION WHEN OTHERS THEN
    NULL;
  END;
  INSERT INTO content_work VALUES ('beside a trim');
END
$$;
DO $$
BEGIN
  PERFORM fence.fenced_remove('content', 'k', 1, '11111111-1111-4111-8111-111111111111', 'state');
EXCEPTION WHEN OTHERS THEN
  INSERT INTO content_work VALUES ('beside a remove');
END
$$;
SELECT * FROM content_work;
SELECT name, epoch, convert_from(value, 'UTF8') AS value FROM fenced_values WHERE namespace = 'content';
SELECT first_idx, last_idx, length FROM oplog_status WHERE namespace = 'content';

-- What is refused for another reason fails its statement only.
BEGIN;
SAVEPOINT s;
SELECT fenced_put('content', 'k', 2, :'w2', '', 'x');
ROLLBACK TO s;
SELECT fenced_put('content', 'k', 2, :'w2', 'state', NULL);
ROLLBACK TO s;
SELECT fenced_drop_prefix('content', 'k', 2, :'w2', -1);
ROLLBACK TO s;
SELECT fenced_delete('content', 'k', 2, :'w2');
ROLLBACK TO s;
SELECT fenced_publish('content', 'k', 2, :'w2', 'content', 'staged', 1);
ROLLBACK TO s;
SELECT fence_namespace_set('content', 'unfenced');
ROLLBACK TO s;
SELECT fence_purge('content', 0);
ROLLBACK TO s;
SELECT fence_reset('content', 'k', 1);
ROLLBACK TO s;
INSERT INTO content_work VALUES ('kept');
COMMIT;
SELECT * FROM content_work;
\set VERBOSITY default

-- Trims, appends and values of one transaction see each other, and go together.
BEGIN;
SELECT fenced_append('content', 'k', 2, :'w2', 4, 'd');
SELECT fenced_drop_prefix('content', 'k', 2, :'w2', 3);
SELECT fenced_append('content', 'k', 2, :'w2', 5, 'e');
SELECT fenced_put('content', 'k', 2, :'w2', 'state', 'trimmed');
SELECT fenced_put('content', 'k', 2, :'w2', 'state', 'trimmed');
SELECT first_idx, last_idx, length FROM oplog_status WHERE namespace = 'content';
ROLLBACK;
SELECT first_idx, last_idx, length FROM oplog_status WHERE namespace = 'content';
BEGIN;
SAVEPOINT s;
SELECT fenced_drop_prefix('content', 'k', 2, :'w2', 3);
ROLLBACK TO s;
SELECT fenced_drop_prefix('content', 'k', 2, :'w2', 1);
SELECT fenced_remove('content', 'k', 2, :'w2', 'state');
COMMIT;
SELECT first_idx, last_idx, length FROM oplog_status WHERE namespace = 'content';
SELECT count(*) FROM fenced_values WHERE namespace = 'content';

-- A large value, and one that looks like another.
SELECT fenced_put('content', 'k', 2, :'w2', 'large', decode(repeat('5a', 1000000), 'hex'));
SELECT fenced_put('content', 'k', 2, :'w2', 'large', decode(repeat('5a', 1000000), 'hex'));
SELECT fenced_put('content', 'k', 2, :'w2', 'large', decode(repeat('5a', 999999) || '5b', 'hex'));
SELECT name, length(value) FROM fenced_values WHERE namespace = 'content';

-- A value that is put over and over does not pile up.
DO $$
BEGIN
  FOR i IN 1..100 LOOP
    PERFORM fence.fenced_put('content', 'k', 2, '22222222-2222-4222-8222-222222222222', 'counter', i::text::bytea);
  END LOOP;
END
$$;
SELECT count(*), max(convert_from(value, 'UTF8')) AS newest FROM fence_internal.value
WHERE namespace = 'content' AND name = 'counter';
-- Nor in the index, though one transaction cannot remove its own old rows: most of them have
-- no entry there, and a put does not go through them.
BEGIN;
DO $$
BEGIN
  FOR i IN 1..4000 LOOP
    PERFORM fence.fenced_put('content', 'k', 2, '22222222-2222-4222-8222-222222222222', 'counter', i::text::bytea);
  END LOOP;
END
$$;
SELECT pg_stat_get_xact_tuples_hot_updated('fence_internal.value'::regclass) > 3900 AS on_their_page;
COMMIT;
-- A removal in between, and what a savepoint takes back.
BEGIN;
SELECT fenced_put('content', 'k', 2, :'w2', 'counter', 'kept');
SAVEPOINT s;
SELECT fenced_put('content', 'k', 2, :'w2', 'counter', 'undone');
SELECT fenced_remove('content', 'k', 2, :'w2', 'counter');
SELECT fenced_put('content', 'k', 2, :'w2', 'counter', 'undone');
ROLLBACK TO s;
SELECT fenced_put('content', 'k', 2, :'w2', 'counter', 'kept');
COMMIT;
SELECT convert_from(value, 'UTF8') FROM fenced_values WHERE namespace = 'content' AND name = 'counter';
SELECT fenced_delete('content', 'k', 2, :'w2');
SELECT count(*) FROM fence_internal.value WHERE namespace = 'content';
SELECT count(*) FROM fence_internal.entry WHERE namespace = 'content';
SELECT count(*) FROM fence_internal.trim_mark WHERE namespace = 'content';
DROP TABLE content_work;
