-- The calls as PostgreSQL's clients make them: named arguments, prepared statements,
-- the server's own types.

\set w1 '11111111-1111-4111-8111-111111111111'
\set w2 '22222222-2222-4222-8222-222222222222'
SET search_path = fence, public;

-- The signatures. Names are part of the contract.
SELECT proname || '(' || pg_get_function_arguments(oid) || ') -> ' || pg_get_function_result(oid) AS call
FROM pg_proc WHERE pronamespace = 'fence'::regnamespace ORDER BY proname COLLATE "C";
SELECT c.relname AS view, string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' ORDER BY a.attnum) AS columns
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0
WHERE c.relnamespace = 'fence'::regnamespace AND c.relkind IN ('v', 'f')
GROUP BY c.relname ORDER BY c.relname COLLATE "C";

-- Named arguments, in any order.
SELECT oplog_metadata_upsert(epoch => 3, writer => :'w1', key => 'k', namespace => 'calls');
SELECT fenced_append(payload => 'one', idx => 1, namespace => 'calls', key => 'k', epoch => 3, writer => :'w1');
SELECT try_oplog_metadata_upsert(namespace => 'calls', key => 'k', epoch => 3, writer => :'w1');
SELECT oplog_metadata_upsert_many(namespace => 'calls', claims => '[{"key": "k", "epoch": "3"}]', writer => :'w1');
SELECT fence_check(namespace => 'calls', key => 'k', epoch => 3, writer => :'w1');
SELECT * FROM oplog_read(namespace => 'calls', key => 'k', max => 1, to_idx => 5, from_idx => 1);
SELECT fence_fingerprint(writer => :'w1');
SELECT fence_drain(namespace => 'calls', key => 'k', epoch => 3, writer => :'w1', timeout_ms => 0);
SELECT fence_evict(namespace => 'calls', key => 'k', epoch => 3, writer => :'w1');

-- Prepared, with plans made for the values and with one plan for all: the answer is that
-- of the moment, not of the plan.
PREPARE append(text, bigint, text, bigint, bytea) AS SELECT fenced_append('calls', $1, $2, $3, $4, $5);
PREPARE bulk(text, bigint, text, bigint, bytea) AS INSERT INTO fenced_append VALUES ('calls', $1, $2, $3, $4, $5);
PREPARE many(text, bigint, text, bigint[], bytea[]) AS SELECT fenced_append_many('calls', $1, $2, $3, $4, $5);
PREPARE own(text, bigint, text) AS SELECT fence_check('calls', $1, $2, $3);
PREPARE claim(text, bigint, text) AS SELECT oplog_metadata_upsert('calls', $1, $2, $3);
PREPARE entries(text, bigint) AS SELECT idx FROM oplog_read('calls', $1, $2);
SET plan_cache_mode = force_generic_plan;
EXECUTE append('k', 3, :'w1', 2, 'two');
EXECUTE bulk('k', 3, :'w1', 3, 'three');
EXECUTE many('k', 3, :'w1', '{4,5}', '{four,five}');
EXECUTE own('k', 3, :'w1');
EXECUTE entries('k', 2);
EXECUTE claim('k', 4, :'w2');
EXECUTE append('k', 3, :'w1', 6, 'six');
EXECUTE bulk('k', 3, :'w1', 6, 'six');
EXECUTE many('k', 3, :'w1', '{6,7}', '{six,seven}');
EXECUTE own('k', 3, :'w1');
EXECUTE claim('k', 3, :'w1');
SET plan_cache_mode = force_custom_plan;
EXECUTE append('k', 3, :'w1', 6, 'six');
EXECUTE append('k', 4, :'w2', 6, 'six');
RESET plan_cache_mode;
EXECUTE entries('k', 4);
DEALLOCATE ALL;

-- One statement with many calls. A stale one among them, and none is kept.
SELECT fenced_append('calls', 'k', 4, :'w2', i, 'x') FROM generate_series(7, 9) AS i;
SELECT fenced_append('calls', 'k', 4, :'w2', 10, 'x'), fenced_append('calls', 'k', 4, :'w2', 11, 'x');
SELECT fenced_append('calls', 'k', CASE i WHEN 14 THEN 3 ELSE 4 END, :'w2', i, 'x') FROM generate_series(12, 15) AS i;
SELECT fenced_append('calls', 'k', 4, :'w2', 16, 'x') WHERE false;
SELECT last_idx, length FROM oplog_status WHERE namespace = 'calls' AND key = 'k';
-- Where a call can stand, it is checked: in a condition, a view, a cursor that outlives
-- its transaction, EXPLAIN, CREATE TABLE AS, a function of SQL.
SELECT 'stored' WHERE fenced_append('calls', 'k', 4, :'w2', 17, 'x') = 17;
SELECT 'stored' WHERE fenced_append('calls', 'k', 3, :'w1', 18, 'x') = 18;
CREATE VIEW calls_view AS SELECT fenced_append('calls', 'k', 3, '11111111-1111-4111-8111-111111111111', 18, 'x');
SELECT * FROM calls_view;
DROP VIEW calls_view;
DECLARE c CURSOR WITH HOLD FOR SELECT fenced_append('calls', 'k', 3, :'w1', 18, 'x');
DECLARE c CURSOR WITH HOLD FOR SELECT fenced_append('calls', 'k', 4, :'w2', 18, 'x');
FETCH ALL FROM c;
CLOSE c;
EXPLAIN (COSTS off) SELECT fenced_append('calls', 'k', 3, :'w1', 19, 'x');
EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) SELECT fenced_append('calls', 'k', 3, :'w1', 19, 'x');
CREATE TABLE calls_made AS SELECT fenced_append('calls', 'k', 3, :'w1', 19, 'x');
SELECT to_regclass('calls_made');
CREATE FUNCTION calls_inlined() RETURNS bigint LANGUAGE sql
AS $$SELECT fence.fenced_append('calls', 'k', 3, '11111111-1111-4111-8111-111111111111', 19, 'x')$$;
SELECT calls_inlined();
DROP FUNCTION calls_inlined();
SELECT last_idx FROM oplog_status WHERE namespace = 'calls' AND key = 'k';
-- Two statements sent as one are one transaction.
SELECT fenced_append('calls', 'k', 4, :'w2', 19, 'x')\; SELECT fenced_append('calls', 'k', 3, :'w1', 20, 'x');
SELECT oplog_metadata_upsert('calls', 'k', 5, :'w1')\; SELECT 1;
SELECT epoch, last_idx FROM oplog_status WHERE namespace = 'calls' AND key = 'k';

-- What is said as NULL has no default.
\set VERBOSITY terse
SELECT fence_drain('calls', 'k', 4, :'w2', NULL);
SELECT fence_drain('calls', 'k', 4, :'w2', -1);
SELECT fence_drain(NULL, 'k', 4, :'w2', 0);
SELECT fence_drain('calls', 'k', NULL, :'w2', 0);
SELECT fence_drain('calls', 'k', 4, NULL, 0);
SELECT fence_evict('calls', NULL, 4, :'w2');
SELECT fence_evict('calls', 'k', 4, 'me');
SELECT oplog_metadata_upsert_many(NULL, '[]', :'w1');
SELECT oplog_metadata_upsert_many('calls', '[]', NULL);
SELECT oplog_metadata_upsert_many('calls', 'null', :'w1');
SELECT oplog_metadata_upsert_many('calls', '5', :'w1');
SELECT oplog_metadata_upsert_many('calls', '[[]]', :'w1');
SELECT oplog_metadata_upsert_many('calls', '[{"key": "a", "epoch": 1e100000}]', :'w1');
SELECT oplog_metadata_upsert_many('calls', '[{"key": "a", "epoch": 9223372036854775808}]', :'w1');
SELECT oplog_metadata_upsert_many('calls', '[{"key": "a", "epoch": {}}]', :'w1');
SELECT * FROM oplog_read('calls', NULL);
-- As current owner or not at all, and it dooms nothing.
SELECT fence_drain('calls', 'k', 3, :'w1', 0);
SELECT fence_drain('calls', 'never', 3, :'w1', 0);
SELECT fence_evict('calls', 'k', 5, :'w1');
SELECT fence_evict('calls', 'k', 4, :'w1');

-- An argument that cannot be comes before all else. Given a stale writer without a right to
-- the namespace, in a transaction that may not write: no call says anything but ZF010.
CREATE ROLE calls_nobody;
GRANT USAGE ON SCHEMA fence TO calls_nobody;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA fence TO calls_nobody;
SELECT DISTINCT call INTO calls_bad FROM unnest(ARRAY['3', '4', '9', 'NULL']) AS epoch, unnest(ARRAY[
  'oplog_metadata_upsert(''calls'', ''k'', E, ''none'')',
  'try_oplog_metadata_upsert(''calls'', '''', E, W)',
  'oplog_metadata_upsert_many(''calls'', ''[{"key": "k", "epoch": -1}]'', W)',
  'oplog_metadata_upsert_many(''calls'', ''[{"key": "k", "epoch": 1}, {"key": "k", "epoch": 1}]'', W)',
  'fenced_append(''calls'', ''k'', E, W, -1, ''x'')',
  'fenced_append(''calls'', ''k'', E, W, 1, NULL)',
  'fenced_append_many(''calls'', ''k'', E, W, ''{-1}'', ''{x}'')',
  'fenced_append_many(''calls'', ''k'', E, W, ''{1,2}'', ''{x}'')',
  'fenced_append_many(''calls'', ''k'', E, W, ''{1}'', ''{x}'', -2)',
  'fenced_append_many(''calls'', ''k'', E, W, ''{}'', ''{}'', -2)',
  'fenced_drop_prefix(''calls'', ''k'', E, W, -1)',
  'fenced_delete(''calls'', NULL, E, W)',
  'fenced_put(''calls'', ''k'', E, W, '''', ''x'')',
  'fenced_put(''calls'', ''k'', E, W, ''n'', NULL)',
  'fenced_remove(''calls'', ''k'', E, W, NULL)',
  'fenced_publish(''calls'', ''k'', E, W, '''', ''s'', 1)',
  'fenced_publish(''calls'', ''k'', E, W, ''calls'', NULL, 1)',
  'fenced_publish(''calls'', ''k'', E, W, ''calls'', ''s'', NULL)',
  'fenced_publish(''calls'', ''k'', E, W, ''calls'', ''k'', 1)',
  'fence_check(''calls'', ''k'', E, NULL)',
  'fence_drain(''calls'', ''k'', E, W, -1)',
  'fence_drain(''calls'', ''k'', E, W, NULL)',
  'fence_evict(''calls'', ''k'', E, ''none'')',
  'fence_namespace_set(''calls'', NULL)',
  'fence_namespace_set(''calls'', ''required'', NULL)',
  'fence_purge(''calls'', NULL)',
  'fence_reset(''calls'', ''k'', -1)',
  'oplog_read(''calls'', ''k'', -1)',
  'oplog_read(''calls'', ''k'', max => -1)',
  'oplog_keys(''calls'', max => -1)',
  'oplog_keys(''calls'', ''p'', repeat(''k'', 256))']) AS form,
  replace(replace(form, 'E', epoch), 'W', quote_literal(:'w1')) AS call;
GRANT SELECT ON calls_bad TO calls_nobody;
BEGIN READ ONLY;
SET LOCAL ROLE calls_nobody;
DO $$
DECLARE
  one text;
  right_code int := 0;
BEGIN
  FOR one IN SELECT call FROM calls_bad ORDER BY call COLLATE "C" LOOP
    BEGIN
      EXECUTE 'SELECT fence.' || one;
      RAISE NOTICE 'done: %', one;
    EXCEPTION
      WHEN SQLSTATE 'ZF010' THEN right_code := right_code + 1;
      WHEN OTHERS THEN RAISE NOTICE '%: %', SQLSTATE, one;
    END;
  END LOOP;
  RAISE NOTICE '% times ZF010', right_code;
END
$$;
COMMIT;
DROP TABLE calls_bad;
DROP OWNED BY calls_nobody;
DROP ROLE calls_nobody;

-- M2: what never gets as far as Fence has the server's codes.
SELECT fenced_append('calls', 'k', 9223372036854775808, :'w2', 1, 'x');
\echo :LAST_ERROR_SQLSTATE
SELECT fenced_append('calls', 'k', '9223372036854775808', :'w2', 1, 'x');
\echo :LAST_ERROR_SQLSTATE
SELECT fenced_append('calls', 'k', 1.5, :'w2', 1, 'x');
\echo :LAST_ERROR_SQLSTATE
SELECT fenced_append('calls', 'k', '4.0', :'w2', 1, 'x');
\echo :LAST_ERROR_SQLSTATE
SELECT fenced_append('calls', 'k', 4, :'w2', 'x', 'x');
\echo :LAST_ERROR_SQLSTATE
SELECT fenced_append('calls', 'k', 4, :'w2', 1, '\x0');
\echo :LAST_ERROR_SQLSTATE
SELECT fenced_append('calls', 'k', 4, '22222222-2222-4222-8222-222222222222'::uuid, 1, 'x');
\echo :LAST_ERROR_SQLSTATE
SELECT fenced_append('calls', 'k', 4, :'w2', 1);
\echo :LAST_ERROR_SQLSTATE
SELECT oplog_metadata_upsert_many('calls', '[{"key": "a"', :'w1');
\echo :LAST_ERROR_SQLSTATE
-- Epochs at both ends.
SELECT fenced_append('calls', 'k', 9223372036854775807, :'w2', 1, 'x');
SELECT fenced_append('calls', 'k', '-9223372036854775808', :'w2', 1, 'x');
SELECT fenced_append('calls', 'k', 4, :'w2', '-9223372036854775808', 'x');
SELECT fenced_append('calls', 'k', 4, '', 1, 'x');
SELECT fenced_append('calls', 'k', 4, repeat('2', 100000), 1, 'x');
SELECT fenced_append(repeat('n', 1000000), 'k', 4, :'w2', 1, 'x');
\set VERBOSITY default
SELECT epoch, last_idx FROM oplog_status WHERE namespace = 'calls' AND key = 'k';
