-- A role with a right to one namespace puts a function of its own, cheaper than any other,
-- into WHERE: all that the function is shown belongs to that namespace.

\set w1 '11111111-1111-4111-8111-111111111111'
\set w2 '22222222-2222-4222-8222-222222222222'
\set VERBOSITY terse
\o /dev/null
SELECT fence.fence_namespace_set('leaky', 'optional');
SELECT fence.fence_namespace_set('leaky secret', 'optional');
SELECT fence.oplog_metadata_upsert('leaky', 'k', 1, :'w1');
SELECT fence.fenced_append('leaky', 'k', 1, :'w1', 1, 'open');
SELECT fence.fenced_put('leaky', 'k', 1, :'w1', 'n', 'open');
SELECT fence.fenced_append('leaky', 'k', 0, :'w1', 2, 'stale');
SELECT fence.oplog_metadata_upsert('leaky secret', 'hidden', 7, :'w2');
SELECT fence.fenced_append('leaky secret', 'hidden', 7, :'w2', 1, 'hidden');
SELECT fence.fenced_put('leaky secret', 'hidden', 7, :'w2', 'hidden', 'hidden');
SELECT fence.fenced_append('leaky secret', 'hidden', 0, :'w2', 2, 'stale');
SELECT fence.oplog_metadata_upsert('leaky secret', 'gone', 7, :'w2');
SELECT fence.fenced_delete('leaky secret', 'gone', 7, :'w2');
\o
CREATE ROLE leaky_writer;
GRANT CREATE ON SCHEMA public TO leaky_writer;
SELECT fence.fence_grant_writer('leaky_writer', 'leaky');
SET ROLE leaky_writer;
CREATE FUNCTION public.leak(shown text, other text DEFAULT '') RETURNS boolean IMMUTABLE LANGUAGE plpgsql COST 0.0000001
AS $$BEGIN RAISE NOTICE 'shown: %', shown; RETURN true; END$$;
CREATE OPERATOR public.<<< (LEFTARG = text, RIGHTARG = text, FUNCTION = public.leak, RESTRICT = scalarltsel);

SELECT namespace FROM fence.fence_namespaces WHERE leak(namespace);
SELECT namespace FROM fence.fence_namespaces AS v WHERE leak(v::text);
SELECT namespace FROM fence.oplog_metadata WHERE leak(namespace || ' ' || key);
SELECT namespace FROM fence.oplog_metadata AS v WHERE leak(v::text);
SELECT key FROM fence.oplog_entries WHERE leak(namespace) AND leak(idx::text);
SELECT key FROM fence.oplog_entries AS v WHERE leak(v::text);
SELECT key FROM fence.oplog_status WHERE leak(namespace) AND leak(last_idx::text);
SELECT key FROM fence.oplog_status AS v WHERE leak(v::text);
SELECT key FROM fence.fenced_values WHERE leak(namespace) AND leak(name);
SELECT key FROM fence.fenced_values AS v WHERE leak(v::text);
SELECT key FROM fence.fence_refusals WHERE leak(namespace || ' ' || key) AND namespace ~ 'leaky';
SELECT count(*) FROM fence.fence_stat AS v WHERE leak((v::text ~ 'leaky')::text) AND code = 'ZF001';
SELECT count(*) FROM fence.fenced_append AS v WHERE leak(v::text);
SELECT count(*) FROM fence.fence_grants WHERE leak(namespace);
-- An open transaction on a key of each namespace.
RESET ROLE;
BEGIN;
SELECT fence.fenced_append('leaky', 'k', 1, :'w1', 2, 'open');
SELECT fence.fenced_append('leaky secret', 'hidden', 7, :'w2', 2, 'hidden');
SET ROLE leaky_writer;
SELECT key FROM fence.fence_holders WHERE leak(namespace || ' ' || key);
SELECT key FROM fence.fence_holders AS v WHERE leak((v::text ~ 'hidden')::text);
ROLLBACK;

-- The planner shows the statistics of a table to an operator.
RESET ROLE;
\o /dev/null
SELECT fence.fence_namespace_set('leaky third', 'optional');
ANALYZE fence_internal.namespace, fence_internal.record;
\o
SET ROLE leaky_writer;
SELECT namespace FROM fence.fence_namespaces WHERE namespace <<< 'x';
SELECT namespace FROM fence.oplog_metadata WHERE namespace <<< 'x';
SELECT key FROM fence.oplog_status WHERE namespace <<< 'x';

RESET ROLE;
SELECT fence.fence_revoke_writer('leaky_writer');
DROP OWNED BY leaky_writer;
DROP ROLE leaky_writer;
