-- The extension as it is installed: what belongs to it, whose it is, who may use it.

SELECT extname, extversion, extrelocatable FROM pg_extension WHERE extname = 'fence';
SELECT fence.fence_version() = extversion AS library_and_script_agree
FROM pg_extension WHERE extname = 'fence';
SELECT c - 'engine_version' - 'fence_version' AS capabilities,
  c->>'engine_version' = current_setting('server_version') AS of_this_server
FROM fence.fence_capabilities() AS c;

-- All that belongs to it. Types of tables and views come with them.
CREATE TEMP VIEW member AS
SELECT classid, objid, pg_describe_object(classid, objid, objsubid) AS object
FROM pg_depend
WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
  AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'fence')
  AND classid <> 'pg_type'::regclass;
SELECT object FROM member ORDER BY object COLLATE "C";

-- Given all of them, each has a COMMENT.
SELECT object AS without_comment FROM member
WHERE obj_description(objid, classid::regclass::name) IS NULL;

-- Nothing is PUBLIC's but the trigger function that the server clones onto partitions: no other
-- function, no table or view, no schema, no type that one could
-- be made of.
SELECT p.oid::regprocedure AS function_of_public
FROM pg_proc AS p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a
WHERE p.pronamespace IN ('fence'::regnamespace, 'fence_internal'::regnamespace) AND a.grantee = 0;
SELECT c.oid::regclass AS relation_of_public
FROM pg_class AS c, aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) AS a
WHERE c.relnamespace IN ('fence'::regnamespace, 'fence_internal'::regnamespace) AND a.grantee = 0;
SELECT n.nspname AS schema_of_public
FROM pg_namespace AS n, aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) AS a
WHERE n.nspname IN ('fence', 'fence_internal') AND a.grantee = 0;
SELECT a.attrelid::regclass AS column_of_public
FROM pg_attribute AS a, aclexplode(a.attacl) AS x
WHERE a.attrelid IN (SELECT oid FROM pg_class WHERE relnamespace IN ('fence'::regnamespace, 'fence_internal'::regnamespace));

-- P36: all of it is the installing superuser's. No role was made for it.
SELECT DISTINCT proowner::regrole = current_user::regrole AS mine FROM pg_proc
WHERE pronamespace IN ('fence'::regnamespace, 'fence_internal'::regnamespace);
SELECT DISTINCT relowner::regrole = current_user::regrole AS mine FROM pg_class
WHERE relnamespace IN ('fence'::regnamespace, 'fence_internal'::regnamespace);
SELECT DISTINCT nspowner::regrole = current_user::regrole AS mine FROM pg_namespace
WHERE nspname IN ('fence', 'fence_internal');
SELECT rolname FROM pg_roles WHERE rolname ~ 'fence';

-- What runs with its owner's rights takes no name from its caller; none in a parallel worker.
-- What is not C has a search_path of its own, or was parsed when it was made.
SELECT p.oid::regprocedure AS security_definer, p.proconfig, p.provolatile FROM pg_proc AS p
WHERE p.pronamespace IN ('fence'::regnamespace, 'fence_internal'::regnamespace) AND p.prosecdef
ORDER BY p.oid::regprocedure::text COLLATE "C";
SELECT p.oid::regprocedure AS parallel FROM pg_proc AS p
WHERE p.pronamespace IN ('fence'::regnamespace, 'fence_internal'::regnamespace) AND p.proparallel <> 'u';
SELECT p.oid::regprocedure AS function, p.proconfig FROM pg_proc AS p, pg_language AS l
WHERE p.pronamespace IN ('fence'::regnamespace, 'fence_internal'::regnamespace)
  AND l.oid = p.prolang AND l.lanname <> 'c' AND p.prosqlbody IS NULL
ORDER BY p.proname COLLATE "C";

-- What writes is VOLATILE; what reads sees the snapshot of its caller.
SELECT p.proname, p.provolatile FROM pg_proc AS p
WHERE p.pronamespace = 'fence'::regnamespace AND p.provolatile <> 'v' ORDER BY p.proname COLLATE "C";

-- P40: no sequence, from which somebody could draw an epoch.
SELECT relname FROM pg_class
WHERE relkind = 'S' AND relnamespace IN ('fence'::regnamespace, 'fence_internal'::regnamespace);

-- Each table has both guards, and session_replication_role does not switch them off.
SELECT c.relname, t.tgname, t.tgenabled, t.tgfoid::regproc
FROM pg_class AS c LEFT JOIN pg_trigger AS t ON t.tgrelid = c.oid
WHERE c.relkind = 'r' AND c.relnamespace = 'fence_internal'::regnamespace
ORDER BY c.relname COLLATE "C", t.tgname COLLATE "C";
-- Rows: before INSERT, UPDATE and DELETE (31); truncate: before the statement (34).
SELECT t.tgname, t.tgtype, count(*) FROM pg_trigger AS t
WHERE t.tgrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'fence_internal'::regnamespace)
GROUP BY t.tgname, t.tgtype ORDER BY t.tgtype;
SELECT relname FROM pg_class WHERE relkind NOT IN ('r', 'i', 'f', 'v') AND relnamespace = 'fence_internal'::regnamespace;

-- A dump takes the rows of all tables but one, which says which database this is. None
-- of them is forgotten in a crash.
SELECT c.relname, c.relpersistence, c.oid = ANY (e.extconfig) AS dumped
FROM pg_class AS c, pg_extension AS e
WHERE c.relkind = 'r' AND c.relnamespace = 'fence_internal'::regnamespace AND e.extname = 'fence'
ORDER BY c.relname COLLATE "C";
SELECT dumped.relation::regclass AS dumped_in_part
FROM pg_extension AS e, unnest(e.extconfig, e.extcondition) AS dumped(relation, condition)
WHERE e.extname = 'fence' AND dumped.condition <> '' AND dumped.relation NOT IN ('fence_internal.access'::regclass, 'fence_internal.protected'::regclass);
