-- What fence_doctor finds in the database and the server: kind, object, detail, repair. What it
-- finds of roles: 54-doctor-roles.sql.

-- As 20-tables.sql gives it to pg_extension_config_dump.
CREATE VIEW fence_internal.dumped(relation, condition) AS
VALUES ('record', ''), ('entry', ''), ('trim_mark', ''), ('value', ''), ('namespace', ''), ('lineage', ''),
  ('protected', 'WHERE relation OPERATOR(pg_catalog.=) ANY (SELECT oid FROM pg_catalog.pg_class)'),
  ('access', 'WHERE role OPERATOR(pg_catalog.=) ANY (SELECT oid FROM pg_catalog.pg_roles)');
COMMENT ON VIEW fence_internal.dumped IS 'Fence''s tables whose rows a dump takes along, and which of them';

CREATE FUNCTION fence_internal.extension_faults()
RETURNS TABLE(kind text, object text, detail text, repair text) STABLE LANGUAGE sql
BEGIN ATOMIC
  SELECT f.kind, format('table fence_internal.%I', f.relname), NULL, f.repair
  FROM (
    SELECT 'not_member' AS kind, c.relname, format('ALTER EXTENSION fence ADD TABLE fence_internal.%I', c.relname) AS repair
    FROM pg_catalog.pg_extension AS e, pg_catalog.pg_class AS c
    WHERE e.extname = 'fence' AND c.relnamespace = 'fence_internal'::regnamespace AND c.relkind = 'r'
      AND (c.relname = 'install' OR c.relname IN (SELECT d.relation FROM fence_internal.dumped AS d))
      AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend AS p WHERE p.classid = 'pg_catalog.pg_class'::regclass AND p.objid = c.oid
        AND p.refclassid = 'pg_catalog.pg_extension'::regclass AND p.refobjid = e.oid AND p.deptype = 'e')
    UNION ALL
    SELECT CASE WHEN place.n IS NULL THEN 'not_dumped' ELSE 'dumped_otherwise' END, c.relname,
      CASE WHEN place.n IS NULL THEN format('UPDATE pg_catalog.pg_extension SET extconfig = array_append(extconfig, %L::regclass::oid),'
          ' extcondition = array_append(extcondition, %L) WHERE extname = ''fence''', 'fence_internal.' || c.relname, d.condition)
        ELSE format('UPDATE pg_catalog.pg_extension SET extcondition[array_position(extconfig, %L::regclass::oid)] = %L WHERE extname = ''fence''',
          'fence_internal.' || c.relname, d.condition) END
    FROM pg_catalog.pg_extension AS e, fence_internal.dumped AS d
    JOIN pg_catalog.pg_class AS c ON c.relnamespace = 'fence_internal'::regnamespace AND c.relname = d.relation,
      LATERAL (SELECT array_position(e.extconfig, c.oid)) AS place(n)
    WHERE e.extname = 'fence' AND (place.n IS NULL OR e.extcondition[place.n] IS DISTINCT FROM d.condition)
    UNION ALL
    SELECT 'install_dumped', c.relname, format('UPDATE pg_catalog.pg_extension SET extconfig = array_remove(extconfig, i.oid),'
      ' extcondition = extcondition[:array_position(extconfig, i.oid) - 1] || extcondition[array_position(extconfig, i.oid) + 1:]'
      ' FROM (SELECT %L::regclass::oid) AS i(oid) WHERE extname = ''fence''', 'fence_internal.install')
    FROM pg_catalog.pg_extension AS e JOIN pg_catalog.pg_class AS c ON c.oid = ANY (e.extconfig)
    WHERE e.extname = 'fence' AND c.oid = 'fence_internal.install'::regclass
  ) AS f
  UNION ALL
  SELECT 'event_trigger_missing', 'event trigger fence_partitions', 'partitions that come later do not refuse TRUNCATE',
    'CREATE EVENT TRIGGER fence_partitions ON ddl_command_end WHEN TAG IN (''CREATE TABLE'', ''ALTER TABLE'', ''CREATE SCHEMA'')'
    ' EXECUTE FUNCTION fence_internal.guard_partitions(); ALTER EVENT TRIGGER fence_partitions ENABLE ALWAYS;'
    ' ALTER EXTENSION fence ADD EVENT TRIGGER fence_partitions'
  WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_event_trigger AS t WHERE t.evtname = 'fence_partitions')
  UNION ALL
  -- Those of fence_guard_ddl are all or none.
  SELECT 'event_trigger_missing', format('event trigger %s', g.name), 'DDL that it refuses passes', 'SELECT fence.fence_guard_ddl(true)'
  FROM (VALUES ('fence_guard_ddl'), ('fence_guard_detach'), ('fence_guard_drop'), ('fence_guard_rewrite')) AS g(name)
  WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_event_trigger AS t WHERE t.evtname = g.name)
    AND EXISTS (SELECT FROM pg_catalog.pg_event_trigger AS t WHERE t.evtname IN ('fence_guard_ddl', 'fence_guard_detach', 'fence_guard_drop', 'fence_guard_rewrite'))
  UNION ALL
  SELECT 'event_trigger_weak', format('event trigger %s', t.evtname), NULL, format('ALTER EVENT TRIGGER %I ENABLE ALWAYS', t.evtname)
  FROM pg_catalog.pg_event_trigger AS t
  WHERE t.evtname IN ('fence_partitions', 'fence_guard_ddl', 'fence_guard_detach', 'fence_guard_drop', 'fence_guard_rewrite') AND t.evtenabled <> 'A'
  UNION ALL
  SELECT 'other_owner', format('%s %s', i.type, i.identity), quote_ident(pg_get_userbyid(o.owner)),
    format('ALTER %s %s OWNER TO %I', i.type, i.identity, pg_get_userbyid(e.extowner))
  FROM pg_catalog.pg_extension AS e JOIN pg_catalog.pg_depend AS p ON p.refclassid = 'pg_catalog.pg_extension'::regclass AND p.refobjid = e.oid AND p.deptype = 'e'
  JOIN (
    SELECT 'pg_catalog.pg_class'::regclass AS class, c.oid, c.relowner AS owner FROM pg_catalog.pg_class AS c
    UNION ALL SELECT 'pg_catalog.pg_proc'::regclass, f.oid, f.proowner FROM pg_catalog.pg_proc AS f
    UNION ALL SELECT 'pg_catalog.pg_namespace'::regclass, n.oid, n.nspowner FROM pg_catalog.pg_namespace AS n
  ) AS o ON o.class = p.classid AND o.oid = p.objid,
    pg_identify_object(p.classid, p.objid, 0) AS i
  WHERE e.extname = 'fence' AND o.owner <> e.extowner;
END;
COMMENT ON FUNCTION fence_internal.extension_faults() IS 'What fence_doctor finds of the extension itself: dumps, event triggers, owners';

-- A setting as the server has it, without what the caller's session, role or database makes of
-- it: where that hides it, as the files say, which an owner who is no superuser may not read.
CREATE FUNCTION fence_internal.server_setting(name text) RETURNS text STABLE
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  found record;
  written text;
BEGIN
  SELECT s.setting, s.boot_val, s.source INTO found FROM pg_settings AS s WHERE s.name = $1;
  IF found.source IN ('default', 'environment variable', 'configuration file', 'command line', 'override') THEN
    RETURN found.setting;
  END IF;
  IF has_table_privilege('pg_file_settings', 'SELECT') AND has_function_privilege('pg_show_all_file_settings()', 'EXECUTE') THEN
    SELECT f.setting INTO written FROM pg_file_settings AS f WHERE lower(f.name) = lower($1) AND f.applied ORDER BY f.seqno DESC LIMIT 1;
  END IF;
  RETURN coalesce(written, found.boot_val);
END
$$;
COMMENT ON FUNCTION fence_internal.server_setting(text) IS 'A setting as the server has it for who sets nothing; NULL: there is no such setting';

CREATE FUNCTION fence_internal.setting_faults()
RETURNS TABLE(kind text, object text, detail text, repair text) STABLE LANGUAGE sql
BEGIN ATOMIC
  SELECT s.name, format('setting %s', s.name), NULL::text, format('ALTER SYSTEM SET %s = %s; SELECT pg_reload_conf()', s.name, s.wanted)
  FROM (VALUES ('fsync', '^off$', 'on'), ('full_page_writes', '^off$', 'on'), ('hot_standby_feedback', '^on$', 'off'),
    ('vacuum_defer_cleanup_age', '[^0]', '0'), ('old_snapshot_threshold', '^[^-]', '-1'),
    ('synchronous_commit', '^(off|false|no|0)$', 'on')) AS s(name, is_weak, wanted)
  WHERE lower(fence_internal.server_setting(s.name)) ~ s.is_weak
  UNION ALL
  SELECT 'event_triggers_off', 'setting event_triggers', NULL, 'ALTER SYSTEM SET event_triggers = on; SELECT pg_reload_conf()'
  WHERE lower(fence_internal.server_setting('event_triggers')) ~ '^(off|false|no|0)$'
  UNION ALL
  -- Who follows by logical replication is no standby, nor is who only keeps the log.
  SELECT 'no_synchronous_standby', 'setting synchronous_standby_names', NULL,
    format('ALTER SYSTEM SET synchronous_standby_names = %L; SELECT pg_reload_conf()', format('ANY 1 (%s)', s.names))
  FROM (
    SELECT string_agg(DISTINCT quote_ident(r.application_name), ', ') AS names FROM pg_catalog.pg_stat_replication AS r
    WHERE r.state = 'streaming' AND r.application_name NOT IN ('pg_basebackup', 'pg_receivewal')
      AND NOT EXISTS (SELECT FROM pg_catalog.pg_replication_slots AS l WHERE l.active_pid = r.pid AND l.slot_type = 'logical')
  ) AS s
  WHERE s.names IS NOT NULL AND fence_internal.server_setting('synchronous_standby_names') = '' AND NOT pg_is_in_recovery();
END;
COMMENT ON FUNCTION fence_internal.setting_faults() IS 'What fence_doctor finds of the settings of the server';

CREATE FUNCTION fence_internal.namespace_faults()
RETURNS TABLE(kind text, object text, detail text, repair text) STABLE LANGUAGE sql
BEGIN ATOMIC
  SELECT 'mode_' || n.mode, format('namespace %s', n.namespace), NULL, n.repair
  FROM (SELECT *, format('SELECT fence.fence_namespace_set(%L, ''required'', %s, %L)', s.namespace, s.identical_repeat::text, s.shard_space) AS repair
    FROM fence_internal.namespace AS s) AS n
  WHERE n.mode IN ('optional', 'unfenced')
  UNION ALL
  SELECT 'protected_unfenced', format('table %s', t.name), n.namespace,
    format('SELECT fence.fence_namespace_set(%L, ''required'', %s, %L)', n.namespace, n.identical_repeat::text, n.shard_space)
  FROM fence_internal.protected AS p JOIN fence_internal.namespace AS n ON n.namespace = p.namespace AND n.mode = 'unfenced'
  JOIN fence_internal.protected_part AS t ON t.part = p.relation AND t.protected = p.relation
  UNION ALL
  SELECT 'subscription', format('table %s', t.name), quote_ident(s.subname), fence_internal.protect_call(p.relation, NULL, 'apply')
  FROM fence_internal.protected AS p JOIN fence_internal.protected_part AS t ON t.protected = p.relation
  JOIN pg_catalog.pg_subscription_rel AS r ON r.srrelid = t.part JOIN pg_catalog.pg_subscription AS s ON s.oid = r.srsubid
  WHERE p.subscriber = 'refuse';
END;
COMMENT ON FUNCTION fence_internal.namespace_faults() IS 'What fence_doctor finds of namespaces and of what arrives by replication';
