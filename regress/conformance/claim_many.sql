-- oplog_metadata_upsert_many(namespace, claims, writer): all keys or none.

-- The answer has the order of the claims. An epoch may be a string or a number.
SELECT oplog_metadata_upsert_many('n', '[{"key": "b", "epoch": "7"}, {"key": "a", "epoch": 3}]', :w1);
SELECT key, epoch, writer FROM oplog_metadata WHERE namespace = 'n' ORDER BY key;

-- Given entries, last is the greatest idx; new keys have none.
SELECT fenced_append('n', 'a', 3, :w1, 40, 'forty');
SELECT fenced_append('n', 'b', 7, :w1, 0, 'zero');
SELECT oplog_metadata_upsert_many('n', '[{"key": "a", "epoch": "3"}, {"key": "b", "epoch": "8"}, {"key": "c", "epoch": "0"}]', :w1);
SELECT key, epoch, writer FROM oplog_metadata WHERE namespace = 'n' ORDER BY key;

-- One stale claim fails all, the ones before it too; the detail names its key.
SELECT oplog_metadata_upsert_many('n', '[{"key": "a", "epoch": "4"}, {"key": "b", "epoch": "5"}, {"key": "c", "epoch": "1"}]', :w2);
-- So does one that another writer holds.
SELECT oplog_metadata_upsert_many('n', '[{"key": "d", "epoch": "1"}, {"key": "c", "epoch": "0"}]', :w2);
SELECT key, epoch, writer FROM oplog_metadata WHERE namespace = 'n' ORDER BY key;

-- The owner of all of them is not disturbed.
SELECT fenced_append('n', 'a', 3, :w1, 41, 'forty-one');

-- An empty array claims nothing.
SELECT oplog_metadata_upsert_many('n', '[]', :w1);

-- Numbers are exact up to 2^63-1, as strings and as numbers.
SELECT oplog_metadata_upsert_many('max', '[{"key": "s", "epoch": "9223372036854775807"}, {"key": "i", "epoch": 9223372036854775807}]', :w1);
SELECT oplog_metadata_upsert_many('odd', '[{"key": "s", "epoch": "9007199254740993"}, {"key": "i", "epoch": 9007199254740993}]', :w1);
SELECT namespace, key, epoch FROM oplog_metadata WHERE namespace <> 'n' ORDER BY namespace, key;

-- What is no array of claims is refused as a whole, before any key is looked at.
SELECT oplog_metadata_upsert_many('bad', NULL, :w1);
SELECT oplog_metadata_upsert_many('bad', '{"key": "a", "epoch": "1"}', :w1);
SELECT oplog_metadata_upsert_many('bad', '[{"key": "a", "epoch": "1"}, 2]', :w1);
SELECT oplog_metadata_upsert_many('bad', '[{"key": "a", "epoch": "1"}, {"key": "", "epoch": "1"}]', :w1);
SELECT oplog_metadata_upsert_many('bad', '[{"key": "a", "epoch": "1"}, {"key": 2, "epoch": "1"}]', :w1);
SELECT oplog_metadata_upsert_many('bad', '[{"key": "a", "epoch": "1"}, {"key": ["b"], "epoch": "1"}]', :w1);
SELECT oplog_metadata_upsert_many('bad', '[{"key": "a", "epoch": "1"}, {"key": {"b": "c"}, "epoch": "1"}]', :w1);
SELECT oplog_metadata_upsert_many('bad', '[{"key": "a", "epoch": "1"}, {"epoch": "1"}]', :w1);
SELECT oplog_metadata_upsert_many('bad', '[{"key": "a", "epoch": "1"}, {"key": "b"}]', :w1);
SELECT oplog_metadata_upsert_many('bad', '[{"key": "a", "epoch": "1"}, {"key": "b", "epoch": -1}]', :w1);
SELECT oplog_metadata_upsert_many('bad', '[{"key": "a", "epoch": "1"}, {"key": "b", "epoch": 1.5}]', :w1);
SELECT oplog_metadata_upsert_many('bad', '[{"key": "a", "epoch": "1"}, {"key": "b", "epoch": "07"}]', :w1);
SELECT oplog_metadata_upsert_many('bad', '[{"key": "a", "epoch": "1"}, {"key": "b", "epoch": true}]', :w1);
SELECT oplog_metadata_upsert_many('bad', '[{"key": "a", "epoch": "1"}, {"key": "a", "epoch": "2"}]', :w1);
SELECT oplog_metadata_upsert_many('n', '[{"key": "b", "epoch": "5"}, 2]', :w2);
SELECT oplog_metadata_upsert_many('', '[]', :w1);
SELECT oplog_metadata_upsert_many('bad', '[{"key": "a", "epoch": "1"}]', NULL);
SELECT count(*) FROM oplog_metadata WHERE namespace = 'bad';
