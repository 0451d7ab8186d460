-- Namespaces keep equal keys apart.

-- L27: given key k in n1 and n2, claims and entries of one do not touch the other.
SELECT oplog_metadata_upsert('n1', 'k', 5, :w1);
SELECT oplog_metadata_upsert('n2', 'k', 1, :w2);
SELECT fenced_append('n1', 'k', 5, :w1, 1, 'of n1');
SELECT fenced_append('n2', 'k', 1, :w2, 1, 'of n2');
SELECT namespace, key, idx, epoch, payload FROM oplog_entries ORDER BY namespace, key, idx;

-- A takeover in n1 fences nobody in n2.
SELECT oplog_metadata_upsert('n1', 'k', 6, :w3);
SELECT fenced_append('n1', 'k', 5, :w1, 2, 'stale');
SELECT fenced_append('n2', 'k', 1, :w2, 2, 'of n2 again');
SELECT namespace, epoch, writer, last_idx, length FROM oplog_status ORDER BY namespace;

-- An owner in one namespace is nobody in the other, nor in a third.
SELECT fenced_append('n2', 'k', 6, :w3, 3, 'of n1');
SELECT fenced_append('n3', 'k', 6, :w3, 3, 'of n1');
SELECT fence_check('n2', 'k', 6, :w3);

-- Reads are of one namespace.
SELECT idx, payload FROM oplog_read('n1', 'k');
SELECT idx, payload FROM oplog_read('n2', 'k');

-- ('a', 'b:c') and ('a:b', 'c') are different records; so are ('ab', 'c') and ('a', 'bc').
SELECT oplog_metadata_upsert('a', 'b:c', 1, :w1);
SELECT oplog_metadata_upsert('a:b', 'c', 2, :w2);
SELECT oplog_metadata_upsert('ab', 'c', 3, :w1);
SELECT oplog_metadata_upsert('a', 'bc', 4, :w2);
SELECT namespace, key, epoch, writer FROM oplog_metadata WHERE namespace LIKE 'a%' ORDER BY namespace, key;
