-- What is wrong with the protection of the user's tables. Reads the catalogs in the caller's
-- snapshot and takes no lock on what it looks at.

CREATE FUNCTION fence_internal.function_faults()
RETURNS TABLE(name text, repair text) STABLE LANGUAGE sql
BEGIN ATOMIC
  -- P48: this script replaces nothing itself, and a test looks for the words.
  SELECT p.proname::text, format('CREATE OR %s FUNCTION fence_internal.%I() RETURNS trigger LANGUAGE c AS %L, %L',
    'REPLACE', p.proname, as_made.probin, 'fence_pg_' || p.proname)
  FROM pg_catalog.pg_proc AS p JOIN pg_catalog.pg_language AS l ON l.oid = p.prolang,
    pg_catalog.pg_proc AS as_made
  WHERE as_made.oid = 'fence.fence_version()'::regprocedure
    AND p.oid IN ('fence_internal.guard()'::regprocedure, 'fence_internal.guard_access()'::regprocedure,
      'fence_internal.check_row()'::regprocedure, 'fence_internal.refuse_truncate()'::regprocedure)
    AND (l.lanname, p.prosrc, p.probin, p.prosecdef, p.proconfig IS NULL) IS DISTINCT FROM
      ('c', 'fence_pg_' || p.proname, as_made.probin, false, true);
END;
COMMENT ON FUNCTION fence_internal.function_faults() IS 'Trigger functions of Fence that somebody has replaced';

-- The tables that are protected, and their partitions at any depth.
CREATE VIEW fence_internal.protected_part AS
WITH RECURSIVE tree(protected, part) AS (
  SELECT p.relation::oid, p.relation::oid FROM fence_internal.protected AS p
  UNION ALL
  SELECT t.protected, i.inhrelid
  FROM tree AS t JOIN pg_catalog.pg_inherits AS i ON i.inhparent = t.part AND NOT i.inhdetachpending
  JOIN pg_catalog.pg_class AS c ON c.oid = i.inhrelid AND c.relispartition
)
SELECT t.protected, t.part, format('%I.%I', n.nspname, c.relname) AS name, c.relkind, c.relpersistence, c.relhastriggers,
  format('%I.%I', root_n.nspname, root.relname) AS protected_name
FROM tree AS t JOIN pg_catalog.pg_class AS c ON c.oid = t.part JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_class AS root ON root.oid = t.protected JOIN pg_catalog.pg_namespace AS root_n ON root_n.oid = root.relnamespace;
COMMENT ON VIEW fence_internal.protected_part IS 'Protected tables and their partitions: a protected table is a part of itself';

-- With the settings that are registered, or these instead.
CREATE FUNCTION fence_internal.protect_call(protected oid, key_columns text[] DEFAULT NULL, subscriber text DEFAULT NULL)
RETURNS text STABLE LANGUAGE sql
BEGIN ATOMIC
  SELECT format('SELECT fence.fence_protect(%L, %L', format('%I.%I', n.nspname, c.relname), p.namespace)
    || CASE WHEN p.key IS NULL THEN format(', %L', to_jsonb(coalesce($2, p.key_columns))) ELSE format(', key => %L', p.key) END
    || CASE WHEN p.authority <> 'epoch' THEN format(', by => %L', p.authority) ELSE '' END
    || CASE WHEN coalesce($3, p.subscriber) <> 'refuse' THEN format(', subscriber => %L', coalesce($3, p.subscriber)) ELSE '' END
    || ')'
  FROM fence_internal.protected AS p JOIN pg_catalog.pg_class AS c ON c.oid = p.relation
  JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
  WHERE p.relation = $1;
END;
COMMENT ON FUNCTION fence_internal.protect_call(oid, text[], text) IS 'The call of fence_protect that protects a table again as it is registered, or with other settings';

CREATE FUNCTION fence_internal.protected_table_faults()
RETURNS TABLE(protected oid, part oid, kind text, object text, detail text, repair text) STABLE LANGUAGE sql
BEGIN ATOMIC
  SELECT p.relation::oid, NULL::oid, 'gone', format('table %s', p.protected_as), NULL, format('SELECT fence.fence_unprotect(%s)', p.relation::oid)
  FROM fence_internal.protected AS p
  WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_class AS c WHERE c.oid = p.relation)
  UNION ALL
  SELECT t.protected, t.part, CASE WHEN to_regclass(p.protected_as) IS NULL THEN 'renamed' ELSE 'impostor' END,
    format('table %s', t.name), p.protected_as, fence_internal.protect_call(t.protected)
  FROM fence_internal.protected_part AS t JOIN fence_internal.protected AS p ON p.relation = t.protected
  WHERE t.part = t.protected AND t.name <> p.protected_as
  UNION ALL
  SELECT t.protected, t.part, 'unlogged', format('table %s', t.name), NULL, format('ALTER TABLE %s SET LOGGED', t.name)
  FROM fence_internal.protected_part AS t WHERE t.relpersistence <> 'p'
  UNION ALL
  SELECT t.protected, t.part, 'triggers_unseen', format('table %s', t.name), NULL,
    format('UPDATE pg_catalog.pg_class SET relhastriggers = true WHERE oid = %L::regclass', t.name)
  FROM fence_internal.protected_part AS t WHERE NOT t.relhastriggers
    AND EXISTS (SELECT FROM pg_catalog.pg_trigger AS g WHERE g.tgrelid = t.part)
  UNION ALL
  SELECT t.protected, i.inhrelid, 'child', format('table %I.%I', n.nspname, c.relname), t.name,
    format('ALTER TABLE %I.%I NO INHERIT %s', n.nspname, c.relname, t.name)
  FROM fence_internal.protected_part AS t JOIN pg_catalog.pg_inherits AS i ON i.inhparent = t.part
  JOIN pg_catalog.pg_class AS c ON c.oid = i.inhrelid AND NOT c.relispartition
  JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'f')
  UNION ALL
  SELECT t.protected, i.inhrelid, 'detach_pending', format('table %I.%I', n.nspname, c.relname), t.name,
    format('ALTER TABLE %s DETACH PARTITION %I.%I FINALIZE; DROP TRIGGER fence_truncate ON %2$I.%3$I', t.name, n.nspname, c.relname)
  FROM fence_internal.protected_part AS t JOIN pg_catalog.pg_inherits AS i ON i.inhparent = t.part AND i.inhdetachpending
  JOIN pg_catalog.pg_class AS c ON c.oid = i.inhrelid
  JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
  UNION ALL
  SELECT t.protected, t.part, CASE c.relkind WHEN 'p' THEN 'attached' ELSE 'parent' END, format('table %s', t.name), format('%I.%I', n.nspname, c.relname),
    CASE c.relkind WHEN 'p' THEN format('ALTER TABLE %I.%I DETACH PARTITION %s', n.nspname, c.relname, t.name)
      ELSE format('ALTER TABLE %s NO INHERIT %I.%I', t.name, n.nspname, c.relname) END
  FROM fence_internal.protected_part AS t JOIN pg_catalog.pg_inherits AS i ON i.inhrelid = t.part
  JOIN pg_catalog.pg_class AS c ON c.oid = i.inhparent
  JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE t.part = t.protected
  UNION ALL
  SELECT t.protected, t.part, 'foreign_partition', format('foreign table %s', t.name), t.protected_name,
    format('ALTER TABLE %I.%I DETACH PARTITION %s', n.nspname, c.relname, t.name)
  FROM fence_internal.protected_part AS t JOIN pg_catalog.pg_inherits AS i ON i.inhrelid = t.part
  JOIN pg_catalog.pg_class AS c ON c.oid = i.inhparent
  JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE t.relkind = 'f' AND t.part <> t.protected;
END;
COMMENT ON FUNCTION fence_internal.protected_table_faults() IS 'What is wrong with protected tables as such';

-- By the number that a key column had when the table was protected.
CREATE FUNCTION fence_internal.key_faults()
RETURNS TABLE(protected oid, part oid, kind text, object text, detail text, repair text) STABLE LANGUAGE sql
BEGIN ATOMIC
  SELECT k.protected, k.protected, w.kind, format('table %s', k.table_name), w.detail, w.repair
  FROM (
    SELECT t.protected, t.name AS table_name, key.name, a.attname, a.attnotnull, format_type(a.atttypid, a.atttypmod) AS type, o.collisdeterministic,
      a.atttypid = ANY ('{int2,int4,int8,text,varchar,uuid,bool}'::regtype[]) AS type_is_exact,
      EXISTS (SELECT FROM pg_catalog.pg_attribute AS other WHERE other.attrelid = t.protected AND other.attname = key.name AND NOT other.attisdropped) AS name_is_there,
      (SELECT array_agg(coalesce(now.attname, each.name) ORDER BY each.place) FROM unnest(p.key_columns, p.key_attributes) WITH ORDINALITY AS each(name, number, place)
        LEFT JOIN pg_catalog.pg_attribute AS now ON now.attrelid = t.protected AND now.attnum = each.number AND NOT now.attisdropped) AS present_names
    FROM fence_internal.protected AS p JOIN fence_internal.protected_part AS t ON t.protected = p.relation AND t.part = p.relation
    CROSS JOIN LATERAL unnest(p.key_columns, p.key_attributes) AS key(name, number)
    LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid = t.protected AND a.attnum = key.number AND NOT a.attisdropped
    LEFT JOIN pg_catalog.pg_collation AS o ON o.oid = a.attcollation
  ) AS k CROSS JOIN LATERAL (
    SELECT 'key_dropped' AS kind, quote_ident(k.name) AS detail,
      CASE WHEN k.name_is_there THEN fence_internal.protect_call(k.protected)
        ELSE format('SELECT fence.fence_unprotect(%L)', k.table_name) END AS repair
    WHERE k.attname IS NULL
    UNION ALL
    SELECT 'key_renamed', format('%I is called %I now', k.name, k.attname), fence_internal.protect_call(k.protected, k.present_names)
    WHERE k.attname <> k.name
    UNION ALL
    SELECT 'key_type', format('%I is of type %s', k.attname, k.type || CASE WHEN k.type_is_exact THEN ' of a collation that takes different texts for equal' ELSE '' END),
      format('ALTER TABLE %s ALTER COLUMN %I TYPE text COLLATE "default"', k.table_name, k.attname)
    WHERE NOT k.type_is_exact OR NOT k.collisdeterministic
    UNION ALL
    SELECT 'key_nullable', quote_ident(k.attname), format('ALTER TABLE %s ALTER COLUMN %I SET NOT NULL', k.table_name, k.attname)
    WHERE NOT k.attnotnull
  ) AS w;
END;
COMMENT ON FUNCTION fence_internal.key_faults() IS 'What is wrong with the key columns of protected tables';

-- tgtype: 29 is after INSERT, UPDATE and DELETE of each row, 34 before TRUNCATE. A constraint
-- trigger cannot be put in the place of one by a role that has no more than TRIGGER.
CREATE FUNCTION fence_internal.protection_trigger_faults()
RETURNS TABLE(protected oid, part oid, kind text, object text, detail text, repair text) STABLE LANGUAGE sql
BEGIN ATOMIC
  SELECT t.protected, t.part,
    CASE WHEN g.oid IS NULL THEN 'trigger_missing' WHEN as_made.yes THEN 'trigger_weak' ELSE 'trigger_hollow' END,
    format('trigger %s on %s', wanted.name, t.name), NULL,
    CASE WHEN as_made.yes THEN format('ALTER TABLE %s ENABLE ALWAYS TRIGGER %I', t.name, wanted.name)
      ELSE fence_internal.protect_call(t.protected) END
  FROM fence_internal.protected_part AS t
  CROSS JOIN (VALUES ('fence_rows', 29, 'fence_internal.check_row()'::regprocedure, true),
    ('fence_truncate', 34, 'fence_internal.refuse_truncate()'::regprocedure, false)) AS wanted(name, type, function, is_constraint)
  LEFT JOIN pg_catalog.pg_trigger AS g ON g.tgrelid = t.part AND g.tgname = wanted.name
  CROSS JOIN LATERAL (SELECT coalesce((g.tgtype, g.tgfoid, g.tgattr::text, g.tgqual IS NULL, g.tgdeferrable, g.tgconstraint <> 0) =
    (wanted.type::smallint, wanted.function::oid, '', true, false, wanted.is_constraint), false)) AS as_made(yes)
  WHERE t.relkind <> 'f' AND NOT (as_made.yes AND g.tgenabled = 'A')
  UNION ALL
  -- That of a partition goes with the one that it was made for.
  SELECT t.protected, t.part, 'foreign_trigger', format('trigger %I on %s', g.tgname, t.name), NULL, format('DROP TRIGGER %I ON %s', g.tgname, t.name)
  FROM fence_internal.protected_part AS t JOIN pg_catalog.pg_trigger AS g ON g.tgrelid = t.part
  WHERE NOT g.tgisinternal AND g.tgparentid = 0 AND g.tgname NOT IN ('fence_rows', 'fence_truncate')
  UNION ALL
  SELECT t.protected, t.part, 'rule', format('rule %I on %s', r.rulename, t.name), NULL, format('DROP RULE %I ON %s', r.rulename, t.name)
  FROM fence_internal.protected_part AS t JOIN pg_catalog.pg_rewrite AS r ON r.ev_class = t.part
  UNION ALL
  SELECT NULL, s.part, CASE WHEN s.has_rows THEN 'unregistered' ELSE 'detached' END, format('table %s', s.name), NULL, s.repair
  FROM (
    SELECT g.tgrelid AS part, format('%I.%I', n.nspname, c.relname) AS name, bool_or(g.tgfoid = 'fence_internal.check_row()'::regprocedure) AS has_rows,
      string_agg(format('DROP TRIGGER %I ON %I.%I', g.tgname, n.nspname, c.relname), '; ' ORDER BY g.tgname) AS repair
    FROM pg_catalog.pg_trigger AS g JOIN pg_catalog.pg_class AS c ON c.oid = g.tgrelid JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    WHERE g.tgfoid IN ('fence_internal.check_row()'::regprocedure, 'fence_internal.refuse_truncate()'::regprocedure) AND g.tgparentid = 0
      AND NOT EXISTS (SELECT FROM fence_internal.protected_part AS t WHERE t.part = g.tgrelid)
      AND NOT EXISTS (SELECT FROM pg_catalog.pg_inherits AS i WHERE i.inhrelid = g.tgrelid AND i.inhdetachpending)
    GROUP BY g.tgrelid, n.nspname, c.relname
  ) AS s;
END;
COMMENT ON FUNCTION fence_internal.protection_trigger_faults() IS 'What is wrong with the triggers of protected tables, and what else stands beside them';

CREATE FUNCTION fence_internal.protection_faults(of regclass DEFAULT NULL)
RETURNS TABLE(protected regclass, part regclass, kind text, severity text, object text, problem text, repair text) STABLE LANGUAGE sql
BEGIN ATOMIC
  SELECT f.protected::regclass, f.part::regclass, w.kind, w.severity, f.object, format(w.problem, f.detail), f.repair
  FROM (
    SELECT * FROM fence_internal.protected_table_faults()
    UNION ALL SELECT * FROM fence_internal.key_faults()
    UNION ALL SELECT * FROM fence_internal.protection_trigger_faults()
    UNION ALL SELECT NULL, NULL, 'function', format('function fence_internal.%s()', p.name), NULL, p.repair
    FROM fence_internal.function_faults() AS p WHERE p.name IN ('check_row', 'refuse_truncate')
  ) AS f JOIN fence_internal.weakness AS w ON w.kind = f.kind
  WHERE $1 IS NULL OR $1 IN (f.protected, f.part) OR f.kind = 'function';
END;
COMMENT ON FUNCTION fence_internal.protection_faults(regclass) IS
'What is wrong with the protection of a table, named by its root or a part of it (NULL: of all), with the SQL that repairs it. protected is NULL where what is found belongs to no protected table';
