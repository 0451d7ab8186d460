-- Nobody writes to Fence's tables but its functions, which go past triggers. ALWAYS:
-- session_replication_role must not switch them off.
CREATE FUNCTION fence_internal.guard() RETURNS trigger
LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_guard';
COMMENT ON FUNCTION fence_internal.guard() IS
'Trigger: refuses every write but the INSERT of missing rows by the owner of the table, as a restore makes it. ZF005';
CREATE FUNCTION fence_internal.guard_access() RETURNS trigger
LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_guard_access';
COMMENT ON FUNCTION fence_internal.guard_access() IS
'Trigger: lets the owner of the table add and remove rows and refuses all else (ZF005), and tells the sessions that rights have changed';

DO $$
DECLARE
  one text;
  guard text;
BEGIN
  FOREACH one IN ARRAY ARRAY['record', 'entry', 'trim_mark', 'value', 'namespace', 'lineage', 'install', 'protected', 'access'] LOOP
    guard := CASE one WHEN 'access' THEN 'guard_access' ELSE 'guard' END;
    EXECUTE pg_catalog.format('CREATE TRIGGER guard_rows BEFORE INSERT OR UPDATE OR DELETE'
      ' ON fence_internal.%I FOR EACH ROW EXECUTE FUNCTION fence_internal.%I()', one, guard);
    EXECUTE pg_catalog.format('CREATE TRIGGER guard_truncate BEFORE TRUNCATE'
      ' ON fence_internal.%I FOR EACH STATEMENT EXECUTE FUNCTION fence_internal.%I()', one, guard);
    EXECUTE pg_catalog.format('ALTER TABLE fence_internal.%I ENABLE ALWAYS TRIGGER guard_rows', one); -- layer: always_trigger
    EXECUTE pg_catalog.format('ALTER TABLE fence_internal.%I ENABLE ALWAYS TRIGGER guard_truncate', one); -- layer: always_trigger
  END LOOP;
END
$$;
