-- What fence_doctor finds of roles: who could get round the fence, and who could hold it up.
-- A writer is a role that can log in and was given fence_grant_writer, itself or by what it is
-- a member of, whether it inherits the right or has to SET ROLE for it.

CREATE VIEW fence_internal.membership(member, role) AS
WITH RECURSIVE m(member, role) AS (
  SELECT a.member, a.roleid FROM pg_catalog.pg_auth_members AS a
  UNION
  SELECT m.member, a.roleid FROM m JOIN pg_catalog.pg_auth_members AS a ON a.member = m.role
)
SELECT * FROM m
UNION
-- The owner of the database is the one member of pg_database_owner.
SELECT d.owner, to_regrole('pg_database_owner')::oid
FROM (
  SELECT b.datdba AS owner FROM pg_catalog.pg_database AS b WHERE b.datname = current_database()
  UNION SELECT m.member FROM m JOIN pg_catalog.pg_database AS b ON b.datdba = m.role WHERE b.datname = current_database()
) AS d;
COMMENT ON VIEW fence_internal.membership IS 'Which role is a member of which, through any number of others';

CREATE VIEW fence_internal.writer AS
SELECT r.oid, r.rolname AS name, r.rolsuper AS is_superuser, r.rolcreaterole AS creates_roles,
  NOT r.rolsuper AND NOT EXISTS (SELECT FROM fence_internal.membership AS m JOIN pg_catalog.pg_roles AS s ON s.oid = m.role AND s.rolsuper
    WHERE m.member = r.oid) AS is_bound
FROM pg_catalog.pg_roles AS r
WHERE r.rolcanlogin AND EXISTS (SELECT FROM fence_internal.access AS a WHERE a.may_write
  AND (a.role = r.oid OR EXISTS (SELECT FROM fence_internal.membership AS m WHERE m.member = r.oid AND m.role = a.role)));
COMMENT ON VIEW fence_internal.writer IS 'Roles that can log in and may write; is_bound: no superuser, and no way to be one';

-- From 16 on a role is a member by the grant of a certain role, which has to be named.
CREATE FUNCTION fence_internal.leave_call(member oid, role oid)
RETURNS text STABLE LANGUAGE sql
BEGIN ATOMIC
  SELECT string_agg(format('REVOKE %I FROM %I', pg_get_userbyid(a.roleid), pg_get_userbyid(a.member))
    || CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN format(' GRANTED BY %I', pg_get_userbyid(a.grantor)) ELSE '' END, '; ')
  FROM pg_catalog.pg_auth_members AS a
  WHERE a.member = $1 AND (a.roleid = $2 OR EXISTS (SELECT FROM fence_internal.membership AS m WHERE m.member = a.roleid AND m.role = $2));
END;
COMMENT ON FUNCTION fence_internal.leave_call(oid, oid) IS 'The REVOKE of all memberships by which a role is a member of another one';

CREATE FUNCTION fence_internal.stop_writing_call(writer oid)
RETURNS text STABLE LANGUAGE sql
BEGIN ATOMIC
  SELECT string_agg(DISTINCT CASE WHEN a.role = $1 THEN format('SELECT fence.fence_revoke_writer(%L)', pg_get_userbyid($1))
    ELSE fence_internal.leave_call($1, a.role) END, '; ')
  FROM fence_internal.access AS a
  WHERE a.may_write AND (a.role = $1 OR EXISTS (SELECT FROM fence_internal.membership AS m WHERE m.member = $1 AND m.role = a.role));
END;
COMMENT ON FUNCTION fence_internal.stop_writing_call(oid) IS 'What takes the right to write from a role, given to it or to what it is a member of';

CREATE FUNCTION fence_internal.writer_faults()
RETURNS TABLE(kind text, object text, detail text, repair text) STABLE LANGUAGE sql
BEGIN ATOMIC
  SELECT f.kind, format('role %I', f.name), f.detail, f.repair
  FROM (
    -- 10 made the cluster, and stays a superuser.
    SELECT 'writer_superuser' AS kind, w.name, NULL AS detail,
      CASE WHEN w.oid IN (10, e.extowner) THEN fence_internal.stop_writing_call(w.oid) ELSE format('ALTER ROLE %I NOSUPERUSER', w.name) END AS repair
    FROM fence_internal.writer AS w, pg_catalog.pg_extension AS e WHERE w.is_superuser AND e.extname = 'fence'
    UNION ALL
    SELECT 'writer_becomes_superuser', w.name, quote_ident(r.rolname), fence_internal.leave_call(w.oid, r.oid)
    FROM fence_internal.writer AS w JOIN fence_internal.membership AS m ON m.member = w.oid JOIN pg_catalog.pg_roles AS r ON r.oid = m.role
    WHERE r.rolsuper AND NOT w.is_superuser
    UNION ALL
    SELECT 'writer_leaves_database', w.name, quote_ident(r.rolname), fence_internal.leave_call(w.oid, r.oid)
    FROM fence_internal.writer AS w JOIN fence_internal.membership AS m ON m.member = w.oid JOIN pg_catalog.pg_roles AS r ON r.oid = m.role
    WHERE r.rolname IN ('pg_execute_server_program', 'pg_write_server_files') AND w.is_bound
    UNION ALL
    SELECT 'writer_creates_roles', w.name, NULL, CASE WHEN w.creates_roles THEN format('ALTER ROLE %I NOCREATEROLE', w.name)
      ELSE (SELECT string_agg(fence_internal.leave_call(w.oid, r.oid), '; ') FROM fence_internal.membership AS m
        JOIN pg_catalog.pg_roles AS r ON r.oid = m.role AND r.rolcreaterole WHERE m.member = w.oid) END
    FROM fence_internal.writer AS w
    WHERE w.is_bound AND current_setting('server_version_num')::integer < 160000 AND (w.creates_roles OR EXISTS (
      SELECT FROM fence_internal.membership AS m JOIN pg_catalog.pg_roles AS r ON r.oid = m.role WHERE m.member = w.oid AND r.rolcreaterole))
    UNION ALL
    SELECT 'writer_owns_extension', w.name, NULL, CASE w.oid WHEN e.extowner THEN fence_internal.stop_writing_call(w.oid) ELSE fence_internal.leave_call(w.oid, e.extowner) END
    FROM fence_internal.writer AS w, pg_catalog.pg_extension AS e
    WHERE w.is_bound AND e.extname = 'fence'
      AND (w.oid = e.extowner OR EXISTS (SELECT FROM fence_internal.membership AS m WHERE m.member = w.oid AND m.role = e.extowner))
    UNION ALL
    SELECT 'write_all_data', r.rolname, NULL, fence_internal.leave_call(r.oid, m.role)
    FROM pg_catalog.pg_roles AS r JOIN fence_internal.membership AS m ON m.member = r.oid
    WHERE r.rolcanlogin AND NOT r.rolsuper AND m.role = to_regrole('pg_write_all_data')::oid
  ) AS f;
END;
COMMENT ON FUNCTION fence_internal.writer_faults() IS 'What fence_doctor finds of what roles are';

-- A role from which a writer has its right to write must not own what it writes to; the members
-- of another one need not be members.
CREATE FUNCTION fence_internal.should_leave(writer oid, owner oid)
RETURNS boolean STABLE LANGUAGE sql
BEGIN ATOMIC
  SELECT $1 <> $2 AND $2 <> to_regrole('pg_database_owner')::oid
    AND NOT EXISTS (SELECT FROM fence_internal.access AS a WHERE a.may_write AND a.role = $2);
END;
COMMENT ON FUNCTION fence_internal.should_leave(oid, oid) IS 'Whether a writer rather leaves the role that owns a table or schema than the owner changes';

-- Grantee 0 is PUBLIC.
CREATE FUNCTION fence_internal.privilege_faults()
RETURNS TABLE(kind text, object text, detail text, repair text) STABLE LANGUAGE sql
BEGIN ATOMIC
  SELECT 'writer_owns_table', format('role %I', w.name), t.protected_name, string_agg(DISTINCT
    CASE WHEN fence_internal.should_leave(w.oid, c.relowner) THEN fence_internal.leave_call(w.oid, c.relowner)
      WHEN c.relowner = e.extowner THEN fence_internal.stop_writing_call(w.oid)
      ELSE format('ALTER TABLE %s OWNER TO %I', t.name, pg_get_userbyid(e.extowner)) END, '; ')
  FROM fence_internal.writer AS w, pg_catalog.pg_extension AS e,
    fence_internal.protected_part AS t JOIN pg_catalog.pg_class AS c ON c.oid = t.part
  WHERE w.is_bound AND e.extname = 'fence'
    AND (w.oid = c.relowner OR EXISTS (SELECT FROM fence_internal.membership AS m WHERE m.member = w.oid AND m.role = c.relowner))
  GROUP BY w.name, t.protected_name
  UNION ALL
  SELECT DISTINCT 'writer_owns_schema', format('role %I', w.name), quote_ident(n.nspname),
    CASE WHEN fence_internal.should_leave(w.oid, n.nspowner) THEN fence_internal.leave_call(w.oid, n.nspowner)
      ELSE format('ALTER SCHEMA %I OWNER TO %I', n.nspname, pg_get_userbyid(e.extowner)) END
  FROM fence_internal.writer AS w, pg_catalog.pg_extension AS e,
    fence_internal.protected_part AS t JOIN pg_catalog.pg_class AS c ON c.oid = t.part JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
  WHERE w.is_bound AND e.extname = 'fence' AND n.nspowner <> e.extowner
    AND (w.oid = n.nspowner OR EXISTS (SELECT FROM fence_internal.membership AS m WHERE m.member = w.oid AND m.role = n.nspowner))
  UNION ALL
  SELECT 'writer_privilege', format('role %I', w.name), format('%s on %s', string_agg(DISTINCT a.privilege_type, ', '), t.protected_name),
    string_agg(DISTINCT format('REVOKE %s ON %s FROM %s', a.privilege_type, t.name,
      CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END), '; ')
  FROM fence_internal.writer AS w, fence_internal.protected_part AS t JOIN pg_catalog.pg_class AS c ON c.oid = t.part, aclexplode(c.relacl) AS a
  WHERE w.is_bound AND a.privilege_type IN ('TRUNCATE', 'TRIGGER') AND a.grantee <> c.relowner
    AND (a.grantee IN (0, w.oid) OR EXISTS (SELECT FROM fence_internal.membership AS m WHERE m.member = w.oid AND m.role = a.grantee))
  GROUP BY w.name, t.protected_name
  UNION ALL
  SELECT 'parameter', format('role %I', r.rolname), p.parname, string_agg(DISTINCT format('REVOKE ALL ON PARAMETER %s FROM %s', p.parname,
    CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END), '; ')
  FROM pg_catalog.pg_roles AS r, pg_catalog.pg_parameter_acl AS p, aclexplode(p.paracl) AS a
  WHERE r.rolcanlogin AND NOT r.rolsuper AND p.parname IN ('session_replication_role', 'event_triggers')
    AND (a.grantee IN (0, r.oid) OR EXISTS (SELECT FROM fence_internal.membership AS m WHERE m.member = r.oid AND m.role = a.grantee))
  GROUP BY r.rolname, p.parname;
END;
COMMENT ON FUNCTION fence_internal.privilege_faults() IS 'What fence_doctor finds of what roles own and were granted';

-- As a session of the role begins in this database, unless its client says otherwise.
CREATE FUNCTION fence_internal.setting_of(role oid, name text)
RETURNS text STABLE LANGUAGE sql
BEGIN ATOMIC
  SELECT coalesce((
    SELECT substr(c.setting, length($2) + 2)
    FROM pg_catalog.pg_db_role_setting AS s, unnest(s.setconfig) AS c(setting)
    WHERE s.setrole IN ($1, 0) AND s.setdatabase IN (0, (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = current_database()))
      AND starts_with(c.setting, $2 || '=')
    ORDER BY s.setrole <> 0 DESC, s.setdatabase <> 0 DESC LIMIT 1
  ), fence_internal.server_setting($2));
END;
COMMENT ON FUNCTION fence_internal.setting_of(oid, text) IS 'A setting as it is for a role in this database, as written';

CREATE FUNCTION fence_internal.milliseconds(written text)
RETURNS numeric IMMUTABLE LANGUAGE sql
BEGIN ATOMIC
  SELECT round(f.found[1]::numeric * CASE f.found[2]
    WHEN 'us' THEN 0.001 WHEN 's' THEN 1000 WHEN 'min' THEN 60000 WHEN 'h' THEN 3600000 WHEN 'd' THEN 86400000 ELSE 1 END)
  FROM (SELECT regexp_match($1, '^\s*\+?((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*(us|ms|s|min|h|d|)\s*$')) AS f(found);
END;
COMMENT ON FUNCTION fence_internal.milliseconds(text) IS 'What a setting that is a time says; NULL: it is written in no usual way';

-- The narrowest form of ALTER ROLE: it goes before all others.
CREATE FUNCTION fence_internal.role_setting_faults()
RETURNS TABLE(kind text, object text, detail text, repair text) STABLE LANGUAGE sql
BEGIN ATOMIC
  SELECT f.kind, format('role %I', w.name), round(w.lock)::text, format('ALTER ROLE %I IN DATABASE %I SET %s', w.name, current_database(), f.wanted)
  FROM (
    SELECT r.name,
      fence_internal.milliseconds(fence_internal.setting_of(r.oid, 'idle_in_transaction_session_timeout')) AS idle,
      fence_internal.milliseconds(fence_internal.setting_of(r.oid, 'statement_timeout')) AS statement,
      fence_internal.milliseconds(fence_internal.setting_of(r.oid, 'lock_timeout')) AS lock,
      lower(fence_internal.setting_of(r.oid, 'synchronous_commit')) AS commit
    FROM fence_internal.writer AS r
  ) AS w CROSS JOIN LATERAL (
    SELECT 'idle_timeout' AS kind, 'idle_in_transaction_session_timeout = ''1min''' AS wanted WHERE w.idle = 0
    UNION ALL SELECT 'statement_timeout', 'statement_timeout = ''5min''' WHERE w.statement = 0
    UNION ALL SELECT 'timeout_order', format('lock_timeout = %s', least(2 * w.idle, 2147483647)) WHERE w.lock > 0 AND w.idle >= w.lock
    UNION ALL SELECT 'writer_asynchronous', 'synchronous_commit = on'
    WHERE w.commit IN ('off', 'false', 'no', '0') AND fence_internal.server_setting('synchronous_commit') NOT IN ('off', 'false', 'no', '0')
  ) AS f;
END;
COMMENT ON FUNCTION fence_internal.role_setting_faults() IS 'What fence_doctor finds of the settings that writers have in this database';

-- With the rights of the owner, as fence_verify; it takes no argument and writes nothing.
CREATE FUNCTION fence.fence_doctor()
RETURNS TABLE(severity text, object text, problem text, repair text) STABLE
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  SELECT f.severity, f.object, f.problem, f.repair
  FROM (
    SELECT o.severity, o.object, o.problem, o.repair FROM fence_internal.own_table_faults() AS o WHERE o.repair IS NOT NULL
    UNION ALL SELECT p.severity, p.object, p.problem, p.repair FROM fence_internal.protection_faults() AS p
    UNION ALL
    SELECT w.severity, r.object, format(w.problem, r.detail), r.repair
    FROM (
      SELECT * FROM fence_internal.extension_faults()
      UNION ALL SELECT * FROM fence_internal.setting_faults()
      UNION ALL SELECT * FROM fence_internal.namespace_faults()
      UNION ALL SELECT * FROM fence_internal.writer_faults()
      UNION ALL SELECT * FROM fence_internal.privilege_faults()
      UNION ALL SELECT * FROM fence_internal.role_setting_faults()
    ) AS r JOIN fence_internal.weakness AS w ON w.kind = r.kind
  ) AS f
  ORDER BY array_position('{error,warning,info}', f.severity), f.object COLLATE "C", f.problem COLLATE "C";
END;
COMMENT ON FUNCTION fence.fence_doctor() IS
'What could undo the protection or let it cost: one row a weakness, with the SQL that takes it away (severity error: the protection does not hold; warning: somebody could undo it, or a failure that is to be expected costs something; info: perhaps it is meant so). Reads the caller''s snapshot, changes nothing; for administrators, also on a standby. No row: nothing found';
