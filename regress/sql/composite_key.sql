-- fence_key: which types make a key, where it can stand, what is refused.

SET search_path = fence, public;
\set w1 '11111111-1111-4111-8111-111111111111'

-- Every type that a key column may have.
SELECT fence_key((-32768)::smallint, 2147483647::integer, (-9223372036854775808)::bigint);
SELECT fence_key('a/b'::text, 'c\d'::varchar, 'e'::varchar(1));
SELECT fence_key('{A0EEBC999C0B4EF8BB6D6BB9BD380A11}'::uuid, true, false);
-- A literal without a type is text.
SELECT fence_key('7', 7, 'x');
-- Domains are what they are over.
CREATE DOMAIN composite_number AS bigint CHECK (value > 0);
CREATE DOMAIN composite_order AS composite_number;
CREATE DOMAIN composite_name AS varchar(10);
SELECT fence_key(7::composite_number, 8::composite_order, 'x'::composite_name);
-- What is kept compressed, or outside of the row, is no different.
CREATE TABLE composite_kept(a text, b text);
ALTER TABLE composite_kept ALTER b SET STORAGE EXTERNAL;
INSERT INTO composite_kept VALUES (repeat('k', 127), repeat('x', 100000));
SELECT octet_length(fence_key(a, a)) FROM composite_kept;
SELECT fence_key(b) FROM composite_kept;

-- Elements of an array are columns.
SELECT fence_key(VARIADIC ARRAY['a/b', '', 'c']), fence_key(VARIADIC ARRAY[1, 2]::smallint[]), fence_key(VARIADIC '{true}'::boolean[]);
SELECT fence_key(VARIADIC ARRAY['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid]), fence_key(VARIADIC ARRAY[7, 8]::composite_order[]);

-- No other type, whatever it looks like.
\set VERBOSITY terse
SELECT fence_key('a', 'b'::char(3));
SELECT fence_key('a'::name);
SELECT fence_key(1, 2.0);
SELECT fence_key(1.5::float8);
SELECT fence_key('a'::bytea);
SELECT fence_key('{}'::jsonb);
SELECT fence_key(current_date);
SELECT fence_key(ROW(1, 2));
SELECT fence_key(1, ARRAY[1, 2]);
SELECT fence_key(VARIADIC ARRAY[1.5]);
SELECT fence_key('pg_class'::regclass);

-- What there is none of.
SELECT fence_key(NULL);
SELECT fence_key(7, NULL::text, NULL);
SELECT fence_key(VARIADIC ARRAY['a', NULL]);
SELECT fence_key(VARIADIC NULL::text[]);
SELECT fence_key(VARIADIC '{}'::text[]);
SELECT fence_key(VARIADIC ARRAY[['a', 'b'], ['c', 'd']]);
SELECT fence_key('');
SELECT fence_key();
\echo :LAST_ERROR_SQLSTATE
-- The server asks for the type of a parameter.
PREPARE composite AS SELECT fence_key($1, 'x');
\echo :LAST_ERROR_SQLSTATE
PREPARE composite(int, varchar) AS SELECT fence_key($1, $2);
SET plan_cache_mode = force_generic_plan;
EXECUTE composite(1, 'x');
EXECUTE composite(1, NULL);
DEALLOCATE composite;
RESET plan_cache_mode;

-- Length in bytes, slashes and backslashes included.
SELECT octet_length(fence_key(repeat('€', 42), repeat('/', 64)));
SELECT fence_key(repeat('€', 42) || 'a', repeat('/', 64));
SELECT fence_key(repeat('k', 256));
SELECT fence_key('a', repeat('k', 1000000));
SELECT octet_length(fence_key(VARIADIC array_fill(''::text, ARRAY[256])));
SELECT fence_key(VARIADIC array_fill(''::text, ARRAY[257]));
\set VERBOSITY default

-- In a table of one's own: a generated column, an index, a view, a function.
CREATE TABLE composite_order_line(customer int, note text, k text GENERATED ALWAYS AS (fence_key(customer, note)) STORED);
CREATE UNIQUE INDEX composite_by_key ON composite_order_line(fence_key(customer, note));
CREATE VIEW composite_turned AS SELECT fence_key(note, customer) AS k FROM composite_order_line;
INSERT INTO composite_order_line VALUES (7, 'a/b'), (8, 'c');
SELECT k FROM composite_order_line ORDER BY customer;
SELECT k FROM composite_turned ORDER BY k;
SET enable_seqscan = off;
EXPLAIN (COSTS off) SELECT 1 FROM composite_order_line WHERE fence_key(customer, note) = '7/a\/b';
SELECT customer FROM composite_order_line WHERE fence_key(customer, note) = '7/a\/b';
RESET enable_seqscan;
INSERT INTO composite_order_line VALUES (9, NULL);
CREATE FUNCTION composite_inlined(a int, b text) RETURNS text LANGUAGE sql AS 'SELECT fence.fence_key(a, b)';
SELECT composite_inlined(customer, note) FROM composite_order_line ORDER BY customer;

-- It names records.
SELECT oplog_metadata_upsert('composite', fence_key(7, 'a/b'), 1, :'w1');
SELECT fenced_append('composite', k, 1, :'w1', 1, 'one') FROM composite_order_line WHERE customer = 7;

-- The key of a row of a protected table is what fence_key makes of its columns, whatever their
-- types; of a single column it is the text itself.
CREATE TABLE composite_row(a smallint NOT NULL, b int NOT NULL, c bigint NOT NULL, d text NOT NULL, e varchar NOT NULL, f uuid NOT NULL, g boolean NOT NULL);
SELECT fence_protect('composite_row', 'composite', '["a", "b", "c", "d", "e", "f", "g"]');
CREATE TABLE composite_one(a text NOT NULL);
SELECT fence_protect('composite_one', 'composite', '["a"]');
CREATE VIEW composite_rows AS SELECT * FROM (VALUES
  ((-32768)::smallint, (-2147483648)::int, (-9223372036854775808)::bigint, 'a/b', 'c\d'::varchar, 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::uuid, true),
  (32767, 2147483647, 9223372036854775807, '', '/', '00000000-0000-0000-0000-000000000000', false)) AS v(a, b, c, d, e, f, g);
SELECT oplog_metadata_upsert_many('composite', jsonb_agg(jsonb_build_object('key', k, 'epoch', 1)), :'w1')
FROM (SELECT fence_key(a, b, c, d, e, f, g) FROM composite_rows UNION ALL SELECT 'a/b\') AS keys(k);
BEGIN;
SELECT fence_assert('composite', fence_key(a, b, c, d, e, f, g), 1, :'w1') FROM composite_rows;
INSERT INTO composite_row SELECT * FROM composite_rows;
SELECT fence_assert('composite', 'a/b\', 1, :'w1');
INSERT INTO composite_one VALUES ('a/b\');
COMMIT;
SELECT fence_key(a, b, c, d, e, f, g) FROM composite_row;
\set VERBOSITY sqlstate
INSERT INTO composite_row SELECT * FROM composite_rows;
INSERT INTO composite_one VALUES ('a/b\');
\set VERBOSITY default

DROP VIEW composite_rows;
DROP TABLE composite_row, composite_one;
DROP FUNCTION composite_inlined;
DROP VIEW composite_turned;
DROP TABLE composite_order_line, composite_kept;
DROP DOMAIN composite_name, composite_order, composite_number;
