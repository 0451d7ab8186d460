-- CREATE EXTENSION and DROP EXTENSION.

SELECT current_database() AS here \gset
CREATE ROLE installer_plain LOGIN;
SET client_min_messages = warning;
CREATE DATABASE install_test;
CREATE DATABASE install_latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0;
GRANT CREATE ON DATABASE install_test TO installer_plain;

-- A database that is not UTF8 is refused, and nothing is left behind.
\c install_latin
CREATE EXTENSION fence;
\echo :LAST_ERROR_SQLSTATE
SELECT nspname FROM pg_namespace WHERE nspname ~ 'fence';

-- P47: given a schema that somebody has made before, to plant things in it or to drop it
-- with all that is in it.
\c install_test
SET ROLE installer_plain;
CREATE SCHEMA fence;
CREATE FUNCTION fence.fenced_append(text, text, integer, text, integer, text) RETURNS bigint
LANGUAGE sql AS 'SELECT 1::bigint';
RESET ROLE;
CREATE EXTENSION fence;
\echo :LAST_ERROR_SQLSTATE
SELECT extname FROM pg_extension WHERE extname = 'fence';
DROP SCHEMA fence CASCADE;
SET ROLE installer_plain;
CREATE SCHEMA fence_internal;
RESET ROLE;
CREATE EXTENSION fence;
\echo :LAST_ERROR_SQLSTATE
SELECT nspname, nspowner::regrole FROM pg_namespace WHERE nspname ~ 'fence';
DROP SCHEMA fence_internal;

-- P48: nothing in the script gives way to what is there already. Objects of others, planted
-- where names are looked up, are not used.
SELECT pg_read_file(setting || '/extension/fence--' || default_version || '.sql')
  ~* 'OR\s+REPLACE|IF\s+NOT\s+EXISTS' AS gives_way
FROM pg_config, pg_available_extensions
WHERE pg_config.name = 'SHAREDIR' AND pg_available_extensions.name = 'fence';
CREATE FUNCTION public.format(text, VARIADIC text[]) RETURNS text
LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'planted'; END$$;
CREATE FUNCTION public.never(bigint, bigint) RETURNS boolean
LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'planted'; END$$;
CREATE OPERATOR public.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = public.never);
SET search_path = public, pg_catalog;
CREATE EXTENSION fence;
SELECT fence.fence_grant_writer('installer_plain', 'n');
RESET search_path;
SET search_path = pg_catalog, public;
DROP OPERATOR public.= (bigint, bigint);
DROP FUNCTION public.never(bigint, bigint), public.format(text, text[]);
RESET search_path;

-- Only a superuser installs it.
DROP EXTENSION fence;
SET ROLE installer_plain;
CREATE EXTENSION fence;
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;

-- Nothing more becomes PUBLIC's by privileges that new objects get there as a rule: neither the
-- entries, nor the schemas, in which one could plant a call of the same name.
ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO PUBLIC;
ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC;
ALTER DEFAULT PRIVILEGES GRANT ALL ON FUNCTIONS TO PUBLIC;
CREATE EXTENSION fence;
\set VERBOSITY terse
SET ROLE installer_plain;
SELECT count(*) FROM fence_internal.entry;
SELECT count(*) FROM fence.oplog_metadata;
SELECT fence.fence_version();
CREATE FUNCTION fence.fenced_append(text, text, integer, text, integer, text) RETURNS bigint
LANGUAGE sql AS 'SELECT 1::bigint';
CREATE TABLE fence_internal.planted();
RESET ROLE;
\set VERBOSITY default
SELECT n.nspname AS schema_of_public
FROM pg_namespace AS n, aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) AS a
WHERE n.nspname IN ('fence', 'fence_internal') AND a.grantee = 0;
SELECT c.oid::regclass AS relation_of_public
FROM pg_class AS c, aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) AS a
WHERE c.relnamespace IN ('fence'::regnamespace, 'fence_internal'::regnamespace) AND a.grantee = 0;
SELECT p.oid::regprocedure AS function_of_public
FROM pg_proc AS p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a
WHERE p.pronamespace IN ('fence'::regnamespace, 'fence_internal'::regnamespace) AND a.grantee = 0;
DROP EXTENSION fence;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON SCHEMAS FROM PUBLIC;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM PUBLIC;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON FUNCTIONS FROM PUBLIC;
ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO PUBLIC;

-- Its place is fixed.
CREATE EXTENSION fence SCHEMA public;
\echo :LAST_ERROR_SQLSTATE
CREATE EXTENSION fence;
ALTER EXTENSION fence SET SCHEMA public;
\echo :LAST_ERROR_SQLSTATE
CREATE EXTENSION fence;
\echo :LAST_ERROR_SQLSTATE

-- What belongs to it cannot be dropped by itself.
\set VERBOSITY terse
DROP TABLE fence_internal.record;
DROP TABLE fence_internal.entry CASCADE;
DROP FUNCTION fence_internal.guard();
DROP SCHEMA fence_internal CASCADE;
DROP VIEW fence.oplog_metadata;
\set VERBOSITY default

-- Dropped and created anew in one session: the library finds the new tables.
SELECT fence.oplog_metadata_upsert('n', 'k', 7, '11111111-1111-4111-8111-111111111111');
SELECT fence.fenced_append('n', 'k', 7, '11111111-1111-4111-8111-111111111111', 1, 'one');
PREPARE append AS SELECT fence.fenced_append('n', 'k', 7, '11111111-1111-4111-8111-111111111111', 2, 'two');
EXECUTE append;
DROP EXTENSION fence;
SELECT nspname FROM pg_namespace WHERE nspname ~ 'fence';
EXECUTE append;
CREATE EXTENSION fence;
EXECUTE append;
SELECT count(*) FROM fence.oplog_status;
SELECT fence.oplog_metadata_upsert('n', 'k', 1, '11111111-1111-4111-8111-111111111111');
SELECT fence.fenced_append('n', 'k', 1, '11111111-1111-4111-8111-111111111111', 1, 'one');

-- Dropped in a transaction with a fenced write in it: nobody can check that any more.
BEGIN;
SELECT fence.fenced_append('n', 'k', 1, '11111111-1111-4111-8111-111111111111', 2, 'two');
DROP EXTENSION fence;
COMMIT;
SELECT idx FROM fence.oplog_read('n', 'k');

-- A table of one's own may depend on nothing of it, and so does not block the way.
CREATE TABLE public.own(a text, CHECK (fence.fence_fingerprint(a) <> ''));
DROP EXTENSION fence;
DROP TABLE public.own;
DROP EXTENSION fence;

\c :here
SET client_min_messages = warning;
DROP DATABASE install_test;
DROP DATABASE install_latin;
DROP ROLE installer_plain;
