-- A writer is a capability: M8, P62. What one can read of it, or is told, opens nothing.

\set w1 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'
\set w2 '22222222-2222-4222-8222-222222222222'
SET search_path = fence, public;
CREATE ROLE capability_thief IN ROLE pg_read_all_data;
SELECT fence_grant_writer('capability_thief', 'cap');
SELECT oplog_metadata_upsert('cap', 'k', 7, :'w1');
SELECT fenced_append('cap', 'k', 7, :'w1', 1, 'one');

-- Given a role that may claim and append in the namespace and reads everything, Fence's
-- own tables included, and wants to write as the owner without a takeover.
SET ROLE capability_thief;
\set VERBOSITY terse
-- P62: out of a view.
SELECT fenced_append('cap', 'k', (SELECT epoch FROM oplog_metadata), (SELECT writer FROM oplog_metadata), 2, 'x');
SELECT fenced_append('cap', 'k', (SELECT epoch FROM oplog_status), (SELECT writer FROM oplog_status), 2, 'x');
INSERT INTO fenced_append SELECT namespace, key, epoch, writer, 2, 'x' FROM oplog_metadata;
SELECT oplog_metadata_upsert('cap', 'k', 7, (SELECT writer FROM oplog_metadata));
SELECT fence_check('cap', 'k', 7, (SELECT writer FROM oplog_metadata));
-- Out of the table: the hash, which looks like a UUID, and it by halves.
SELECT fenced_append('cap', 'k', 7, (SELECT encode(writer, 'hex') FROM fence_internal.record WHERE namespace = 'cap'), 2, 'x');
SELECT fenced_append('cap', 'k', 7, (SELECT repeat(encode(substr(writer, 1, 8), 'hex'), 2) FROM fence_internal.record WHERE namespace = 'cap'), 2, 'x');
SELECT fenced_append('cap', 'k', 7, (SELECT encode(substr(writer, 9, 8), 'hex') FROM fence_internal.record WHERE namespace = 'cap'), 2, 'x');
-- Out of the locks that its open transaction shows.
RESET ROLE;
BEGIN;
SELECT fenced_append('cap', 'k', 7, :'w1', 2, 'two');
SELECT classid::bigint::text || ' ' || objid::bigint::text AS lock FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 20450 AND pid = pg_backend_pid() \gset
ROLLBACK;
SET ROLE capability_thief;
SELECT fenced_append('cap', 'k', 7, lpad(to_hex(split_part(:'lock', ' ', 1)::bigint) || to_hex(split_part(:'lock', ' ', 2)::bigint), 32, '0'), 2, 'x');
-- Out of refusals: their message, detail and hint, and the answer of the quiet claim.
DO $$
DECLARE
  message text;
  detail text;
  hint text;
  tried int := 0;
  word text;
BEGIN
  BEGIN
    PERFORM fence.oplog_metadata_upsert('cap', 'k', 7, '22222222-2222-4222-8222-222222222222');
  EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
  END;
  FOR word IN
    SELECT DISTINCT w FROM regexp_split_to_table(message || ' ' || detail || ' ' || hint, '[^[:alnum:]-]+') AS w
  LOOP
    BEGIN
      PERFORM fence.fence_check('cap', 'k', 7, word);
      RAISE NOTICE 'accepted: %', word;
    EXCEPTION WHEN SQLSTATE 'ZF010' OR SQLSTATE 'ZF002' THEN
      tried := tried + 1;
    END;
  END LOOP;
  RAISE NOTICE 'enough words: %', tried > 20;
END
$$;
SELECT fence_check('cap', 'k', 7, try_oplog_metadata_upsert('cap', 'k', 7, :'w2')->>'stored_writer');
-- A fingerprint is 8 digits of 64; nobody makes a writer of it.
SELECT fenced_append('cap', 'k', 7, (SELECT repeat(writer, 4) FROM oplog_metadata), 2, 'x');
SELECT fenced_append('cap', 'k', 7, (SELECT rpad(writer, 32, '0') FROM oplog_metadata), 2, 'x');
\set VERBOSITY default

-- Nothing that a role can read has the writer in it: no table or view of Fence, none of
-- the locks.
RESET ROLE;
SELECT count(*) AS rows_with_the_writer FROM (
  SELECT row_to_json(r)::text AS seen FROM fence_internal.record AS r
  UNION ALL SELECT row_to_json(e)::text FROM fence_internal.entry AS e
  UNION ALL SELECT row_to_json(v)::text FROM oplog_metadata AS v
  UNION ALL SELECT row_to_json(v)::text FROM oplog_status AS v
  UNION ALL SELECT row_to_json(v)::text FROM oplog_entries AS v
  UNION ALL SELECT row_to_json(h)::text FROM fence_holders AS h
  UNION ALL SELECT row_to_json(l)::text FROM pg_locks AS l
) AS everything
WHERE translate(seen, '-', '') LIKE '%' || translate(:'w1', '-', '') || '%'
  OR seen LIKE '%' || encode(uuid_send(:'w1'), 'hex') || '%';

-- The owner was never disturbed.
SELECT fenced_append('cap', 'k', 7, :'w1', 2, 'two');
SELECT idx, epoch, convert_from(payload, 'UTF8') FROM oplog_read('cap', 'k');
DELETE FROM fence_internal.access WHERE role = 'capability_thief'::regrole;
DROP OWNED BY capability_thief;
DROP ROLE capability_thief;
