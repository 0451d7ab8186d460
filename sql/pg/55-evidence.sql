-- What is left of refusals when their transactions are rolled back. Kept beside the
-- tables, so that a refused transaction can leave it; lost when the server restarts.

CREATE FUNCTION fence_internal.refusals()
RETURNS TABLE(number bigint, at timestamptz, pid integer, role oid, application_name text, code text, namespace text, key text,
  asserted_epoch bigint, asserted_writer text, stored_epoch bigint, stored_writer text)
LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_refusals';
COMMENT ON FUNCTION fence_internal.refusals() IS
'The newest refusals in this database, of the namespaces that the caller may read';
CREATE FUNCTION fence_internal.stat()
RETURNS TABLE(code text, name text, count bigint) LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_stat';
COMMENT ON FUNCTION fence_internal.stat() IS 'How often each error came in this database';

CREATE VIEW fence.fence_refusals AS
SELECT r.at, r.pid, pg_catalog.pg_get_userbyid(r.role) AS role, r.application_name, r.code, r.namespace, r.key,
  r.asserted_epoch, r.asserted_writer, r.stored_epoch, r.stored_writer
FROM fence_internal.refusals() AS r ORDER BY r.number;
COMMENT ON VIEW fence.fence_refusals IS
'The newest 512 refused claims, writes and assertions, newest last: who, what was asserted and what was stored then, writers as fingerprints. Whatever became of the transaction; lost when the server restarts';

CREATE VIEW fence.fence_stat AS
SELECT s.code, s.name, s.count FROM fence_internal.stat() AS s;
COMMENT ON VIEW fence.fence_stat IS
'How often each error of class ZF was raised in this database since the server started. NULL where nothing can be kept (see the server''s log)';
