-- INSERT INTO fence.fenced_append: the forms that PostgreSQL has for it.

\set w1 '11111111-1111-4111-8111-111111111111'
\set w2 '22222222-2222-4222-8222-222222222222'
SET search_path = fence, public;
SELECT oplog_metadata_upsert('view', 'k', 1, :'w1');
SELECT oplog_metadata_upsert('view', 'moved', 1, :'w1');
SELECT oplog_metadata_upsert('view', 'moved', 2, :'w2');

-- Several rows; INSERT ... SELECT; RETURNING gives back what was put in.
INSERT INTO fenced_append VALUES ('view', 'k', 1, :'w1', 2, 'two'), ('view', 'k', 1, :'w1', 1, 'one');
INSERT INTO fenced_append(namespace, key, epoch, writer, idx, payload)
SELECT 'view', 'k', 1, :'w1', i, i::text::bytea FROM generate_series(3, 5) AS i
RETURNING idx, convert_from(payload, 'UTF8');
INSERT INTO fenced_append VALUES ('view', 'k', 1, :'w1', 1, 'one') RETURNING key, idx + 1 AS next;
SELECT idx, convert_from(payload, 'UTF8') FROM oplog_read('view', 'k');

-- A log copied into another one.
SELECT oplog_metadata_upsert('view', 'copy', 9, :'w2');
WITH old AS (SELECT idx, payload FROM oplog_read('view', 'k'))
INSERT INTO fenced_append SELECT 'view', 'copy', 9, :'w2', idx + 100, payload FROM old;
SELECT idx, epoch, convert_from(payload, 'UTF8') FROM oplog_read('view', 'copy');

-- COPY.
COPY fenced_append FROM STDIN;
view	k	1	11111111-1111-4111-8111-111111111111	6	\\x736978
view	k	1	11111111-1111-4111-8111-111111111111	7	\\x
\.
COPY fenced_append(idx, payload, namespace, key, epoch, writer) FROM STDIN (FORMAT csv);
8,eight,view,k,1,11111111-1111-4111-8111-111111111111
\.
SELECT idx, convert_from(payload, 'UTF8') FROM oplog_read('view', 'k', 6);

-- All rows or none, however they come: the last one is stale, or has no payload.
COPY fenced_append FROM STDIN;
view	k	1	11111111-1111-4111-8111-111111111111	9	nine
view	moved	1	11111111-1111-4111-8111-111111111111	1	stale
\.
COPY fenced_append FROM STDIN;
view	k	1	11111111-1111-4111-8111-111111111111	9	nine
view	k	1	11111111-1111-4111-8111-111111111111	10	\N
\.
INSERT INTO fenced_append VALUES ('view', 'k', 1, :'w1', 9, 'nine'), ('view', 'k', 1, :'w1', 1, 'other');
INSERT INTO fenced_append VALUES ('view', 'k', 1, :'w1', 9, 'nine'), ('view', 'k', 1, :'w2', 10, 'ten');
INSERT INTO fenced_append SELECT 'view', 'k', 1, :'w1', 10 - i, 'x' FROM generate_series(1, 11) AS i WHERE i = 1 OR i = 11;
SELECT last_idx, length FROM oplog_status WHERE namespace = 'view' AND key = 'k';

-- A column that is not named is NULL, and refused.
INSERT INTO fenced_append(namespace, key, epoch, writer, payload) VALUES ('view', 'k', 1, :'w1', 'nine');
INSERT INTO fenced_append DEFAULT VALUES;

-- Several keys in one statement, each under its own owner; one epoch for each.
INSERT INTO fenced_append VALUES ('view', 'k', 1, :'w1', 9, 'nine'), ('view', 'moved', 2, :'w2', 1, 'one');
INSERT INTO fenced_append VALUES ('view', 'k', 1, :'w1', 10, 'ten'), ('view', 'k', 2, :'w1', 11, 'eleven');
SELECT key, last_idx FROM oplog_status WHERE namespace = 'view' AND key IN ('k', 'moved') ORDER BY key;

-- In a statement with other work: both or none.
CREATE TABLE view_work(step int);
WITH work AS (INSERT INTO view_work VALUES (1) RETURNING step)
INSERT INTO fenced_append SELECT 'view', 'k', 1, :'w1', 9 + step, 'ten' FROM work;
WITH work AS (INSERT INTO view_work VALUES (2) RETURNING step)
INSERT INTO fenced_append SELECT 'view', 'moved', 1, :'w1', 9 + step, 'stale' FROM work;
WITH entry AS (INSERT INTO fenced_append VALUES ('view', 'k', 1, :'w1', 11, 'eleven') RETURNING idx)
INSERT INTO view_work SELECT idx FROM entry;
SELECT step FROM view_work ORDER BY step;
SELECT last_idx FROM oplog_status WHERE namespace = 'view' AND key = 'k';
DROP TABLE view_work;

-- ON CONFLICT does not hide what is refused.
INSERT INTO fenced_append VALUES ('view', 'k', 1, :'w1', 12, 'twelve') ON CONFLICT DO NOTHING;
INSERT INTO fenced_append VALUES ('view', 'k', 1, :'w1', 12, 'other') ON CONFLICT DO NOTHING;
INSERT INTO fenced_append VALUES ('view', 'moved', 1, :'w1', 12, 'stale') ON CONFLICT DO NOTHING;
SELECT convert_from(payload, 'UTF8') FROM oplog_read('view', 'k', 12);

-- It shows nothing, and takes nothing else.
SELECT * FROM fenced_append;
\set VERBOSITY terse
UPDATE fenced_append SET idx = 1;
DELETE FROM fenced_append;
TRUNCATE fenced_append;
COPY fenced_append TO STDOUT;
INSERT INTO fenced_append VALUES ('view', 'k', 1, :'w1', 13, 'x')
ON CONFLICT (idx) DO UPDATE SET payload = excluded.payload;
\set VERBOSITY default
SELECT last_idx FROM oplog_status WHERE namespace = 'view' AND key = 'k';
