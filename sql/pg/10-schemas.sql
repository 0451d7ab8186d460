-- Made here and not before: an attacker who owned a schema could plant functions in
-- it, or drop all of it.
CREATE SCHEMA fence;
COMMENT ON SCHEMA fence IS 'Ownership fences: the calls and views for users';
CREATE SCHEMA fence_internal;
COMMENT ON SCHEMA fence_internal IS 'Ownership fences: tables and helpers that no user touches';

DO $$
BEGIN
  IF pg_catalog.getdatabaseencoding() <> 'UTF8' THEN
    RAISE EXCEPTION 'configuration: the database has encoding %, Fence needs UTF8',
      pg_catalog.getdatabaseencoding()
      USING ERRCODE = 'ZF012', HINT = 'CREATE DATABASE ... ENCODING ''UTF8'' TEMPLATE template0';
  END IF;
END
$$;
