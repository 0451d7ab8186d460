-- Claims and appends. Arguments that cannot be are ZF010; refusals carry a JSON detail.

CREATE FUNCTION fence.oplog_metadata_upsert(namespace text, key text, epoch bigint, writer text)
RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_claim';
COMMENT ON FUNCTION fence.oplog_metadata_upsert(text, text, bigint, text) IS
'Claims the key: epoch (0..2^63-1) must exceed the stored one, or equal it with the same writer (a UUID of this process; only its hash is kept). Returns the greatest idx ever stored, NULL if none, read after ownership was taken. Holds an exclusive lock of the key to its end, waits for commits under way, and is durable whatever synchronous_commit says. ZF001 lower, ZF002 other writer, ZF012 inside a transaction';

CREATE FUNCTION fence.try_oplog_metadata_upsert(namespace text, key text, epoch bigint, writer text)
RETURNS jsonb LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_try_claim';
COMMENT ON FUNCTION fence.try_oplog_metadata_upsert(text, text, bigint, text) IS
'As oplog_metadata_upsert, but answers {"owned": true, "last"} or {"owned": false, ...} with the members of the detail instead of raising ZF001 and ZF002';

CREATE FUNCTION fence.oplog_metadata_upsert_many(namespace text, claims jsonb, writer text)
RETURNS jsonb LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_claim_many';
COMMENT ON FUNCTION fence.oplog_metadata_upsert_many(text, jsonb, text) IS
'Claims many keys with one flush, all or none: [{"key", "epoch"}] in, [{"key", "last"}] out, in that order. Errors and locks as oplog_metadata_upsert';

CREATE FUNCTION fence.fenced_append(namespace text, key text, epoch bigint, writer text, idx bigint, payload bytea)
RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_append';
COMMENT ON FUNCTION fence.fenced_append(text, text, bigint, text, bigint, bytea) IS
'Stores one entry at idx (0..2^63-1) if (epoch, writer) equals the record of the key, now and again when the transaction commits; returns idx. The same idx, bytes and epoch again is a success. Judges by what is committed, whatever the snapshot; waits for no claim and for no other owner. ZF001 stale epoch, ZF002 other writer, ZF003 never claimed, ZF004 epoch above the record, ZF013 idx taken';

CREATE FUNCTION fence.fenced_append_many(namespace text, key text, epoch bigint, writer text, idxs bigint[], payloads bytea[], expected_last bigint DEFAULT NULL)
RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_append_many';
COMMENT ON FUNCTION fence.fenced_append_many(text, text, bigint, text, bigint[], bytea[], bigint) IS
'Stores a batch, all or nothing, and returns how many entries were new. expected_last: the idx with which the log must end, -1 if it must be empty, NULL not to compare (ZF013 otherwise). Else as fenced_append';

CREATE FUNCTION fence.oplog_read(namespace text, key text, from_idx bigint DEFAULT 0, to_idx bigint DEFAULT NULL, max bigint DEFAULT 1000)
RETURNS TABLE(idx bigint, epoch bigint, payload bytea) STABLE LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_read';
COMMENT ON FUNCTION fence.oplog_read(text, text, bigint, bigint, bigint) IS
'Entries of idx from_idx..to_idx (both included; NULL: no bound), ascending, at most max of them (NULL: 1000). Sees what the caller''s snapshot sees, takes no lock and asserts nothing';

CREATE FUNCTION fence.fence_check(namespace text, key text, epoch bigint, writer text)
RETURNS boolean LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_check';
COMMENT ON FUNCTION fence.fence_check(text, text, bigint, text) IS
'True while (epoch, writer) owns the key, by what is committed now; raises as fenced_append would, but asserts nothing and dooms nothing. For use before an effect outside the database';

CREATE FUNCTION fence.fence_fingerprint(writer text)
RETURNS text IMMUTABLE LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_fingerprint';
COMMENT ON FUNCTION fence.fence_fingerprint(text) IS
'What views and errors show of this writer: 8 hex digits of its hash';

CREATE FUNCTION fence.fence_version()
RETURNS text IMMUTABLE LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_version';
COMMENT ON FUNCTION fence.fence_version() IS 'Version of the library that is loaded';

CREATE FUNCTION fence.fence_capabilities()
RETURNS jsonb STABLE LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_capabilities';
COMMENT ON FUNCTION fence.fence_capabilities() IS
'Engine, versions, format of the tables, and whether this database fences';

-- The bulk form: INSERT INTO fence.fenced_append ... VALUES, COPY, INSERT ... SELECT. A
-- foreign table, and not a view with a trigger: session_replication_role would switch the
-- trigger off, and pg_upgrade cannot make an ALWAYS trigger of a view.
CREATE FUNCTION fence_internal.append_table()
RETURNS fdw_handler LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_append_table';
COMMENT ON FUNCTION fence_internal.append_table() IS 'Handler of the foreign table fence.fenced_append';
CREATE FOREIGN DATA WRAPPER fence_appends HANDLER fence_internal.append_table NO VALIDATOR;
COMMENT ON FOREIGN DATA WRAPPER fence_appends IS 'Appends the rows that are inserted; for fence.fenced_append only';
CREATE SERVER fence_appends FOREIGN DATA WRAPPER fence_appends;
COMMENT ON SERVER fence_appends IS 'This database; for fence.fenced_append only';
CREATE FOREIGN TABLE fence.fenced_append(
  namespace text,
  key text,
  epoch bigint,
  writer text,
  idx bigint,
  payload bytea
) SERVER fence_appends;
COMMENT ON FOREIGN TABLE fence.fenced_append IS
'INSERT into it what fenced_append takes: all rows of a statement or none. It shows nothing';
