-- P20, P21: protected partitions, those that come later among them.

\set w1 '11111111-1111-4111-8111-111111111111'
\pset tuples_only on
\pset format unaligned
SET search_path = public, fence;
SELECT oplog_metadata_upsert('pp', 'a', 1, :'w1');
SELECT oplog_metadata_upsert('pp', 'c', 1, :'w1');

-- One of them is partitioned again and has its columns in another
-- order. The statement names the root or the leaf.
CREATE TABLE part(id text NOT NULL, n int NOT NULL, v int) PARTITION BY RANGE (n);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (10);
CREATE TABLE part_2(v int, gone int, n int NOT NULL, id text NOT NULL) PARTITION BY LIST (id);
ALTER TABLE part_2 DROP COLUMN gone;
ALTER TABLE part ATTACH PARTITION part_2 FOR VALUES FROM (10) TO (20);
CREATE TABLE part_2a PARTITION OF part_2 FOR VALUES IN ('a');
INSERT INTO part VALUES ('a', 1, 1), ('b', 2, 1);
SELECT fence_protect('part', 'pp', '["id"]');
\set VERBOSITY sqlstate
-- Made and attached later.
CREATE TABLE part_3 PARTITION OF part FOR VALUES FROM (20) TO (30);
CREATE TABLE part_4(id text NOT NULL, v int, n int NOT NULL);
INSERT INTO part_4 VALUES ('a', 1, 30);
ALTER TABLE part ATTACH PARTITION part_4 FOR VALUES FROM (30) TO (40);
CREATE TABLE part_2b PARTITION OF part_2 FOR VALUES IN ('b', 'c');
CREATE TABLE part_5 PARTITION OF part DEFAULT PARTITION BY HASH (id);
CREATE TABLE part_5a PARTITION OF part_5 FOR VALUES WITH (MODULUS 1, REMAINDER 0);
CREATE SCHEMA pp CREATE TABLE part_6 PARTITION OF public.part FOR VALUES FROM (40) TO (50);
INSERT INTO part VALUES ('a', 3, 1);
INSERT INTO part VALUES ('a', 13, 1);
INSERT INTO part VALUES ('a', 33, 1);
INSERT INTO part VALUES ('a', 99, 1);
INSERT INTO part_1 VALUES ('a', 3, 1);
INSERT INTO part_2(id, n) VALUES ('a', 13);
INSERT INTO part_2a(id, n) VALUES ('a', 13);
INSERT INTO part_2b(id, n) VALUES ('b', 13);
INSERT INTO part_3 VALUES ('a', 23, 1);
INSERT INTO part_4(id, n) VALUES ('a', 33);
INSERT INTO part_5 VALUES ('a', 99, 1);
INSERT INTO part_5a VALUES ('a', 99, 1);
UPDATE part SET v = 9;
UPDATE part_1 SET v = 9 WHERE id = 'a';
DELETE FROM part_4;
COPY part_3 FROM STDIN;
a	23	1
\.
SET session_replication_role = replica;
INSERT INTO part_3 VALUES ('a', 23, 1);
INSERT INTO part_4(id, n) VALUES ('a', 33);
INSERT INTO part_5a VALUES ('a', 99, 1);
RESET session_replication_role;
TRUNCATE part;
TRUNCATE part_1;
TRUNCATE part_2;
TRUNCATE part_2a;
TRUNCATE part_3;
TRUNCATE part_4;
TRUNCATE part_2b;
TRUNCATE part_5a;
TRUNCATE pp.part_6;
-- Across partitions.
UPDATE part SET n = 15 WHERE id = 'a' AND n = 1;
BEGIN;
SELECT fence_assert('pp', 'a', 1, :'w1');
UPDATE part SET n = 15 WHERE id = 'a' AND n = 1;
UPDATE part SET n = 35 WHERE id = 'a' AND n = 15;
UPDATE part SET n = 99 WHERE id = 'a' AND n = 35;
SELECT tableoid::regclass, id, n FROM part ORDER BY n;
SAVEPOINT s;
-- To another partition and another key.
UPDATE part SET n = 15, id = 'b' WHERE id = 'a' AND n = 99;
ROLLBACK TO s;
UPDATE part SET n = 15, id = 'c' WHERE id = 'a' AND n = 99;
ROLLBACK TO s;
UPDATE part SET n = 99 WHERE id = 'b';
ROLLBACK TO s;
SELECT fence_assert('pp', 'c', 1, :'w1');
UPDATE part SET n = 15, id = 'c' WHERE id = 'a' AND n = 99;
SELECT tableoid::regclass, id, n FROM part ORDER BY n;
ROLLBACK;
BEGIN;
SELECT fence_assert('pp', 'c', 1, :'w1');
UPDATE part SET n = 15, id = 'c' WHERE id = 'a' AND n = 1;
ROLLBACK;
SELECT tableoid::regclass, id, n, v FROM part ORDER BY n;
-- What was detached is a table like any other, and comes back protected.
ALTER TABLE part DETACH PARTITION part_4;
UPDATE part_4 SET v = 2;
ALTER TABLE part ATTACH PARTITION part_4 FOR VALUES FROM (30) TO (40);
UPDATE part_4 SET v = 3;
ALTER TABLE part DETACH PARTITION part_1;
\set VERBOSITY terse
TRUNCATE part_1;
\set VERBOSITY sqlstate
SELECT fence_protect('part_1', 'pp', '["id"]');
DELETE FROM part_1;
-- With protection of its own it is no partition any more.
ALTER TABLE part ATTACH PARTITION part_1 FOR VALUES FROM (0) TO (10);
SELECT fence_unprotect('part_1');
ALTER TABLE part ATTACH PARTITION part_1 FOR VALUES FROM (0) TO (10);
DELETE FROM part_1;
TRUNCATE part_1;
SELECT tableoid::regclass, id, n, v FROM part ORDER BY n;
-- Protected first, and then attached to a table that is not: that one cannot be protected as well,
-- since fence_unprotect of it would take the triggers of both.
CREATE TABLE inner_part(id text NOT NULL, n int NOT NULL, v int) PARTITION BY RANGE (n);
CREATE TABLE inner_leaf PARTITION OF inner_part FOR VALUES FROM (0) TO (10);
SELECT fence_protect('inner_part', 'pp', '["id"]');
CREATE TABLE outer_part(id text NOT NULL, n int NOT NULL, v int) PARTITION BY RANGE (n);
ALTER TABLE outer_part ATTACH PARTITION inner_part FOR VALUES FROM (0) TO (10);
\set VERBOSITY terse
SELECT fence_protect('outer_part', 'pp', '["id"]');
\set VERBOSITY sqlstate
INSERT INTO outer_part VALUES ('a', 1, 1);
INSERT INTO inner_leaf VALUES ('a', 1, 1);
BEGIN;
SELECT fence_assert('pp', 'a', 1, :'w1');
INSERT INTO outer_part VALUES ('a', 1, 1);
COMMIT;
SELECT fence_unprotect('inner_part');
SELECT fence_protect('outer_part', 'pp', '["id"]');
DELETE FROM outer_part;
DELETE FROM inner_leaf;
-- Its protection goes for all of them.
SELECT fence_unprotect('outer_part');
DELETE FROM inner_leaf;
SELECT count(*) FROM pg_trigger WHERE tgrelid IN ('outer_part'::regclass, 'inner_part'::regclass, 'inner_leaf'::regclass);

DROP TABLE part, outer_part;
SELECT count(fence_unprotect(relation::oid)) FROM fence_protected WHERE namespace = 'pp';
DROP SCHEMA pp;
