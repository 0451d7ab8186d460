-- Event triggers. One is always there: it gives partitions that come later their guard against
-- TRUNCATE, which the server does not clone. In SQL: DDL must go on where the library is missing.

-- With the rights of Fence's owner, like all of them: who makes a partition may not read the
-- registry.
CREATE FUNCTION fence_internal.complete_partitions(protected oid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  part regclass;
BEGIN
  FOR part IN
    SELECT t.relid FROM pg_partition_tree(protected) AS t JOIN pg_class AS c ON c.oid = t.relid
    WHERE c.relkind IN ('r', 'p')
      AND NOT EXISTS (SELECT FROM pg_trigger AS g WHERE g.tgrelid = t.relid AND g.tgname = 'fence_truncate')
  LOOP
    EXECUTE format('CREATE TRIGGER fence_truncate BEFORE TRUNCATE ON %s FOR EACH STATEMENT'
      ' EXECUTE FUNCTION fence_internal.refuse_truncate()', part);
    EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER fence_truncate', part);
  END LOOP;
END
$$;
COMMENT ON FUNCTION fence_internal.complete_partitions(oid) IS
'Gives each partition of a protected table that has none the trigger that refuses TRUNCATE';

CREATE FUNCTION fence_internal.guard_partitions() RETURNS event_trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM fence_internal.complete_partitions(p.relation)
  FROM fence_internal.protected AS p
  WHERE p.relation IN (
    SELECT up.relid FROM pg_event_trigger_ddl_commands() AS d, LATERAL pg_partition_ancestors(d.objid) AS up(relid)
    WHERE d.classid = 'pg_class'::regclass);
END
$$;
COMMENT ON FUNCTION fence_internal.guard_partitions() IS
'Event trigger: new partitions of protected tables refuse TRUNCATE, too';
CREATE EVENT TRIGGER fence_partitions ON ddl_command_end WHEN TAG IN ('CREATE TABLE', 'ALTER TABLE')
EXECUTE FUNCTION fence_internal.guard_partitions();
ALTER EVENT TRIGGER fence_partitions ENABLE ALWAYS;
COMMENT ON EVENT TRIGGER fence_partitions IS 'New partitions of protected tables refuse TRUNCATE, too';
