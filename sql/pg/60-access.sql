-- Who may use it. Nothing is PUBLIC's.

CREATE FUNCTION fence_internal.begin_access(role name, namespace text)
RETURNS regrole LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_begin_access';
COMMENT ON FUNCTION fence_internal.begin_access(name, text) IS
'The role, if the arguments can be. Grants and revokes come one after the other from here on, to the end of the transaction';

CREATE FUNCTION fence_internal.grant_access(role name, namespace text, may_write boolean) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  grantee regrole := fence_internal.begin_access(role, namespace);
  reads text := 'fence.oplog_read(text, text, bigint, bigint, bigint), fence.fence_check(text, text, bigint, text),'
    ' fence.fence_fingerprint(text), fence.fence_key("any"), fence.fence_version(), fence.fence_capabilities(),'
    ' fence.oplog_keys(text, text, text, bigint), fence_internal.may_read(text),'
    ' fence_internal.entries(text, text), fence_internal.extent(text, text),'
    ' fence_internal."values"(text, text),'
    ' fence_internal.refusals(), fence_internal.stat()';
  writes text := 'fence.oplog_metadata_upsert(text, text, bigint, text),'
    ' fence.try_oplog_metadata_upsert(text, text, bigint, text),'
    ' fence.oplog_metadata_upsert_many(text, jsonb, text),'
    ' fence.fenced_append(text, text, bigint, text, bigint, bytea),'
    ' fence.fenced_append_many(text, text, bigint, text, bigint[], bytea[], bigint),'
    ' fence.fenced_drop_prefix(text, text, bigint, text, bigint), fence.fenced_delete(text, text, bigint, text),'
    ' fence.fenced_put(text, text, bigint, text, text, bytea), fence.fenced_remove(text, text, bigint, text, text),'
    ' fence.fenced_publish(text, text, bigint, text, text, text, bigint),'
    ' fence.fence_drain(text, text, bigint, text, bigint), fence.fence_evict(text, text, bigint, text),'
    ' fence.fence_assert(text, text, bigint, text), fence.fence_assert_many(text, jsonb, bigint, text)';
BEGIN
  INSERT INTO fence_internal.access(role, namespace, may_write)
  SELECT grantee, grant_access.namespace, grant_access.may_write
  WHERE NOT EXISTS (
    SELECT FROM fence_internal.access AS a
    WHERE a.role = grantee AND a.namespace IS NOT DISTINCT FROM grant_access.namespace
      AND a.may_write = grant_access.may_write);
  EXECUTE format('GRANT USAGE ON SCHEMA fence TO %I', role);
  EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', reads, role);
  EXECUTE format('GRANT SELECT ON fence.oplog_metadata, fence.oplog_entries, fence.oplog_status,'
    ' fence.fenced_values, fence.fence_namespaces, fence.fence_protected, fence.fence_holders, fence.fence_refusals,'
    ' fence.fence_stat TO %I', role);
  IF may_write THEN
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', writes, role);
    -- SELECT for RETURNING; it shows nothing.
    EXECUTE format('GRANT INSERT, SELECT ON fence.fenced_append TO %I', role);
  END IF;
END
$$;
COMMENT ON FUNCTION fence_internal.grant_access(name, text, boolean) IS
'What fence_grant_writer and fence_grant_reader do';

-- With its last right a role loses what the server gave it for Fence, so that it can be
-- dropped.
CREATE FUNCTION fence_internal.revoke_access(role name, namespace text, may_write boolean) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  grantee regrole := fence_internal.begin_access(role, namespace);
BEGIN
  DELETE FROM fence_internal.access AS a WHERE NOT EXISTS (SELECT FROM pg_roles AS r WHERE r.oid = a.role);
  DELETE FROM fence_internal.access AS a
  WHERE a.role = grantee AND a.may_write = revoke_access.may_write
    AND (revoke_access.namespace IS NULL OR a.namespace = revoke_access.namespace);
  IF NOT FOUND THEN
    RAISE NOTICE 'role % had no such right', role;
  END IF;
  IF EXISTS (SELECT FROM fence_internal.access AS a
      WHERE a.role = grantee AND a.may_write = revoke_access.may_write AND a.namespace IS NULL) THEN
    RAISE NOTICE 'role % still has that right for all namespaces', role;
  END IF;
  -- The owner's rights come from no grant.
  PERFORM FROM fence_internal.access AS a WHERE a.role = grantee
  UNION ALL SELECT FROM pg_class AS c WHERE c.oid = 'fence_internal.access'::regclass AND c.relowner = grantee;
  IF NOT FOUND THEN
    EXECUTE format('REVOKE ALL ON ALL FUNCTIONS IN SCHEMA fence, fence_internal FROM %I', role);
    EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA fence FROM %I', role);
    EXECUTE format('REVOKE ALL ON SCHEMA fence FROM %I', role);
  END IF;
END
$$;
COMMENT ON FUNCTION fence_internal.revoke_access(name, text, boolean) IS
'What fence_revoke_writer and fence_revoke_reader do; forgets roles that were dropped, too';

CREATE FUNCTION fence.fence_revoke_writer(role name, namespace text DEFAULT NULL) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$SELECT fence_internal.revoke_access(role, namespace, true)$$;
COMMENT ON FUNCTION fence.fence_revoke_writer(name, text) IS
'Takes back what fence_grant_writer gave for the namespace (NULL: for every one). Sessions notice at their next statement. Call it before DROP ROLE';

CREATE FUNCTION fence.fence_revoke_reader(role name) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$SELECT fence_internal.revoke_access(role, NULL, false)$$;
COMMENT ON FUNCTION fence.fence_revoke_reader(name) IS 'Takes back what fence_grant_reader gave';

CREATE FUNCTION fence.fence_grant_writer(role name, namespace text DEFAULT NULL) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$SELECT fence_internal.grant_access(role, namespace, true)$$;
COMMENT ON FUNCTION fence.fence_grant_writer(name, text) IS
'Lets the role claim keys of the namespace (NULL: of all), append to them and read them, and nothing else of Fence. For its owner and superusers';

CREATE FUNCTION fence.fence_grant_reader(role name) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$SELECT fence_internal.grant_access(role, NULL, false)$$;
COMMENT ON FUNCTION fence.fence_grant_reader(name) IS
'Lets the role read all logs. For the owner of Fence and superusers';

CREATE VIEW fence.fence_grants AS
SELECT pg_catalog.pg_get_userbyid(a.role) AS role, a.namespace, a.may_write FROM fence_internal.access AS a;
COMMENT ON VIEW fence.fence_grants IS
'Who may read, or write, which namespace (NULL: all) beside superusers and the owner of Fence, who alone see this';

-- Functions by default, the rest where ALTER DEFAULT PRIVILEGES gave it.
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA fence, fence_internal FROM PUBLIC; -- layer: nothing_public
REVOKE ALL ON ALL TABLES IN SCHEMA fence, fence_internal FROM PUBLIC; -- layer: nothing_public
REVOKE ALL ON SCHEMA fence, fence_internal FROM PUBLIC; -- layer: nothing_public
-- The server clones this trigger onto a new partition with the rights of whoever makes it. Nobody
-- can name the function without USAGE on its schema, and on a table that is not protected it
-- refuses to work.
GRANT EXECUTE ON FUNCTION fence_internal.check_row() TO PUBLIC;
