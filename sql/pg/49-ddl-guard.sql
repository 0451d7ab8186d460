-- Event triggers for fence_guard_ddl to switch on: they refuse DDL that would take rows, triggers
-- or the key away from a protected table. In SQL as far as can be: DDL must go on where the
-- library is missing.

CREATE FUNCTION fence_internal.raise_error(code text, message text, hint text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION '%', message USING ERRCODE = code, HINT = hint,
    DETAIL = format('{"code":"%s","namespace":null,"key":null,"asserted_epoch":null,"stored_epoch":null,'
      '"asserted_writer":null,"stored_writer":null,"already_stored":null,"deleted":null}', code);
END
$$;
COMMENT ON FUNCTION fence_internal.raise_error(text, text, text) IS
'An error of class ZF about no key, with the members that every one of them has';

-- A superuser goes on, so that nobody is ever locked out, and is told.
CREATE FUNCTION fence_internal.refuse_ddl(problem text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  actor name := CASE current_setting('role') WHEN 'none' THEN session_user ELSE current_setting('role') END;
  message text := format('guard_broken: the statement weakens the protection of a table: %s', problem);
BEGIN
  IF (SELECT r.rolsuper FROM pg_roles AS r WHERE r.rolname = actor) THEN
    RAISE WARNING '%', message USING ERRCODE = 'ZF020', HINT = 'fence_doctor names what is left to be mended';
  ELSE
    PERFORM fence_internal.raise_error('ZF020', message, 'in one transaction: fence_unprotect, the change, fence_protect again; or have a superuser do it');
  END IF;
END
$$;
COMMENT ON FUNCTION fence_internal.refuse_ddl(text) IS
'ZF020 for the statement that is at work; a warning where a superuser runs it';

CREATE FUNCTION fence_internal.protected_root(relation oid) RETURNS SETOF oid STABLE LANGUAGE sql
BEGIN ATOMIC
  SELECT p.relation::oid FROM fence_internal.protected AS p
  WHERE p.relation = $1 OR p.relation IN (SELECT up.relid FROM pg_catalog.pg_partition_ancestors($1) AS up(relid));
END;
COMMENT ON FUNCTION fence_internal.protected_root(oid) IS 'The protected table that a table is or is a partition of';

-- The protected tables that a table belongs to: itself, as a partition, or as a plain child; and
-- those that are partitions of it, since what changes it changes them.
CREATE FUNCTION fence_internal.protected_by(relation oid) RETURNS SETOF oid STABLE LANGUAGE sql
BEGIN ATOMIC
  SELECT p.relation::oid FROM fence_internal.protected AS p
  WHERE p.relation IN (SELECT fence_internal.protected_root($1))
    OR p.relation IN (SELECT i.inhparent FROM pg_catalog.pg_inherits AS i WHERE i.inhrelid = $1)
    OR $1 IN (SELECT up.relid FROM pg_catalog.pg_partition_ancestors(p.relation) AS up(relid));
END;
COMMENT ON FUNCTION fence_internal.protected_by(oid) IS 'The protected tables that a table is, is a partition of, inherits from, or has for partitions';

CREATE FUNCTION fence_internal.protected_in(schema oid) RETURNS SETOF oid STABLE LANGUAGE sql
BEGIN ATOMIC
  SELECT p.relation::oid FROM fence_internal.protected AS p JOIN pg_catalog.pg_class AS c ON c.oid = p.relation
  WHERE c.relnamespace = $1;
END;
COMMENT ON FUNCTION fence_internal.protected_in(oid) IS 'The protected tables in a schema';

-- The statement has named the partition; its schema is the caller's business, so all of that name
-- are looked at.
CREATE FUNCTION fence_internal.check_attached(parent oid, name text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  part regclass;
  filled boolean;
BEGIN
  FOR part IN
    SELECT t.relid FROM pg_inherits AS i JOIN pg_class AS attached ON attached.oid = i.inhrelid,
    LATERAL pg_partition_tree(attached.oid) AS t JOIN pg_class AS c ON c.oid = t.relid
    WHERE i.inhparent = parent AND attached.relname = name AND c.relkind = 'r'
  LOOP
    EXECUTE format('SELECT EXISTS (SELECT FROM ONLY %s)', part) INTO filled;
    IF filled THEN
      PERFORM fence_internal.refuse_ddl(format('%s brings rows whose keys nobody has asserted', part));
    END IF;
  END LOOP;
END
$$;
COMMENT ON FUNCTION fence_internal.check_attached(oid, text) IS 'Refuses what was attached to a table and is not empty';

CREATE FUNCTION fence_internal.detached_partition(command pg_ddl_command) RETURNS text
STRICT LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_detached_partition';
COMMENT ON FUNCTION fence_internal.detached_partition(pg_ddl_command) IS
'The name, without a schema, of the partition that the command takes out of its table, or NULL';
CREATE FUNCTION fence_internal.detaching_concurrently() RETURNS text[]
LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_detaching_concurrently';
COMMENT ON FUNCTION fence_internal.detaching_concurrently() IS
'The table out of which the client''s statement takes a partition CONCURRENTLY, or NULL: its schema, as far as that says one, and its name';

CREATE FUNCTION fence_internal.check_protection(protected oid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  fault record;
BEGIN
  BEGIN
    -- ENABLE TRIGGER ALL, as pg_restore --disable-triggers ends, leaves them at less than ALWAYS.
    PERFORM fence_internal.complete_triggers(protected, true);
  EXCEPTION WHEN undefined_file THEN
    NULL; -- the library is missing: what is not complete is found now
  END;
  FOR fault IN SELECT * FROM fence_internal.protection_faults(protected) AS f WHERE f.severity <> 'info' LOOP
    PERFORM fence_internal.refuse_ddl(format('%s %s', fault.object, fault.problem));
  END LOOP;
END
$$;
COMMENT ON FUNCTION fence_internal.check_protection(oid) IS 'Refuses a statement that leaves the protection of a table weaker than fence_protect makes it';

CREATE FUNCTION fence_internal.guard_ddl() RETURNS event_trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  changed record;
  attached text;
  detached text;
BEGIN
  FOR changed IN
    SELECT d.command, d.command_tag, d.objid, p.protected
    FROM pg_event_trigger_ddl_commands() AS d
    CROSS JOIN LATERAL (
      SELECT fence_internal.protected_by(CASE d.classid
        WHEN 'pg_class'::regclass THEN d.objid
        WHEN 'pg_rewrite'::regclass THEN (SELECT w.ev_class FROM pg_rewrite AS w WHERE w.oid = d.objid)
        WHEN 'pg_trigger'::regclass THEN (SELECT g.tgrelid FROM pg_trigger AS g WHERE g.oid = d.objid)
      END)
      UNION ALL SELECT fence_internal.protected_in(d.objid) WHERE d.classid = 'pg_namespace'::regclass
    ) AS p(protected)
  LOOP
    IF changed.command_tag = 'ALTER TABLE' THEN
      BEGIN
        attached := fence_internal.attached_partition(changed.command);
        detached := fence_internal.detached_partition(changed.command);
      EXCEPTION WHEN OTHERS THEN
        PERFORM fence_internal.refuse_ddl('the library of Fence cannot be used, so nobody can tell');
      END;
      IF changed.protected NOT IN (SELECT fence_internal.protected_root(changed.objid)) THEN
        NULL;  -- a table that has the protected one for its partition
      ELSIF detached IS NOT NULL THEN
        PERFORM fence_internal.refuse_ddl(format('%I leaves %s, and its rows the protection', detached, changed.protected::regclass));
      ELSIF attached IS NOT NULL THEN
        PERFORM fence_internal.check_attached(changed.objid, attached);
      END IF;
    END IF;
    PERFORM fence_internal.check_protection(changed.protected);
  END LOOP;
END
$$;
COMMENT ON FUNCTION fence_internal.guard_ddl() IS 'Event trigger of fence_guard_ddl: after statements that change tables';

-- DETACH PARTITION ... CONCURRENTLY commits half-way, and what comes then is too late. Before it,
-- only the name of the table is known: where the statement says no schema, in any.
CREATE FUNCTION fence_internal.guard_detach() RETURNS event_trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  name text[];
BEGIN
  BEGIN
    name := fence_internal.detaching_concurrently();
  EXCEPTION WHEN OTHERS THEN
    RETURN;  -- without the library the half that comes afterwards is refused
  END;
  IF EXISTS (
    SELECT FROM fence_internal.protected AS p, LATERAL pg_partition_tree(p.relation) AS t
    JOIN pg_class AS c ON c.oid = t.relid JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.relname = name[2] AND n.nspname = coalesce(name[1], n.nspname)
  ) THEN
    PERFORM fence_internal.refuse_ddl(format('a partition leaves %I, and its rows the protection', name[2]));
  END IF;
END
$$;
COMMENT ON FUNCTION fence_internal.guard_detach() IS 'Event trigger of fence_guard_ddl: before ALTER TABLE';

-- What is dropped is gone: a table is recognized by the trigger that went along with it. Of a
-- partitioned one each column and trigger goes once a partition; it is looked at once.
CREATE FUNCTION fence_internal.guard_drop() RETURNS event_trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  dropped record;
  touched oid[] := '{}';
  protected oid;
BEGIN
  FOR dropped IN
    SELECT DISTINCT format('%I.%I', d.address_names[1], d.address_names[2]) AS name,
      d.object_type = 'trigger' AND d.address_names[3] = 'fence_rows' AS is_guard
    FROM pg_event_trigger_dropped_objects() AS d
    WHERE d.object_type IN ('trigger', 'table column') AND NOT d.is_temporary
  LOOP
    IF to_regclass(dropped.name) IS NOT NULL THEN
      touched := touched || ARRAY(SELECT fence_internal.protected_by(to_regclass(dropped.name)));
    ELSIF dropped.is_guard THEN
      PERFORM fence_internal.refuse_ddl(format('%s goes with all of its rows', dropped.name));
    END IF;
  END LOOP;
  FOR protected IN SELECT DISTINCT unnest(touched) LOOP
    PERFORM fence_internal.check_protection(protected);
  END LOOP;
END
$$;
COMMENT ON FUNCTION fence_internal.guard_drop() IS 'Event trigger of fence_guard_ddl: after statements that drop something';

-- 1: the table becomes unlogged, or logged; 4: a column is computed anew.
CREATE FUNCTION fence_internal.guard_rewrite() RETURNS event_trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF pg_event_trigger_table_rewrite_reason() & 5 <> 0 THEN
    PERFORM fence_internal.refuse_ddl(format('it rewrites the rows of %s', p.protected::regclass))
    FROM fence_internal.protected_by(pg_event_trigger_table_rewrite_oid()) AS p(protected);
  END IF;
END
$$;
COMMENT ON FUNCTION fence_internal.guard_rewrite() IS 'Event trigger of fence_guard_ddl: before a table is rewritten';

CREATE FUNCTION fence.fence_guard_ddl(enabled boolean) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  guard record;
BEGIN
  IF enabled IS NULL THEN
    PERFORM fence_internal.raise_error('ZF010', 'out_of_range: enabled is NULL', 'pass true or false');
  END IF;
  FOR guard IN
    SELECT * FROM (VALUES
      -- RENAME takes a table for an index, and RENAME COLUMN and ATTRIBUTE take it for anything.
      ('fence_guard_ddl', 'ddl_command_end', 'guard_ddl', ' WHEN TAG IN (''CREATE TABLE'', ''ALTER TABLE'', ''CREATE SCHEMA'','
        ' ''ALTER SCHEMA'', ''CREATE FOREIGN TABLE'', ''ALTER FOREIGN TABLE'', ''ALTER INDEX'', ''ALTER VIEW'', ''ALTER MATERIALIZED VIEW'','
        ' ''ALTER TYPE'', ''CREATE TRIGGER'', ''ALTER TRIGGER'', ''CREATE RULE'', ''ALTER RULE'')'),
      ('fence_guard_detach', 'ddl_command_start', 'guard_detach', ' WHEN TAG IN (''ALTER TABLE'')'),
      ('fence_guard_drop', 'sql_drop', 'guard_drop', ''),
      ('fence_guard_rewrite', 'table_rewrite', 'guard_rewrite', '')
    ) AS g(name, event, function, condition)
  LOOP
    IF EXISTS (SELECT FROM pg_event_trigger AS e WHERE e.evtname = guard.name) THEN
      EXECUTE format('DROP EVENT TRIGGER %I', guard.name);
    END IF;
    IF enabled THEN
      EXECUTE format('CREATE EVENT TRIGGER %I ON %s%s EXECUTE FUNCTION fence_internal.%I()', guard.name, guard.event, guard.condition, guard.function);
      EXECUTE format('ALTER EVENT TRIGGER %I ENABLE ALWAYS', guard.name);
    END IF;
  END LOOP;
END
$$;
COMMENT ON FUNCTION fence.fence_guard_ddl(boolean) IS
'Switches event triggers on (or off) that refuse DDL by which the owner of a protected table would weaken it: ATTACH of a table with rows, DETACH, DISABLE TRIGGER, DROP, RENAME, rules, inheritance, ALTER TYPE, SET UNLOGGED (ZF020). A superuser is warned and goes on. For administrators';
