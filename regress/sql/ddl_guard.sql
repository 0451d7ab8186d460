-- fence_guard_ddl: what the owner of a protected table cannot do while it is on, and what a
-- superuser is warned of. Numbers as in the list of attacks.

\set w1 '11111111-1111-4111-8111-111111111111'
CREATE ROLE guard_owner;
GRANT CREATE, USAGE ON SCHEMA public TO guard_owner;
CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NULL; END$$;
SET ROLE guard_owner;
CREATE TABLE job(id bigint PRIMARY KEY, v int);
CREATE TABLE part(a int NOT NULL, b text NOT NULL) PARTITION BY RANGE (a);
CREATE TABLE part_0 PARTITION OF part FOR VALUES FROM (0) TO (10);
CREATE TABLE other(id bigint NOT NULL, v int);
RESET ROLE;
CREATE SCHEMA guard_schema AUTHORIZATION guard_owner;
DO $$BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO guard_owner', current_database()); END$$;
SET ROLE guard_owner;
CREATE TABLE guard_schema.lead(v int);
RESET ROLE;
SELECT fence.fence_protect('guard_schema.lead', 'guard', key => 'leader');
SELECT fence.fence_protect('job', 'guard', '["id"]');
SELECT fence.fence_protect('part', 'guard', '["a", "b"]');
SELECT fence.oplog_metadata_upsert('guard', '1', 1, :'w1');
BEGIN;
SELECT fence.fence_assert('guard', '1', 1, :'w1');
INSERT INTO job VALUES (1, 10);
COMMIT;
CREATE VIEW guards AS SELECT evtname, evtevent, evtenabled FROM pg_event_trigger ORDER BY 1;
CREATE VIEW triggers AS SELECT tgrelid::regclass AS on, tgname, tgenabled FROM pg_trigger
WHERE tgname ~ '^fence_' ORDER BY tgrelid::regclass::text, tgname;
GRANT SELECT ON triggers TO guard_owner;

-- Off: the owner may, and the doctor sees it.
SET ROLE guard_owner;
ALTER TABLE job DISABLE TRIGGER ALL;
RESET ROLE;
SELECT problem, repair FROM fence.fence_doctor() WHERE object ~ 'job' AND severity = 'error';
SELECT fence.fence_protect('job', 'guard', '["id"]');
SELECT fence.fence_guard_ddl(true);
SELECT fence.fence_guard_ddl(true);
TABLE guards;
SELECT severity, object, problem FROM fence.fence_doctor() WHERE object ~ 'job|part|guard';
\set VERBOSITY default
SET ROLE guard_owner;
-- P30, on a partition as well.
ALTER TABLE job DISABLE TRIGGER ALL;
\set VERBOSITY terse
ALTER TABLE job DISABLE TRIGGER USER;
ALTER TABLE job DISABLE TRIGGER fence_truncate;
ALTER TABLE part_0 DISABLE TRIGGER fence_rows;
DROP TRIGGER fence_rows ON job;
ALTER TABLE job DROP CONSTRAINT fence_rows;
CREATE OR REPLACE TRIGGER fence_truncate BEFORE TRUNCATE ON job EXECUTE FUNCTION swallow();
ALTER TRIGGER fence_rows ON job RENAME TO mine;
-- Less than ALWAYS, and gone but in name: put back at once.
ALTER TABLE job ENABLE TRIGGER fence_rows, ENABLE REPLICA TRIGGER fence_truncate;
ALTER TABLE part ENABLE TRIGGER ALL;
DROP TRIGGER fence_truncate ON part_0;
TABLE triggers;
-- P22.
INSERT INTO other VALUES (1, 1);
CREATE TABLE part_1(a int NOT NULL, b text NOT NULL);
INSERT INTO part_1 VALUES (11, 'unasserted');
ALTER TABLE part ATTACH PARTITION part_1 FOR VALUES FROM (10) TO (20);
CREATE TABLE tree(a int NOT NULL, b text NOT NULL) PARTITION BY LIST (b);
CREATE TABLE tree_x PARTITION OF tree FOR VALUES IN ('x');
INSERT INTO tree VALUES (21, 'x');
ALTER TABLE part ATTACH PARTITION tree FOR VALUES FROM (20) TO (30);
TRUNCATE part_1, tree;
ALTER TABLE part ATTACH PARTITION part_1 FOR VALUES FROM (10) TO (20);
ALTER TABLE part ATTACH PARTITION tree FOR VALUES FROM (20) TO (30);
ALTER TABLE part DETACH PARTITION part_0;
-- That one commits half-way: it is refused before.
ALTER TABLE part DETACH PARTITION part_0 CONCURRENTLY;
ALTER TABLE public . part /* DETACH */ DETACH PARTITION public.part_0 CONCURRENTLY;
CREATE SCHEMA guard_owner;
CREATE TABLE guard_owner.home(a int NOT NULL) PARTITION BY LIST (a);
CREATE TABLE guard_owner.home_1 PARTITION OF guard_owner.home FOR VALUES IN (1);
RESET ROLE;
SELECT fence.fence_protect('guard_owner.home', 'guard', '["a"]');
SET ROLE guard_owner;
SET search_path = "$user", public;
ALTER TABLE home DETACH PARTITION home_1 CONCURRENTLY;
RESET search_path;
SELECT inhdetachpending FROM pg_inherits WHERE inhrelid IN ('part_0'::regclass, 'guard_owner.home_1'::regclass);
RESET ROLE;
-- Of another table of that name once the schema is said.
SET ROLE guard_owner;
SET search_path = public;
CREATE TABLE home(a int NOT NULL) PARTITION BY LIST (a);
CREATE TABLE home_2 PARTITION OF home FOR VALUES IN (2);
ALTER TABLE home DETACH PARTITION home_2 CONCURRENTLY;
ALTER TABLE public.home DETACH PARTITION home_2 CONCURRENTLY;
DROP TABLE home, home_2;
RESET search_path;
RESET ROLE;
SELECT fence.fence_unprotect('guard_owner.home');
SET ROLE guard_owner;
DROP TABLE guard_owner.home;
DROP SCHEMA guard_owner;
ALTER TABLE tree DETACH PARTITION tree_x;
DROP TABLE tree_x;
DROP TABLE tree;
CREATE TABLE tree_y PARTITION OF tree FOR VALUES IN ('y');
TABLE triggers;
-- P23.
CREATE TABLE child() INHERITS (job);
ALTER TABLE other INHERIT job;
ALTER TABLE job INHERIT other;
-- What has a protected table for its partition could rename the columns of that.
CREATE TABLE above(id bigint NOT NULL, v int) PARTITION BY LIST (v);
ALTER TABLE above ATTACH PARTITION job FOR VALUES IN (10);
-- P25.
CREATE RULE nothing AS ON DELETE TO job DO INSTEAD NOTHING;
CREATE RULE also AS ON UPDATE TO job DO ALSO NOTIFY job;
-- P27.
ALTER TABLE job RENAME TO job_away;
ALTER TABLE job SET SCHEMA pg_temp;
ALTER TABLE job RENAME COLUMN id TO number;
-- By other words for the same, which make another tag of the statement.
ALTER INDEX job RENAME TO job_away;
ALTER VIEW job RENAME COLUMN id TO number;
ALTER MATERIALIZED VIEW job RENAME COLUMN id TO number;
ALTER FOREIGN TABLE job RENAME COLUMN id TO number;
ALTER TYPE job RENAME ATTRIBUTE id TO number;
ALTER SCHEMA guard_schema RENAME TO guard_away;
CREATE SCHEMA guard_new CREATE TABLE child() INHERITS (public.job);
-- Rows that change with no trigger being asked.
ALTER TABLE job ALTER COLUMN v TYPE bigint USING v + 1;
ALTER TABLE job ALTER COLUMN id TYPE text USING 'x';
ALTER TABLE job SET UNLOGGED;
ALTER TABLE part_0 SET UNLOGGED;
ALTER TABLE job DROP COLUMN id;
ALTER TABLE job DROP CONSTRAINT job_pkey, ALTER COLUMN id DROP NOT NULL;
DROP TABLE job;
DROP TABLE part_0;
DROP TABLE other, part CASCADE;
TRUNCATE job;
-- Swallowed, it is undone all the same.
DO $$BEGIN
  DROP TABLE job;
EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%', sqlstate;
END$$;
-- What harms nothing goes on.
ALTER TABLE job ADD COLUMN w int DEFAULT 3, ADD COLUMN at timestamptz DEFAULT clock_timestamp();
ALTER TABLE job ALTER COLUMN v SET DEFAULT 0, ADD CHECK (v < 100);
CREATE INDEX ON job(v);
ALTER INDEX job_v_idx RENAME TO job_v;
ALTER SCHEMA guard_schema OWNER TO CURRENT_USER;
CREATE SCHEMA guard_new CREATE TABLE part_4 PARTITION OF public.part FOR VALUES FROM (40) TO (50);
SELECT tgname, tgenabled FROM pg_trigger WHERE tgrelid = 'guard_new.part_4'::regclass ORDER BY 1;
CREATE TRIGGER theirs BEFORE UPDATE ON job FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
ALTER TABLE job RENAME COLUMN v TO amount;
ALTER TABLE other ALTER COLUMN v TYPE text USING 'x', DROP COLUMN id;
CREATE TABLE free(a int) PARTITION BY LIST (a);
CREATE TABLE free_1 PARTITION OF free FOR VALUES IN (1);
ALTER TABLE free DETACH PARTITION free_1 CONCURRENTLY;
ALTER TABLE free ATTACH PARTITION free_1 FOR VALUES IN (1);
DROP TABLE free;
CREATE TABLE unrelated(id int); ALTER TABLE unrelated SET UNLOGGED; DROP TABLE unrelated;
RESET ROLE;
SELECT id, amount, w FROM job;
SELECT severity, object, problem FROM fence.fence_doctor() WHERE object ~ 'job|part|guard';

-- A superuser is warned, and goes on.
ALTER TABLE job DISABLE TRIGGER ALL;
-- P31.
ALTER TABLE job ENABLE TRIGGER ALL;
SELECT * FROM triggers WHERE "on" = 'job'::regclass;
ALTER TABLE part DETACH PARTITION part_1;
-- What it left behind on it makes it no part of the table.
SET ROLE guard_owner;
INSERT INTO part_1 VALUES (12, 'unasserted');
ALTER TABLE part ATTACH PARTITION part_1 FOR VALUES FROM (10) TO (20);
RESET ROLE;
ALTER TABLE part ATTACH PARTITION part_1 FOR VALUES FROM (10) TO (20);
ALTER TABLE part DETACH PARTITION part_1 CONCURRENTLY;
-- However many partitions a column is dropped from, they are looked at once, and once more at the end.
ALTER TABLE part ADD COLUMN extra int;
ALTER TABLE part_0 DISABLE TRIGGER fence_rows;
ALTER TABLE part DROP COLUMN extra;
SELECT fence.fence_protect('part', 'guard', '["a", "b"]');
-- In replica mode, too.
SET session_replication_role = replica;
ALTER TABLE job RENAME TO job_away;
RESET session_replication_role;
SELECT severity, problem, repair FROM fence.fence_doctor() WHERE object ~ 'job_away' AND severity <> 'info';
ALTER TABLE job_away RENAME TO job;
-- A role that a superuser has taken is judged as that role.
SET ROLE guard_owner;
DROP TABLE job;
RESET ROLE;

-- fence_unprotect is the way, and fence_guard_ddl(false).
SELECT fence.fence_unprotect('job');
SET ROLE guard_owner;
ALTER TABLE job RENAME TO job_away;
DROP TABLE job_away;
RESET ROLE;
SELECT fence.fence_guard_ddl(false);
SELECT fence.fence_guard_ddl(false);
TABLE guards;
SET ROLE guard_owner;
ALTER TABLE part DETACH PARTITION part_0;
SELECT fence.fence_guard_ddl(true);
RESET ROLE;
\set VERBOSITY default
SELECT fence.fence_guard_ddl(NULL);
SELECT fence_internal.attached_partition(NULL) IS NULL AND fence_internal.detached_partition(NULL) IS NULL AS by_hand, fence_internal.detaching_concurrently() IS NULL AS other;
\set VERBOSITY terse
-- Attached before, it is looked at all the same.
SET ROLE guard_owner;
CREATE TABLE late(id bigint NOT NULL, v int NOT NULL);
ALTER TABLE above RENAME COLUMN id TO key;
ALTER TABLE above RENAME COLUMN key TO id;
RESET ROLE;
SELECT fence.fence_protect('late', 'guard', '["id"]');
ALTER TABLE above ATTACH PARTITION late FOR VALUES IN (10);
SELECT fence.fence_guard_ddl(true);
SET ROLE guard_owner;
ALTER TABLE above RENAME COLUMN id TO number;
ALTER TABLE above DETACH PARTITION late CONCURRENTLY;
ALTER TABLE above RENAME COLUMN id TO number;
-- Many partitions at once: each is completed by itself, one after the other.
CREATE TABLE wide(a int NOT NULL, b text NOT NULL) PARTITION BY LIST (a);
DO $$BEGIN
  FOR i IN 201..350 LOOP EXECUTE format('CREATE TABLE wide_%s PARTITION OF wide FOR VALUES IN (%s)', i, i); END LOOP;
END$$;
ALTER TABLE part ATTACH PARTITION wide FOR VALUES FROM (201) TO (351);
ALTER TABLE part ENABLE TRIGGER ALL;
SELECT g.tgname, g.tgenabled, count(*) FROM pg_trigger AS g
WHERE g.tgrelid IN (SELECT relid FROM pg_partition_tree('wide')) GROUP BY 1, 2 ORDER BY 1;
RESET ROLE;
SET client_min_messages = error;
DROP TABLE part, part_0, part_1, other, guard_schema.lead, above, late;
DROP SCHEMA guard_schema, guard_new;
DROP VIEW guards, triggers;
DROP FUNCTION swallow;
SELECT fence.fence_unprotect(relation) FROM fence_internal.protected WHERE namespace = 'guard';
SELECT fence.fence_guard_ddl(false);
DROP OWNED BY guard_owner;
DROP ROLE guard_owner;
