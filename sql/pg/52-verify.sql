-- fence_verify: what stands in Fence's tables and cannot be, or should be looked at. Plain
-- SQL over the tables, in the caller's snapshot. Nothing here repairs anything.

CREATE FUNCTION fence_internal.record_hash(namespace text, key text)
RETURNS bigint IMMUTABLE LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_record_hash';
COMMENT ON FUNCTION fence_internal.record_hash(text, text) IS 'The hash of a record''s name that stands in lock tags';
CREATE FUNCTION fence_internal.table_fault(own regclass)
RETURNS text STABLE STRICT LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_table_fault';
COMMENT ON FUNCTION fence_internal.table_fault(regclass) IS 'Why the calls refuse one of Fence''s tables; NULL: they do not';

-- A row says which life of the key it belongs to by its epoch; -1 is of the present one.
CREATE VIEW fence_internal.live_record AS
SELECT r.namespace, r.key, r.epoch, r.writer, r.born, r.tail_at_claim, r.reset_last,
  greatest(r.trimmed, (SELECT max(m.trimmed) FROM fence_internal.trim_mark AS m
    WHERE m.namespace = r.namespace AND m.key = r.key AND (m.epoch = -1 OR m.epoch >= r.born))) AS trimmed
FROM fence_internal.record AS r WHERE r.deleted_at IS NULL;
COMMENT ON VIEW fence_internal.live_record IS 'Records of keys that are not deleted, with up to where their logs are trimmed';
CREATE VIEW fence_internal.live_entry AS
SELECT r.namespace, r.key, e.idx, e.epoch, r.epoch AS record_epoch, r.reset_last, r.trimmed
FROM fence_internal.live_record AS r JOIN fence_internal.entry AS e ON e.namespace = r.namespace AND e.key = r.key
WHERE e.idx > r.trimmed AND (e.epoch = -1 OR e.epoch >= r.born);
COMMENT ON VIEW fence_internal.live_entry IS 'Entries that a reader sees';

-- What a trigger is for stands in its tgtype: 31 is before INSERT, UPDATE and DELETE of each
-- row, 34 before TRUNCATE. repair: the SQL that mends it; NULL: there is none.
CREATE FUNCTION fence_internal.own_guard_faults()
RETURNS TABLE(kind text, object text, detail text, repair text) STABLE LANGUAGE sql
BEGIN ATOMIC
  SELECT f.kind, format('trigger %s on fence_internal.%s', f.name, f.table_name), NULL,
    CASE WHEN f.kind = 'own_trigger_hollow' THEN format('DROP TRIGGER %I ON fence_internal.%I; ', f.name, f.table_name) ELSE '' END
    || CASE WHEN f.kind <> 'own_trigger_weak' THEN format('CREATE TRIGGER %I BEFORE %s ON fence_internal.%I FOR EACH %s EXECUTE FUNCTION %s(); ',
      f.name, f.events, f.table_name, f.each, f.function) ELSE '' END
    || format('ALTER TABLE fence_internal.%I ENABLE ALWAYS TRIGGER %I', f.table_name, f.name)
  FROM (
    SELECT c.relname AS table_name, wanted.*, own.function,
      CASE WHEN t.oid IS NULL THEN 'own_trigger_missing' WHEN t.tgenabled <> 'A' THEN 'own_trigger_weak' ELSE 'own_trigger_hollow' END AS kind
    FROM pg_catalog.pg_class AS c
    CROSS JOIN (VALUES ('guard_rows', 31, 'INSERT OR UPDATE OR DELETE', 'ROW'), ('guard_truncate', 34, 'TRUNCATE', 'STATEMENT')) AS wanted(name, type, events, each)
    CROSS JOIN LATERAL (SELECT CASE c.relname WHEN 'access' THEN 'fence_internal.guard_access' ELSE 'fence_internal.guard' END) AS own(function)
    LEFT JOIN pg_catalog.pg_trigger AS t ON t.tgrelid = c.oid AND t.tgname = wanted.name
    WHERE c.relnamespace = 'fence_internal'::regnamespace AND c.relkind = 'r'
      AND (t.tgenabled, t.tgtype, t.tgfoid, t.tgattr::text, t.tgqual IS NULL) IS DISTINCT FROM
        ('A'::"char", wanted.type::smallint, own.function::regproc::oid, '', true)
  ) AS f
  UNION ALL
  SELECT 'own_trigger_foreign', format('trigger %I on fence_internal.%I', t.tgname, c.relname), NULL,
    format('DROP TRIGGER %I ON fence_internal.%I', t.tgname, c.relname)
  FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_trigger AS t ON t.tgrelid = c.oid
  WHERE c.relnamespace = 'fence_internal'::regnamespace AND c.relkind = 'r'
    AND t.tgname NOT IN ('guard_rows', 'guard_truncate') AND NOT t.tgisinternal
  UNION ALL
  SELECT 'own_function', format('function fence_internal.%s()', f.name), NULL, f.repair
  FROM fence_internal.function_faults() AS f WHERE f.name IN ('guard', 'guard_access');
END;
COMMENT ON FUNCTION fence_internal.own_guard_faults() IS 'What is wrong with the guards of Fence''s own tables';

-- A foreign part is named in what the calls say of it.
CREATE FUNCTION fence_internal.foreign_part_repair(own regclass, fault text)
RETURNS text STABLE LANGUAGE sql
BEGIN ATOMIC
  SELECT p.repair FROM (
    SELECT format('constraint %I of %I.%I', o.conname, n.nspname, c.relname) AS part,
      format('ALTER TABLE %I.%I DROP CONSTRAINT %I', n.nspname, c.relname, o.conname) AS repair
    FROM pg_catalog.pg_constraint AS o JOIN pg_catalog.pg_class AS c ON c.oid = o.conrelid
    JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    WHERE $1 IN (o.conrelid, o.confrelid)
    UNION ALL
    SELECT format('index %I.%I', n.nspname, c.relname), format('DROP INDEX %I.%I', n.nspname, c.relname)
    FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
    JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    WHERE i.indrelid = $1
    UNION ALL
    SELECT format('table %I.%I, which inherits from fence_internal.%I', n.nspname, c.relname, own.relname),
      format('ALTER TABLE %I.%I NO INHERIT fence_internal.%I', n.nspname, c.relname, own.relname)
    FROM pg_catalog.pg_inherits AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.inhrelid
    JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    JOIN pg_catalog.pg_class AS own ON own.oid = i.inhparent
    WHERE i.inhparent = $1
  ) AS p
  WHERE position('have the ' || p.part || ', which Fence did not make' IN $2) > 0 LIMIT 1;
END;
COMMENT ON FUNCTION fence_internal.foreign_part_repair(regclass, text) IS 'The SQL that takes away what fence_internal.table_fault says that Fence did not make; NULL: it says something else';

CREATE FUNCTION fence_internal.own_table_faults()
RETURNS TABLE(kind text, severity text, object text, problem text, repair text) STABLE LANGUAGE sql
BEGIN ATOMIC
  SELECT w.kind, w.severity, f.object, format(w.problem, f.detail), f.repair
  FROM (
    SELECT * FROM fence_internal.own_guard_faults()
    UNION ALL
    -- But for those that REINDEX CONCURRENTLY makes or leaves behind.
    SELECT 'own_index', format('index fence_internal.%I', c.relname), NULL, format('REINDEX INDEX fence_internal.%I', c.relname)
    FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
    WHERE c.relnamespace = 'fence_internal'::regnamespace AND NOT i.indisvalid AND c.relname !~ '_cc(new|old)[0-9]*$'
    UNION ALL
    SELECT 'own_fault', format('table fence_internal.%I', c.relname), f.fault, fence_internal.foreign_part_repair(c.oid, f.fault)
    FROM pg_catalog.pg_class AS c, fence_internal.table_fault(c.oid) AS f(fault)
    WHERE c.relnamespace = 'fence_internal'::regnamespace AND c.relkind = 'r' AND f.fault IS NOT NULL
    UNION ALL
    SELECT 'own_rule', format('rule %I on fence_internal.%I', r.rulename, c.relname), NULL,
      format('DROP RULE %I ON fence_internal.%I', r.rulename, c.relname)
    FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_rewrite AS r ON r.ev_class = c.oid
    WHERE c.relnamespace = 'fence_internal'::regnamespace AND c.relkind = 'r'
    UNION ALL
    SELECT 'own_unlogged', format('table fence_internal.%I', c.relname), NULL, format('ALTER TABLE fence_internal.%I SET LOGGED', c.relname)
    FROM pg_catalog.pg_class AS c
    WHERE c.relnamespace = 'fence_internal'::regnamespace AND c.relkind = 'r' AND c.relpersistence <> 'p'
  ) AS f JOIN fence_internal.weakness AS w ON w.kind = f.kind;
END;
COMMENT ON FUNCTION fence_internal.own_table_faults() IS 'What is wrong with Fence''s own tables, for fence_verify and fence_doctor';

CREATE FUNCTION fence_internal.verify_records(namespace text, key text)
RETURNS TABLE(severity text, object text, problem text, namespace text, key text, idx bigint) STABLE LANGUAGE sql
BEGIN ATOMIC
  SELECT 'error', 'record', p.problem, r.namespace, r.key, NULL::bigint
  FROM fence_internal.record AS r, LATERAL (
    SELECT 'its epoch cannot be' WHERE r.epoch < -1 OR (r.epoch = -1 AND r.writer <> '\x00000000000000000000000000000000')
    UNION ALL SELECT 'its writer cannot be' WHERE octet_length(r.writer) <> 16
    UNION ALL SELECT 'a mark of its log cannot be' WHERE least(r.tail_at_claim, r.trimmed, r.reset_last) < -1
    UNION ALL SELECT 'its hash is not that of its name' WHERE r.hash <> fence_internal.record_hash(r.namespace, r.key)
  ) AS p(problem)
  WHERE ($1 IS NULL OR r.namespace = $1) AND ($2 IS NULL OR r.key = $2)
  UNION ALL
  SELECT 'error', 'record', 'the log ends before the idx that the record says it reached', r.namespace, r.key, r.tail_at_claim
  FROM fence_internal.live_record AS r
  WHERE ($1 IS NULL OR r.namespace = $1) AND ($2 IS NULL OR r.key = $2)
    AND r.tail_at_claim > r.trimmed AND NOT EXISTS (
      SELECT FROM fence_internal.entry AS e
      WHERE e.namespace = r.namespace AND e.key = r.key AND e.idx >= r.tail_at_claim AND (e.epoch = -1 OR e.epoch >= r.born))
  UNION ALL
  SELECT 'error', 'namespace', CASE WHEN n.floor < -1 THEN 'its floor cannot be' ELSE 'its mode cannot be' END, n.namespace, NULL, NULL
  FROM fence_internal.namespace AS n
  WHERE ($1 IS NULL OR n.namespace = $1) AND $2 IS NULL
    AND (n.floor < -1 OR n.mode NOT IN ('required', 'unfenced', 'optional'))
  UNION ALL
  SELECT 'error', o.object, 'has no record', o.namespace, o.key, o.idx
  FROM (
    SELECT 'entry' AS object, e.namespace, e.key, min(e.idx) AS idx FROM fence_internal.entry AS e
    WHERE ($1 IS NULL OR e.namespace = $1) AND ($2 IS NULL OR e.key = $2) GROUP BY e.namespace, e.key
    UNION ALL SELECT DISTINCT 'value', v.namespace, v.key, NULL::bigint FROM fence_internal.value AS v
    WHERE ($1 IS NULL OR v.namespace = $1) AND ($2 IS NULL OR v.key = $2)
    UNION ALL SELECT DISTINCT 'trim mark', m.namespace, m.key, NULL::bigint FROM fence_internal.trim_mark AS m
    WHERE ($1 IS NULL OR m.namespace = $1) AND ($2 IS NULL OR m.key = $2)
  ) AS o
  WHERE NOT EXISTS (SELECT FROM fence_internal.record AS r WHERE r.namespace = o.namespace AND r.key = o.key);
END;
COMMENT ON FUNCTION fence_internal.verify_records(text, text) IS 'What fence_verify says of records, and of what has none';

-- Of each kind the first one of a key, so that a log that counts in steps says it once.
CREATE FUNCTION fence_internal.verify_entries(namespace text, key text)
RETURNS TABLE(severity text, object text, problem text, namespace text, key text, idx bigint) STABLE LANGUAGE sql
BEGIN ATOMIC
  SELECT p.severity, 'entry', p.problem, e.namespace, e.key, min(p.idx)
  FROM (
    SELECT l.namespace, l.key, l.idx, l.epoch, l.record_epoch, l.reset_last,
      lag(l.idx, 1, CASE WHEN l.trimmed >= 0 THEN l.trimmed END) OVER earlier AS previous_idx,
      max(l.epoch) FILTER (WHERE l.idx > l.reset_last) OVER earlier AS highest_epoch
    FROM fence_internal.live_entry AS l
    WHERE ($1 IS NULL OR l.namespace = $1) AND ($2 IS NULL OR l.key = $2)
    WINDOW earlier AS (PARTITION BY l.namespace, l.key ORDER BY l.idx, l.epoch)
  ) AS e, LATERAL (
    SELECT 'error', 'its epoch is above that of the record', e.idx WHERE e.epoch > e.record_epoch AND e.idx > e.reset_last
    UNION ALL SELECT 'error', 'its idx is stored twice', e.idx WHERE e.idx = e.previous_idx
    UNION ALL SELECT 'info', 'nothing stands at this idx, and no trim made the gap', e.previous_idx + 1 WHERE e.idx - 1 > e.previous_idx
    UNION ALL SELECT 'info', 'its epoch is below that of an earlier idx: a later owner stored there', e.idx
    WHERE e.epoch <> -1 AND e.epoch < e.highest_epoch AND e.idx > e.reset_last
  ) AS p(severity, problem, idx)
  GROUP BY p.severity, p.problem, e.namespace, e.key
  UNION ALL
  SELECT 'error', 'entry', 'its idx or epoch cannot be', e.namespace, e.key, min(e.idx)
  FROM fence_internal.entry AS e
  WHERE ($1 IS NULL OR e.namespace = $1) AND ($2 IS NULL OR e.key = $2) AND (e.idx < 0 OR e.epoch < -1)
  GROUP BY e.namespace, e.key;
END;
COMMENT ON FUNCTION fence_internal.verify_entries(text, text) IS 'What fence_verify says of entries';

-- Planned for the names at hand, so that one key is not looked for in all of the tables.
CREATE FUNCTION fence_internal.verify(of_namespace text, of_key text)
RETURNS TABLE(severity text, object text, problem text, namespace text, key text, idx bigint) STABLE
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
  SELECT t.severity, t.object, t.problem, NULL::text, NULL::text, NULL::bigint FROM fence_internal.own_table_faults() AS t
  UNION ALL SELECT * FROM fence_internal.verify_records(of_namespace, of_key)
  UNION ALL SELECT * FROM fence_internal.verify_entries(of_namespace, of_key);
END
$$;
COMMENT ON FUNCTION fence_internal.verify(text, text) IS 'What fence_verify says, for who may read the tables';

-- With the rights of the owner, who alone may read the tables: EXECUTE on it is the right to
-- call it, as with the calls in C. It takes two texts and writes nothing.
CREATE FUNCTION fence.fence_verify(namespace text DEFAULT NULL, key text DEFAULT NULL)
RETURNS TABLE(severity text, object text, problem text, namespace text, key text, idx bigint) STABLE
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  SELECT * FROM fence_internal.verify($1, $2);
END;
COMMENT ON FUNCTION fence.fence_verify(text, text) IS
'What stands in Fence''s tables and cannot be (severity error), or should be looked at (info); NULL: of all namespaces, of all keys. Of each problem the first idx of a key. Reads the caller''s snapshot, takes no lock, changes nothing; for administrators. No row: nothing found';
