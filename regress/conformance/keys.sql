-- oplog_keys: the keys that live, in the order of their bytes.
SELECT key FROM oplog_keys('n');
SELECT oplog_metadata_upsert('n', 'b', 1, :w1);
SELECT oplog_metadata_upsert('n', 'a', 1, :w1);
SELECT oplog_metadata_upsert('n', 'B', 1, :w1);
SELECT oplog_metadata_upsert('n', 'é', 1, :w1);
SELECT oplog_metadata_upsert('n', 'a%b', 1, :w1);
SELECT oplog_metadata_upsert('n', 'a_b', 1, :w1);
SELECT oplog_metadata_upsert('n', 'axb', 1, :w1);
SELECT oplog_metadata_upsert('n', 'a\b', 1, :w1);
SELECT oplog_metadata_upsert('n', '🔒', 1, :w1);
SELECT oplog_metadata_upsert('m', 'm', 1, :w1);
SELECT key FROM oplog_keys('n');
SELECT key FROM oplog_keys('m');

-- A prefix is literal.
SELECT key FROM oplog_keys('n', 'a');
SELECT key FROM oplog_keys('n', 'a%');
SELECT key FROM oplog_keys('n', 'a_');
SELECT key FROM oplog_keys('n', 'a\');
SELECT key FROM oplog_keys('n', 'zz');
SELECT count(*) FROM oplog_keys('n', NULL);
SELECT count(*) FROM oplog_keys('n', '');

-- Strictly above after, at most max.
SELECT key FROM oplog_keys('n', '', 'axb');
SELECT key FROM oplog_keys('n', '', 'a', 2);
SELECT key FROM oplog_keys('n', 'a', 'a%b', 1);
SELECT key FROM oplog_keys('n', 'b', 'a');
SELECT key FROM oplog_keys('n', 'a', 'b');
SELECT count(*) FROM oplog_keys('n', '', '');
SELECT count(*) FROM oplog_keys('n', '', NULL, NULL);
SELECT count(*) FROM oplog_keys('n', '', NULL, 0);
SELECT count(*) FROM oplog_keys('n', '', NULL, 9223372036854775807);

-- Deleting what was returned never skips a key.
SELECT fenced_delete('n', 'a', 1, :w1);
SELECT key FROM oplog_keys('n', '', 'a', 1);
SELECT fenced_delete('n', 'a%b', 1, :w1);
SELECT key FROM oplog_keys('n', '', 'a%b', 1);
SELECT key FROM oplog_keys('n', 'a');
SELECT oplog_metadata_upsert('n', 'a', 2, :w1);
SELECT key FROM oplog_keys('n', 'a');

-- What cannot be.
SELECT key FROM oplog_keys(NULL);
SELECT key FROM oplog_keys('');
SELECT key FROM oplog_keys('n', '', NULL, -1);
SELECT key FROM oplog_keys('n', 'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' ||
  'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' ||
  'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' ||
  'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' ||
  'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk');
SELECT key FROM oplog_keys('n', '', 'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' ||
  'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' ||
  'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' ||
  'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' ||
  'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk');
