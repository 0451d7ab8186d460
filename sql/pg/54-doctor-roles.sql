-- What fence_doctor finds of roles: who could get round the fence, and who could hold it up.
-- A writer is a role that can log in and was given fence_grant_writer, itself or by what it is
-- a member of, whether it inherits the right or has to SET ROLE for it.

-- Each role is a member of itself here: a join finds both, where an OR would go through all of
-- it for each row.
CREATE VIEW fence_internal.membership(member, role) AS
WITH RECURSIVE direct(member, role) AS (
  SELECT a.member, a.roleid FROM pg_catalog.pg_auth_members AS a
  -- The owner of the database is the one member of pg_database_owner.
  UNION ALL SELECT d.datdba, r.oid FROM pg_catalog.pg_database AS d, pg_catalog.pg_roles AS r
  WHERE d.datname = current_database() AND r.rolname = 'pg_database_owner'
), m(member, role) AS (
  SELECT r.oid, r.oid FROM pg_catalog.pg_roles AS r
  UNION
  SELECT m.member, d.role FROM m JOIN direct AS d ON d.member = m.role
)
SELECT m.member, m.role FROM m;
COMMENT ON VIEW fence_internal.membership IS 'Which role is a member of which, through any number of others, or none: of itself';

CREATE VIEW fence_internal.writer AS
SELECT r.oid, r.rolname AS name, r.rolsuper AS is_superuser, reach.creates_roles, NOT reach.is_superuser AS is_bound
FROM pg_catalog.pg_roles AS r
JOIN (
  SELECT m.member, bool_or(s.rolsuper) AS is_superuser, bool_or(s.rolcreaterole) AS creates_roles, bool_or(a.role IS NOT NULL) AS may_write
  FROM fence_internal.membership AS m JOIN pg_catalog.pg_roles AS s ON s.oid = m.role
  LEFT JOIN fence_internal.access AS a ON a.role = m.role AND a.may_write
  GROUP BY m.member
) AS reach ON reach.member = r.oid
WHERE r.rolcanlogin AND reach.may_write;
COMMENT ON VIEW fence_internal.writer IS 'Roles that can log in and may write; is_bound: no superuser, and no way to be one; creates_roles: also through what it is a member of';

-- From 16 on a role is a member by the grant of a certain role, which has to be named.
CREATE FUNCTION fence_internal.leave_call(member oid, role oid)
RETURNS text STABLE LANGUAGE sql
BEGIN ATOMIC
  SELECT string_agg(format('REVOKE %I FROM %I', pg_get_userbyid(a.roleid), pg_get_userbyid(a.member))
    || CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN format(' GRANTED BY %I', pg_get_userbyid(a.grantor)) ELSE '' END, '; ')
  FROM pg_catalog.pg_auth_members AS a
  WHERE a.member = $1 AND EXISTS (SELECT FROM fence_internal.membership AS m WHERE m.member = a.roleid AND m.role = $2);
END;
COMMENT ON FUNCTION fence_internal.leave_call(oid, oid) IS 'The REVOKE of all memberships by which a role is a member of another one';

CREATE FUNCTION fence_internal.stop_writing_call(writer oid)
RETURNS text STABLE LANGUAGE sql
BEGIN ATOMIC
  SELECT string_agg(DISTINCT CASE WHEN a.role = $1 THEN format('SELECT fence.fence_revoke_writer(%L)', pg_get_userbyid($1))
    ELSE fence_internal.leave_call($1, a.role) END, '; ')
  FROM fence_internal.access AS a JOIN fence_internal.membership AS m ON m.member = $1 AND m.role = a.role
  WHERE a.may_write;
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
    SELECT 'writer_creates_roles', w.name, NULL, (
      SELECT string_agg(CASE r.oid WHEN w.oid THEN format('ALTER ROLE %I NOCREATEROLE', w.name) ELSE fence_internal.leave_call(w.oid, r.oid) END, '; ')
      FROM fence_internal.membership AS m JOIN pg_catalog.pg_roles AS r ON r.oid = m.role WHERE m.member = w.oid AND r.rolcreaterole)
    FROM fence_internal.writer AS w
    WHERE w.is_bound AND w.creates_roles AND current_setting('server_version_num')::integer < 160000
    UNION ALL
    SELECT 'writer_owns_extension', w.name, NULL, CASE w.oid WHEN e.extowner THEN fence_internal.stop_writing_call(w.oid) ELSE fence_internal.leave_call(w.oid, e.extowner) END
    FROM fence_internal.writer AS w JOIN fence_internal.membership AS m ON m.member = w.oid
    JOIN pg_catalog.pg_extension AS e ON e.extowner = m.role
    WHERE w.is_bound AND e.extname = 'fence'
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

-- Grantee 0 is PUBLIC: everybody.
CREATE VIEW fence_internal.grantee(role, grantee) AS
SELECT m.member, m.role FROM fence_internal.membership AS m
UNION ALL SELECT r.oid, 0 FROM pg_catalog.pg_roles AS r;
COMMENT ON VIEW fence_internal.grantee IS 'As whom a role is granted something';

CREATE FUNCTION fence_internal.privilege_faults()
RETURNS TABLE(kind text, object text, detail text, repair text) STABLE LANGUAGE sql
BEGIN ATOMIC
  SELECT 'writer_owns_table', format('role %I', w.name), t.protected_name, string_agg(DISTINCT
    CASE WHEN fence_internal.should_leave(w.oid, c.relowner) THEN fence_internal.leave_call(w.oid, c.relowner)
      WHEN c.relowner = e.extowner THEN fence_internal.stop_writing_call(w.oid)
      ELSE format('ALTER TABLE %s OWNER TO %I', t.name, pg_get_userbyid(e.extowner)) END, '; ')
  FROM pg_catalog.pg_extension AS e, fence_internal.writer AS w JOIN fence_internal.membership AS m ON m.member = w.oid
  JOIN pg_catalog.pg_class AS c ON c.relowner = m.role JOIN fence_internal.protected_part AS t ON t.part = c.oid
  WHERE w.is_bound AND e.extname = 'fence'
  GROUP BY w.name, t.protected_name
  UNION ALL
  SELECT 'writer_owns_schema', format('role %I', w.name), quote_ident(n.nspname),
    CASE WHEN fence_internal.should_leave(w.oid, n.nspowner) THEN fence_internal.leave_call(w.oid, n.nspowner)
      ELSE format('ALTER SCHEMA %I OWNER TO %I', n.nspname, pg_get_userbyid(e.extowner)) END
  FROM pg_catalog.pg_extension AS e, fence_internal.writer AS w JOIN fence_internal.membership AS m ON m.member = w.oid
  JOIN pg_catalog.pg_namespace AS n ON n.nspowner = m.role
  WHERE w.is_bound AND e.extname = 'fence' AND n.nspowner <> e.extowner AND EXISTS (
    SELECT FROM fence_internal.protected_part AS t JOIN pg_catalog.pg_class AS c ON c.oid = t.part WHERE c.relnamespace = n.oid)
  UNION ALL
  SELECT 'writer_privilege', format('role %I', w.name), format('%s on %s', string_agg(DISTINCT a.privilege_type, ', '), t.protected_name),
    string_agg(DISTINCT format('REVOKE %s ON %s FROM %s', a.privilege_type, t.name,
      CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END), '; ')
  FROM fence_internal.protected_part AS t JOIN pg_catalog.pg_class AS c ON c.oid = t.part CROSS JOIN aclexplode(c.relacl) AS a
  JOIN fence_internal.grantee AS m ON m.grantee = a.grantee JOIN fence_internal.writer AS w ON w.oid = m.role
  WHERE w.is_bound AND a.privilege_type IN ('TRUNCATE', 'TRIGGER') AND a.grantee <> c.relowner
  GROUP BY w.name, t.protected_name
  UNION ALL
  SELECT 'parameter', format('role %I', r.rolname), p.parname, string_agg(DISTINCT format('REVOKE ALL ON PARAMETER %s FROM %s', p.parname,
    CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END), '; ')
  FROM pg_catalog.pg_parameter_acl AS p CROSS JOIN aclexplode(p.paracl) AS a
  JOIN fence_internal.grantee AS m ON m.grantee = a.grantee JOIN pg_catalog.pg_roles AS r ON r.oid = m.role
  WHERE r.rolcanlogin AND NOT r.rolsuper AND p.parname IN ('session_replication_role', 'event_triggers')
  GROUP BY r.rolname, p.parname;
END;
COMMENT ON FUNCTION fence_internal.privilege_faults() IS 'What fence_doctor finds of what roles own and were granted';

-- As a session of the role begins in this database, unless its client says otherwise.
CREATE FUNCTION fence_internal.role_setting(role oid, name text)
RETURNS text STABLE LANGUAGE sql
BEGIN ATOMIC
  SELECT substr(c.setting, length($2) + 2)
  FROM pg_catalog.pg_db_role_setting AS s, unnest(s.setconfig) AS c(setting)
  WHERE s.setrole IN ($1, 0) AND s.setdatabase IN (0, (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = current_database()))
    AND starts_with(c.setting, $2 || '=')
  ORDER BY s.setrole <> 0 DESC, s.setdatabase <> 0 DESC LIMIT 1;
END;
COMMENT ON FUNCTION fence_internal.role_setting(oid, text) IS 'A setting as it was written for a role in this database, for the database or for all; NULL: the server''s';

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
  WITH server AS MATERIALIZED (
    SELECT s.name, fence_internal.server_setting(s.name) AS value
    FROM (VALUES ('idle_in_transaction_session_timeout'), ('statement_timeout'), ('lock_timeout'), ('synchronous_commit')) AS s(name)
  )
  SELECT f.kind, format('role %I', w.name), w.lock::text, format('ALTER ROLE %I IN DATABASE %I SET %s', w.name, current_database(), f.wanted)
  FROM (
    SELECT r.name,
      fence_internal.milliseconds(max(r.value) FILTER (WHERE r.setting = 'idle_in_transaction_session_timeout')) AS idle,
      fence_internal.milliseconds(max(r.value) FILTER (WHERE r.setting = 'statement_timeout')) AS statement,
      fence_internal.milliseconds(max(r.value) FILTER (WHERE r.setting = 'lock_timeout')) AS lock,
      lower(max(r.value) FILTER (WHERE r.setting = 'synchronous_commit')) AS commit
    FROM (
      SELECT w.name, server.name AS setting, coalesce(fence_internal.role_setting(w.oid, server.name), server.value) AS value
      FROM fence_internal.writer AS w CROSS JOIN server
    ) AS r GROUP BY r.name
  ) AS w CROSS JOIN LATERAL (
    SELECT 'idle_timeout' AS kind, 'idle_in_transaction_session_timeout = ''1min''' AS wanted WHERE w.idle = 0
    UNION ALL SELECT 'statement_timeout', 'statement_timeout = ''5min''' WHERE w.statement = 0
    UNION ALL SELECT 'timeout_order', format('lock_timeout = %s', least(2 * w.idle, 2147483647)) WHERE w.lock > 0 AND w.idle >= w.lock
    UNION ALL SELECT 'writer_asynchronous', 'synchronous_commit = on'
    WHERE w.commit IN ('off', 'false', 'no', '0')
      AND (SELECT lower(s.value) FROM server AS s WHERE s.name = 'synchronous_commit') NOT IN ('off', 'false', 'no', '0')
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
