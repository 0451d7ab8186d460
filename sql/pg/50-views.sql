-- What users look at. Each shows the namespaces that the caller may read. They stand on
-- functions and a foreign table of Fence's own, so that a serializable reader makes no
-- good append or claim fail.

CREATE FUNCTION fence_internal.record_table()
RETURNS fdw_handler LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_record_table';
COMMENT ON FUNCTION fence_internal.record_table() IS 'Handler of the foreign table fence_internal.records';
CREATE FOREIGN DATA WRAPPER fence_records HANDLER fence_internal.record_table NO VALIDATOR;
COMMENT ON FOREIGN DATA WRAPPER fence_records IS 'Reads Fence''s records of this database; for fence_internal.records only';
CREATE SERVER fence_records FOREIGN DATA WRAPPER fence_records;
COMMENT ON SERVER fence_records IS 'This database; for fence_internal.records only';
CREATE FOREIGN TABLE fence_internal.records(
  namespace text COLLATE "C",
  key text COLLATE "C",
  epoch bigint,
  writer text,
  deleted boolean,
  hash bigint,
  claimant_hash bigint
) SERVER fence_records;
COMMENT ON FOREIGN TABLE fence_internal.records IS
'Ownership records that the caller may read, with the writer''s fingerprint (NULL: nobody owns the key) and the hashes that stand in the lock tags of the key and of its owner';
CREATE FUNCTION fence_internal.entries(namespace text, key text)
RETURNS TABLE(idx bigint, epoch bigint, payload bytea) STABLE LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_entries';
COMMENT ON FUNCTION fence_internal.entries(text, text) IS 'All entries of a key, ascending';
CREATE FUNCTION fence_internal.extent(namespace text, key text)
RETURNS TABLE(first_idx bigint, last_idx bigint, length bigint) STABLE LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_extent';
COMMENT ON FUNCTION fence_internal.extent(text, text) IS 'Where the log of a key begins and ends (trimmed entries count), and how many entries it has';
CREATE FUNCTION fence_internal."values"(namespace text, key text)
RETURNS TABLE(name text, epoch bigint, value bytea) STABLE LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_values';
COMMENT ON FUNCTION fence_internal."values"(text, text) IS 'The named values of a key';

CREATE VIEW fence.oplog_metadata AS
SELECT namespace, key, epoch, writer FROM fence_internal.records WHERE NOT deleted AND writer IS NOT NULL;
COMMENT ON VIEW fence.oplog_metadata IS 'Who owns each key: epoch and the fingerprint of the writer';

CREATE VIEW fence.oplog_entries AS
SELECT r.namespace, r.key, e.idx, e.epoch, e.payload
FROM fence_internal.records AS r, LATERAL fence_internal.entries(r.namespace, r.key) AS e;
COMMENT ON VIEW fence.oplog_entries IS 'The entries of all logs; name a namespace and key, or use oplog_read';

CREATE VIEW fence.oplog_status AS
SELECT r.namespace, r.key, r.epoch, r.writer, e.first_idx, e.last_idx, e.length, r.deleted
FROM fence_internal.records AS r, LATERAL fence_internal.extent(r.namespace, r.key) AS e;
COMMENT ON VIEW fence.oplog_status IS
'Each key, deleted ones included: owner (or floor), first and last idx, number of entries. last_idx counts trimmed entries';

CREATE VIEW fence.fenced_values AS
SELECT r.namespace, r.key, v.name, v.epoch, v.value
FROM fence_internal.records AS r, LATERAL fence_internal."values"(r.namespace, r.key) AS v;
COMMENT ON VIEW fence.fenced_values IS 'The named values of all keys, with the epoch under which each was stored (NULL: unfenced)';

-- 20449, 20450 and 20452: tag_key, tag_claimant and many_tag() of key_lock.h.
CREATE VIEW fence.fence_holders AS
SELECT l.pid, a.usename AS role, a.application_name, r.namespace, r.key,
  CASE WHEN r.hash IS NULL THEN 'many' WHEN EXISTS (
    SELECT FROM pg_catalog.pg_locks AS own
    WHERE own.pid = l.pid AND own.locktype = 'advisory' AND own.database = l.database AND own.objsubid = 20450
      AND (own.classid::bigint << 32 | own.objid::bigint) = r.claimant_hash
  ) THEN 'current' ELSE 'superseded' END AS state,
  a.xact_start AS since,
  CASE WHEN a.wait_event_type = 'Client' THEN a.state_change END AS idle_since
FROM pg_catalog.pg_locks AS l
LEFT JOIN fence_internal.records AS r
  ON l.objsubid = 20449 AND (l.classid::bigint << 32 | l.objid::bigint) = r.hash
LEFT JOIN pg_catalog.pg_stat_activity AS a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.mode = 'AccessShareLock' AND l.granted
  AND (l.objsubid = 20449 AND r.hash IS NOT NULL OR l.objsubid = 20452)
  AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database());
COMMENT ON VIEW fence.fence_holders IS
'Open transactions that have asserted a key: whether under its current owner, since when they are open, and since when they wait for their client. Of one with more than 64 keys the first 64, and a row without a key (state many) for the others';

CREATE FUNCTION fence.fence_drain(namespace text, key text, epoch bigint, writer text, timeout_ms bigint)
RETURNS boolean LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_drain';
COMMENT ON FUNCTION fence.fence_drain(text, text, bigint, text, bigint) IS
'As current owner: waits at most timeout_ms until no transaction is left that had asserted the key under a superseded epoch when the call began. False: the time ran out. Takes no lock';
CREATE FUNCTION fence.fence_evict(namespace text, key text, epoch bigint, writer text)
RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_evict';
COMMENT ON FUNCTION fence.fence_evict(text, text, bigint, text) IS
'As current owner: ends the sessions that have asserted the key, superseded ones and the owner''s own others, which wait for their client for all of fence.evict_after; returns how many. Never ends one that commits, nor a superuser''s unless the caller is one';
