-- Fence's tables in a SQLite file, format 1. Ordinary rowid tables: WITHOUT
-- ROWID is several times slower once payloads reach a kilobyte.
--
-- Writers are stored as hashes (16 bytes), epochs and idx as 0..2^63-1, seals as
-- 16 bytes. Everything here is read by every version of Fence: a change of
-- meaning needs a new format number and a step in migrations/.

-- One row: what the file is. seal_key: 16 random bytes, the key of all seals.
-- generation: rises with each fence_anchor().
CREATE TABLE main.fence_control_v1(
  id INTEGER PRIMARY KEY CHECK (id = 1),
  format INTEGER NOT NULL,
  seal_key BLOB NOT NULL,
  generation INTEGER NOT NULL
);

-- Settings that differ from their default.
CREATE TABLE main.fence_setting_v1(
  name TEXT NOT NULL PRIMARY KEY,
  value INTEGER NOT NULL
);

-- Namespaces that differ from the default (mode required, nothing else).
-- floor: highest epoch of the keys whose records were purged, -1 if none. Sealed,
-- since a mode that is changed unseen opens the fence.
CREATE TABLE main.fence_namespace_v1(
  namespace TEXT NOT NULL PRIMARY KEY,
  mode TEXT NOT NULL,
  identical_repeat INTEGER NOT NULL,
  shard_space TEXT,
  floor INTEGER NOT NULL,
  seal BLOB NOT NULL
);

-- The ownership record of each key. deleted_at (milliseconds since 1970) is NULL
-- while the key lives; afterwards epoch is its floor and writer who deleted it.
-- A writer of zeros is nobody: the key has no owner, epoch is its floor, and -1
-- where it was never claimed.
-- tail, tail_seal: an entry that was the newest, noted now and then; trimmed: up
-- to where the log was trimmed, trim_seal: the last entry of the chain that went;
-- late_sum: sum of the seals of the entries that were stored below the then newest
-- one; reset_last: where the log ended when its epoch was last lowered (up to there
-- entries may have any epoch). -1 and zeros where there is none. published: the mark
-- of where the log of a deleted key went, or NULL.
CREATE TABLE main.fence_meta_v1(
  namespace TEXT NOT NULL,
  key TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  writer BLOB NOT NULL,
  deleted_at INTEGER,
  tail INTEGER NOT NULL,
  tail_seal BLOB NOT NULL,
  trimmed INTEGER NOT NULL,
  trim_seal BLOB NOT NULL,
  late_sum BLOB NOT NULL,
  reset_last INTEGER NOT NULL,
  published BLOB,
  seal BLOB NOT NULL,
  PRIMARY KEY (namespace, key)
);

-- For fence_purge.
CREATE INDEX main.fence_meta_deleted ON fence_meta_v1(namespace, deleted_at, key) WHERE deleted_at IS NOT NULL;

-- The entries. An unfenced one has epoch -1 and a writer of zeros. late: 1 when it was stored below
-- the then newest entry (its seal then follows no other).
CREATE TABLE main.fence_oplog_v1(
  namespace TEXT NOT NULL,
  key TEXT NOT NULL,
  idx INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  writer BLOB NOT NULL,
  payload BLOB NOT NULL,
  late INTEGER NOT NULL,
  seal BLOB NOT NULL,
  PRIMARY KEY (namespace, key, idx)
);

-- Small named values of a key; epoch and writer as in an entry.
CREATE TABLE main.fence_value_v1(
  namespace TEXT NOT NULL,
  key TEXT NOT NULL,
  name TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  writer BLOB NOT NULL,
  value BLOB NOT NULL,
  seal BLOB NOT NULL,
  PRIMARY KEY (namespace, key, name)
);

-- sqlite3_blob_open writes past every trigger, but never into a table with an
-- expression index. These stay empty: no idx or epoch is that low.
CREATE INDEX main.fence_control_noblob ON fence_control_v1(length(seal_key)) WHERE format < -1; -- layer: blob_index
CREATE INDEX main.fence_setting_noblob ON fence_setting_v1(length(name)) WHERE value < -1; -- layer: blob_index
CREATE INDEX main.fence_namespace_noblob ON fence_namespace_v1(length(mode)) WHERE floor < -1; -- layer: blob_index
CREATE INDEX main.fence_meta_noblob ON fence_meta_v1(length(writer)) WHERE epoch < -1; -- layer: blob_index
CREATE INDEX main.fence_oplog_noblob ON fence_oplog_v1(length(payload)) WHERE idx < -1; -- layer: blob_index
CREATE INDEX main.fence_value_noblob ON fence_value_v1(length(value)) WHERE epoch < -1; -- layer: blob_index
