-- An event trigger that is always there: it gives partitions that come later their guard against
-- TRUNCATE, which the server does not clone.

CREATE FUNCTION fence_internal.attached_partition(command pg_ddl_command) RETURNS text
STRICT LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_attached_partition';
COMMENT ON FUNCTION fence_internal.attached_partition(pg_ddl_command) IS
'The name, without a schema, of the partition that the command attaches, or NULL';

-- By statements the event triggers here would be called again for each of them, one inside the
-- other.
CREATE FUNCTION fence_internal.complete_triggers(protected oid, restore boolean) RETURNS void
STRICT LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_complete_triggers';
COMMENT ON FUNCTION fence_internal.complete_triggers(oid, boolean) IS
'Gives each partition of a protected table that has none the trigger that refuses TRUNCATE. restore: and puts the triggers that are enabled back to ALWAYS';

-- With the rights of Fence's owner: who makes a partition may not read the registry. Only at what
-- makes a partition: a restore makes the triggers of the others itself, after the tables.
CREATE FUNCTION fence_internal.guard_partitions() RETURNS event_trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  made record;
BEGIN
  FOR made IN
    SELECT d.command, d.command_tag, p.relation AS protected
    FROM pg_event_trigger_ddl_commands() AS d, LATERAL pg_partition_ancestors(d.objid) AS up(relid)
    JOIN fence_internal.protected AS p ON p.relation = up.relid
    WHERE d.classid = 'pg_class'::regclass
  LOOP
    IF made.command_tag = 'CREATE TABLE' OR fence_internal.attached_partition(made.command) IS NOT NULL THEN
      PERFORM fence_internal.complete_triggers(made.protected, false);
    END IF;
  END LOOP;
EXCEPTION WHEN undefined_file THEN
  RAISE WARNING 'the library of Fence is missing' USING HINT = 'fence_doctor names partitions that can be truncated';
END
$$;
COMMENT ON FUNCTION fence_internal.guard_partitions() IS
'Event trigger: new partitions of protected tables refuse TRUNCATE, too';
CREATE EVENT TRIGGER fence_partitions ON ddl_command_end WHEN TAG IN ('CREATE TABLE', 'ALTER TABLE', 'CREATE SCHEMA')
EXECUTE FUNCTION fence_internal.guard_partitions();
ALTER EVENT TRIGGER fence_partitions ENABLE ALWAYS;
COMMENT ON EVENT TRIGGER fence_partitions IS 'New partitions of protected tables refuse TRUNCATE, too';
