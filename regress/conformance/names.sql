-- Namespaces and keys: 1 to 255 bytes of UTF-8, compared byte by byte.

-- 255 bytes are a name, 256 are none.
SELECT oplog_metadata_upsert('long', 'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' ||
  'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' ||
  'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' ||
  'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' ||
  'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk', 1, :w1);
SELECT oplog_metadata_upsert('long', 'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' ||
  'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' ||
  'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' ||
  'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' ||
  'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk', 1, :w1);
SELECT oplog_metadata_upsert('kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' ||
  'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' ||
  'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' ||
  'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' ||
  'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk', 'k', 1, :w1);
SELECT oplog_metadata_upsert('kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' ||
  'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' ||
  'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' ||
  'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' ||
  'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk', 'k', 1, :w1);

-- Bytes count, not characters: 85 euro signs are 255 bytes.
SELECT oplog_metadata_upsert('euro', '€€€€€€€€€€€€€€€€€' ||
  '€€€€€€€€€€€€€€€€€' ||
  '€€€€€€€€€€€€€€€€€' ||
  '€€€€€€€€€€€€€€€€€' ||
  '€€€€€€€€€€€€€€€€€', 1, :w1);
SELECT oplog_metadata_upsert('euro', '€€€€€€€€€€€€€€€€€€' ||
  '€€€€€€€€€€€€€€€€€' ||
  '€€€€€€€€€€€€€€€€€' ||
  '€€€€€€€€€€€€€€€€€' ||
  '€€€€€€€€€€€€€€€€€', 1, :w1);

-- The longest names come back whole in a refusal.
SELECT fence_check('kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' ||
  'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' ||
  'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' ||
  'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' ||
  'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk', 'k', 2, :w1);

-- An empty text is none, a blank is one.
SELECT oplog_metadata_upsert('n', '', 1, :w1);
SELECT oplog_metadata_upsert('', 'k', 1, :w1);
SELECT oplog_metadata_upsert(' ', ' ', 1, :w1);

-- Case, blanks and accents tell names apart; so does how a letter is composed.
SELECT oplog_metadata_upsert('n', 'key', 1, :w1);
SELECT oplog_metadata_upsert('n', 'KEY', 2, :w1);
SELECT oplog_metadata_upsert('n', 'key ', 3, :w1);
SELECT oplog_metadata_upsert('n', ' key', 4, :w1);
SELECT oplog_metadata_upsert('n', 'kéy', 5, :w1);
SELECT oplog_metadata_upsert('n', 'kéy', 6, :w1);

-- Nothing in a name has a meaning.
SELECT oplog_metadata_upsert('n', '%', 7, :w1);
SELECT oplog_metadata_upsert('n', '_', 8, :w1);
SELECT oplog_metadata_upsert('n', 'it''s; --', 9, :w1);
SELECT oplog_metadata_upsert('n', '🔒', 10, :w1);

-- Each is a record of its own, and they sort by their bytes.
SELECT key, epoch FROM oplog_metadata WHERE namespace = 'n' ORDER BY key;
SELECT fenced_append('n', 'key', 1, :w1, 1, 'one');
SELECT fenced_append('n', '%', 1, :w1, 1, 'one');
SELECT idx FROM oplog_read('n', 'key');
SELECT idx FROM oplog_read('n', 'KEY');
SELECT idx FROM oplog_read('n', '%');

-- Quotes, backslashes and braces are intact in the detail.
SELECT fence_check('"quoted" \ {braced}', 'it''s 100 %s', 1, :w1);
