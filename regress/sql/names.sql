-- Names and payloads, as far as the server has a say in them: lengths in bytes,
-- compression, storage outside of the row, the client's encoding.

\set w1 '11111111-1111-4111-8111-111111111111'
\set w2 '22222222-2222-4222-8222-222222222222'
SET search_path = fence, public;

-- 255 bytes of several to a character, in both names; one more is too many.
SELECT oplog_metadata_upsert(repeat('€', 85), repeat('🔒', 63) || 'abc', 1, :'w1');
SELECT fenced_append(repeat('€', 85), repeat('🔒', 63) || 'abc', 1, :'w1', 1, 'one');
SELECT octet_length(namespace), octet_length(key), last_idx FROM oplog_status WHERE namespace = repeat('€', 85);
SELECT oplog_metadata_upsert(repeat('€', 85) || 'a', 'k', 1, :'w1');
SELECT oplog_metadata_upsert('n', repeat('🔒', 64), 1, :'w1');
SELECT oplog_metadata_upsert(repeat('€', 85), repeat('🔒', 63) || 'abd', 1, :'w2');
SELECT length(key), epoch FROM oplog_metadata WHERE namespace = repeat('€', 85) ORDER BY key;
-- A refusal holds the longest names whole.
DO $$
DECLARE detail text;
BEGIN
  PERFORM fence.fence_check(repeat('"', 255), repeat('\', 255), 9223372036854775807, '11111111-1111-4111-8111-111111111111');
EXCEPTION WHEN SQLSTATE 'ZF003' THEN
  GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
  RAISE NOTICE '% % %', length(detail::json->>'namespace'), length(detail::json->>'key'), detail::json->>'asserted_epoch';
END
$$;

-- Names of a column are compressed there and no different here.
CREATE TABLE names_kept(name text, payload bytea);
ALTER TABLE names_kept ALTER payload SET STORAGE EXTERNAL;
INSERT INTO names_kept VALUES (repeat('k', 255), decode(repeat('00ff', 500000), 'hex'));
SELECT oplog_metadata_upsert('names', name, 1, :'w1') FROM names_kept;
INSERT INTO fenced_append SELECT 'names', name, 1, :'w1', 1, payload FROM names_kept;

-- 1 MB comes back byte for byte, and its repeat and its other bytes are told apart.
SELECT octet_length(r.payload), r.payload = k.payload AS same FROM names_kept AS k, oplog_read('names', k.name) AS r;
SELECT fenced_append('names', name, 1, :'w1', 1, payload) FROM names_kept;
SELECT fenced_append('names', name, 1, :'w1', 1, set_byte(payload, 999999, 1)) FROM names_kept;
SELECT fenced_append('names', name, 1, :'w1', 1, payload || '\x00') FROM names_kept;
SELECT fenced_append_many('names', name, 1, :'w1', ARRAY[2, 3, 1], ARRAY[payload, '', payload]) FROM names_kept;
SELECT idx, octet_length(payload), sha256(payload) = sha256((SELECT payload FROM names_kept)) AS same
FROM oplog_read('names', (SELECT name FROM names_kept));
DROP TABLE names_kept;

-- Payloads are not compressed a second time, and big ones not kept in the row.
SELECT attname, attstorage FROM pg_attribute WHERE attrelid = 'fence_internal.entry'::regclass AND attname = 'payload';

-- Empty, and every byte there is.
SELECT oplog_metadata_upsert('names', 'bytes', 1, :'w1');
SELECT fenced_append('names', 'bytes', 1, :'w1', 1, '');
SELECT fenced_append('names', 'bytes', 1, :'w1', 2, string_agg(set_byte('\x00', 0, i), '' ORDER BY i)) FROM generate_series(0, 255) AS i;
SELECT idx, payload FROM oplog_read('names', 'bytes');

-- A client of another encoding names the same key.
SELECT oplog_metadata_upsert('names', U&'gr\00F6\00DFer', 4, :'w1');
SET client_encoding = LATIN1;
SELECT fenced_append('names', U&'gr\00F6\00DFer', 4, :'w1', 1, 'one');
SELECT count(*) FROM oplog_status WHERE namespace = 'names' AND key = U&'gr\00F6\00DFer' AND last_idx = 1;
RESET client_encoding;

-- Byte order, whatever the database's collation; blanks and case are bytes.
SELECT oplog_metadata_upsert_many('order', '[{"key":"b","epoch":1},{"key":"B","epoch":1},{"key":"a","epoch":1},{"key":"ä","epoch":1},{"key":"a ","epoch":1},{"key":"_","epoch":1}]', :'w1');
SELECT key FROM oplog_metadata WHERE namespace = 'order' ORDER BY key;
