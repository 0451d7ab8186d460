-- Calls out of functions, DO blocks, procedures and triggers.

\set w1 '11111111-1111-4111-8111-111111111111'
\set w2 '22222222-2222-4222-8222-222222222222'
SET search_path = fence, public;
CREATE TABLE plpgsql_work(step text);
SELECT oplog_metadata_upsert('pl', 'mine', 5, :'w1');
SELECT oplog_metadata_upsert('pl', 'lost', 4, :'w1');
SELECT oplog_metadata_upsert('pl', 'lost', 5, :'w2');
CREATE FUNCTION append(key text, epoch bigint, idx bigint) RETURNS bigint LANGUAGE sql
AS $$SELECT fence.fenced_append('pl', key, epoch, '11111111-1111-4111-8111-111111111111', idx, 'x')$$;
CREATE FUNCTION claim(key text, epoch bigint) RETURNS bigint LANGUAGE sql
AS $$SELECT fence.oplog_metadata_upsert('pl', key, epoch, '11111111-1111-4111-8111-111111111111')$$;

-- P7: given a refusal that somebody swallows, what was derived from it is not committed.
DO $$
BEGIN
  INSERT INTO plpgsql_work VALUES ('before');
  BEGIN
    PERFORM append('lost', 4, 1);
  EXCEPTION WHEN OTHERS THEN
    RAISE NOTICE 'swallowed %', SQLSTATE;
  END;
  INSERT INTO plpgsql_work VALUES ('derived');
END
$$;
\echo :LAST_ERROR_SQLSTATE
SELECT step FROM plpgsql_work;
-- The same where every later call is answered at once, and with nothing later at all.
DO $$
BEGIN
  BEGIN
    PERFORM append('mine', 5, 1);
    PERFORM append('lost', 4, 1);
  EXCEPTION WHEN OTHERS THEN
    RAISE NOTICE 'swallowed %', SQLSTATE;
  END;
  BEGIN
    PERFORM append('mine', 5, 2);
  EXCEPTION WHEN OTHERS THEN
    RAISE NOTICE 'swallowed %: %', SQLSTATE, SQLERRM;
  END;
END
$$;
CREATE FUNCTION swallow() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM append('lost', 4, 1);
  RETURN 'stored';
EXCEPTION WHEN OTHERS THEN
  RETURN 'all is well';
END
$$;
SELECT swallow();
INSERT INTO plpgsql_work SELECT swallow();
SELECT fenced_append('pl', 'mine', 5, :'w1', 1, swallow()::bytea);
SELECT count(*) FROM plpgsql_work;
SELECT last_idx FROM oplog_status WHERE namespace = 'pl' AND key = 'mine';

-- A refusal that is about the call and not about ownership may be swallowed.
DO $$
BEGIN
  PERFORM append('mine', 5, -1);
EXCEPTION WHEN SQLSTATE 'ZF010' THEN
  PERFORM append('mine', 5, 1);
END
$$;
SELECT last_idx FROM oplog_status WHERE namespace = 'pl' AND key = 'mine';

-- P8: COMMIT inside a DO block or procedure. Each part is checked by itself.
CREATE PROCEDURE two_parts(first_epoch bigint, second_epoch bigint) LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO plpgsql_work VALUES ('first');
  PERFORM append('mine', first_epoch, 2);
  COMMIT;
  INSERT INTO plpgsql_work VALUES ('second');
  PERFORM append('mine', second_epoch, 3);
END
$$;
CALL two_parts(5, 4);
SELECT step FROM plpgsql_work;
CALL two_parts(5, 5);
SELECT step FROM plpgsql_work ORDER BY step;
DELETE FROM plpgsql_work;
-- The swallowed refusal of one part is not forgotten by the COMMIT: that fails.
DO $$
BEGIN
  INSERT INTO plpgsql_work VALUES ('before');
  PERFORM swallow();
  COMMIT;
  INSERT INTO plpgsql_work VALUES ('after');
END
$$;
\echo :LAST_ERROR_SQLSTATE
-- A ROLLBACK ends it.
DO $$
BEGIN
  INSERT INTO plpgsql_work VALUES ('before');
  PERFORM swallow();
  ROLLBACK;
  INSERT INTO plpgsql_work VALUES ('after');
  PERFORM append('mine', 5, 4);
END
$$;
SELECT step FROM plpgsql_work;
DELETE FROM plpgsql_work;
-- Ownership does not survive into the next part: between them another owner may come.
DO $$
BEGIN
  PERFORM append('mine', 5, 5);
  COMMIT;
  PERFORM claim('mine', 6);
  COMMIT;
  PERFORM append('mine', 5, 6);
END
$$;
SELECT epoch, last_idx FROM oplog_status WHERE namespace = 'pl' AND key = 'mine';

-- P59: a claim out of a function, in autocommit, works and rolls back with it.
SELECT claim('mine', 7);
DO $$
BEGIN
  PERFORM claim('mine', 8);
  PERFORM append('mine', 8, 6);
  RAISE EXCEPTION 'after both';
END
$$;
SELECT epoch, last_idx FROM oplog_status WHERE namespace = 'pl' AND key = 'mine';
DO $$
BEGIN
  PERFORM claim('mine', 8);
  PERFORM append('mine', 8, 6);
  PERFORM append('mine', 8, 7);
END
$$;
SELECT epoch, last_idx FROM oplog_status WHERE namespace = 'pl' AND key = 'mine';
-- Not under an exception block, which is a savepoint, and not after a fenced write.
DO $$
BEGIN
  PERFORM claim('mine', 9);
EXCEPTION WHEN division_by_zero THEN
  NULL;
END
$$;
DO $$
BEGIN
  PERFORM append('mine', 8, 8);
  PERFORM claim('mine', 9);
END
$$;
DO $$
BEGIN
  PERFORM append('mine', 8, 8);
  PERFORM claim('other', 1);
END
$$;
SELECT append('mine', 8, 8), claim('other', 1);
-- Work of one's own before it is committed with it, or goes with it.
DO $$
BEGIN
  INSERT INTO plpgsql_work VALUES ('with the claim');
  PERFORM claim('mine', 8);
END
$$;
DO $$
BEGIN
  INSERT INTO plpgsql_work VALUES ('with a stale claim');
  PERFORM claim('mine', 7);
END
$$;
SELECT step FROM plpgsql_work;
SELECT epoch, last_idx FROM oplog_status WHERE namespace = 'pl' AND key = 'mine';
SELECT key FROM oplog_metadata WHERE namespace = 'pl' AND key = 'other';

-- P6: a trigger that runs at the end of the transaction, or is told to run earlier.
CREATE FUNCTION derive() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM append(TG_ARGV[0], 8, NEW.id);
  RETURN NULL;
END
$$;
CREATE TABLE plpgsql_late(id bigint);
CREATE CONSTRAINT TRIGGER late AFTER INSERT ON plpgsql_late DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION derive('mine');
INSERT INTO plpgsql_late VALUES (20);
BEGIN;
INSERT INTO plpgsql_late VALUES (21);
SET CONSTRAINTS ALL IMMEDIATE;
INSERT INTO plpgsql_late VALUES (22);
COMMIT;
SELECT idx FROM oplog_read('pl', 'mine', 20);
-- Stale at the end: nothing is kept, of the rows that were inserted first neither.
CREATE TABLE plpgsql_late_stale(id bigint);
CREATE CONSTRAINT TRIGGER late AFTER INSERT ON plpgsql_late_stale DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION derive('lost');
INSERT INTO plpgsql_late_stale VALUES (1);
BEGIN;
SELECT append('mine', 8, 23);
INSERT INTO plpgsql_late_stale VALUES (2);
COMMIT;
BEGIN;
SELECT append('mine', 8, 23);
INSERT INTO plpgsql_late_stale VALUES (3);
SAVEPOINT s;
SET CONSTRAINTS ALL IMMEDIATE;
ROLLBACK TO s;
COMMIT;
SELECT count(*) FROM plpgsql_late_stale;
SELECT last_idx FROM oplog_status WHERE namespace = 'pl' AND key = 'mine';
-- A bare call whose argument leaves such a trigger behind.
CREATE FUNCTION leave(what bigint) RETURNS bigint LANGUAGE sql
AS $$INSERT INTO plpgsql_late_stale VALUES (what) RETURNING id$$;
SELECT fenced_append('pl', 'mine', 8, :'w1', leave(24), 'x');
SELECT last_idx FROM oplog_status WHERE namespace = 'pl' AND key = 'mine';

DROP TABLE plpgsql_work, plpgsql_late, plpgsql_late_stale;
DROP PROCEDURE two_parts(bigint, bigint);
DROP FUNCTION derive(), swallow(), leave(bigint), append(text, bigint, bigint), claim(text, bigint);
