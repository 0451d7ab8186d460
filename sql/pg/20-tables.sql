-- Fence's tables. The C++ code reads and writes their rows by column number
-- (in the files *_store.cc, and access.cc): keep the order. All are logged: none
-- of them may be forgotten in a crash.

-- The ownership record of each key. Written by claims and deletes only, in place as far
-- as the page has room.
CREATE TABLE fence_internal.record(
  namespace text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  hash bigint NOT NULL,
  epoch bigint NOT NULL,
  writer bytea NOT NULL,
  deleted_at timestamptz,
  tail_at_claim bigint NOT NULL,
  trimmed bigint NOT NULL,
  born bigint NOT NULL,
  timeline integer NOT NULL,
  lineage bigint NOT NULL,
  reset_last bigint NOT NULL DEFAULT -1,
  published bytea,
  PRIMARY KEY (namespace, key)
) WITH (fillfactor = 70);
CREATE INDEX record_hash ON fence_internal.record(hash);
CREATE INDEX record_deleted ON fence_internal.record(namespace, deleted_at);
COMMENT ON TABLE fence_internal.record IS 'Ownership record of each key';
COMMENT ON COLUMN fence_internal.record.hash IS 'Of namespace and key: what stands in lock tags';
COMMENT ON COLUMN fence_internal.record.epoch IS 'Ownership epoch; of a key without owner its floor, -1 if none';
COMMENT ON COLUMN fence_internal.record.writer IS 'Hash of the owner, or of who deleted the key; zeros: nobody';
COMMENT ON COLUMN fence_internal.record.deleted_at IS 'NULL while the key lives';
COMMENT ON COLUMN fence_internal.record.tail_at_claim IS 'Greatest idx ever stored by others than the owner of the epoch, -1 if none';
COMMENT ON COLUMN fence_internal.record.trimmed IS 'Up to here the log was trimmed when the epoch began, -1 if not';
COMMENT ON COLUMN fence_internal.record.born IS 'First epoch of this life of the key';
COMMENT ON COLUMN fence_internal.record.reset_last IS 'Greatest idx ever stored when fence_reset lowered the epoch, -1 if never: entries up to there may have any epoch';
COMMENT ON COLUMN fence_internal.record.published IS 'Checksum of where fenced_publish moved the log of a deleted key';
COMMENT ON COLUMN fence_internal.record.timeline IS 'Timeline of the server when the epoch began';
COMMENT ON COLUMN fence_internal.record.lineage IS 'Generation of fence_internal.lineage when the epoch began';

-- The entries. The epoch is part of the key: what a frozen owner has not committed
-- conflicts with nothing that its successor stores. Wide columns last, payloads not
-- compressed (most are already, and then they would be compressed twice).
CREATE TABLE fence_internal.entry(
  idx bigint NOT NULL,
  epoch bigint NOT NULL,
  namespace text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  payload bytea NOT NULL,
  PRIMARY KEY (namespace, key, idx, epoch)
);
ALTER TABLE fence_internal.entry ALTER COLUMN payload SET STORAGE EXTERNAL;
COMMENT ON TABLE fence_internal.entry IS 'Entries of the logs';
COMMENT ON COLUMN fence_internal.entry.epoch IS 'Under which the entry was stored; -1: unfenced';

-- Up to which idx the owner of an epoch has trimmed. A row of its own for each epoch:
-- no owner ever waits for a row that another one has touched.
CREATE TABLE fence_internal.trim_mark(
  namespace text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  epoch bigint NOT NULL,
  trimmed bigint NOT NULL,
  PRIMARY KEY (namespace, key, epoch)
);
COMMENT ON TABLE fence_internal.trim_mark IS 'Up to which idx each epoch trimmed; a claim notes the greatest in the record';

-- Small named values; the one of the highest epoch counts, and value is NULL where that
-- epoch removed it while somebody else's row could not be removed yet.
CREATE TABLE fence_internal.value(
  namespace text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  epoch bigint NOT NULL,
  value bytea,
  PRIMARY KEY (namespace, key, name, epoch)
);
COMMENT ON TABLE fence_internal.value IS 'Named values of keys';

-- Namespaces that differ from the default: mode required, nothing else.
CREATE TABLE fence_internal.namespace(
  namespace text COLLATE "C" NOT NULL PRIMARY KEY,
  mode text NOT NULL,
  identical_repeat boolean NOT NULL,
  shard_space text COLLATE "C",
  floor bigint NOT NULL
) WITH (fillfactor = 50);
COMMENT ON TABLE fence_internal.namespace IS 'Modes of namespaces, and their floors';
COMMENT ON COLUMN fence_internal.namespace.floor IS 'Highest epoch of keys whose records were purged, -1 if none';

-- Which databases this state has lived in; in force are the rows of the greatest
-- generation. install is not dumped: a restored copy knows the old one from lineage, and
-- that it is another one now.
CREATE TABLE fence_internal.lineage(
  generation bigint NOT NULL,
  install uuid NOT NULL,
  system_identifier bigint NOT NULL,
  database oid NOT NULL,
  timeline integer NOT NULL,
  accepted_from integer,
  PRIMARY KEY (generation, install, timeline)
);
COMMENT ON TABLE fence_internal.lineage IS 'Databases that this state has lived in: fence_adopt and fence_lineage_accept add to it';
COMMENT ON COLUMN fence_internal.lineage.timeline IS 'Of the server when the row was made';
COMMENT ON COLUMN fence_internal.lineage.accepted_from IS 'Claims that counted on this timeline count on; NULL: none do';
CREATE TABLE fence_internal.install(
  install uuid NOT NULL PRIMARY KEY
);
COMMENT ON TABLE fence_internal.install IS 'The install of this very database; never dumped';
WITH made AS (INSERT INTO fence_internal.install VALUES (pg_catalog.gen_random_uuid()) RETURNING install)
INSERT INTO fence_internal.lineage
SELECT 1, made.install, system.system_identifier, database.oid,
  -- Its first 8 digits are the timeline; what pg_control_checkpoint() says is of the past.
  pg_catalog.concat('x', pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 1, 8))::bit(32)::integer
FROM made, pg_catalog.pg_control_system() AS system, pg_catalog.pg_database AS database
WHERE database.datname OPERATOR(pg_catalog.=) pg_catalog.current_database();

-- The tables of users that are protected; of a partitioned one its root.
CREATE TABLE fence_internal.protected(
  relation regclass NOT NULL PRIMARY KEY,
  namespace text COLLATE "C" NOT NULL,
  key_columns text[] NOT NULL,
  key text COLLATE "C",
  authority text NOT NULL,
  subscriber text NOT NULL,
  protected_as text NOT NULL,
  key_attributes smallint[] NOT NULL
);
COMMENT ON TABLE fence_internal.protected IS 'Tables that fence_protect protects';
COMMENT ON COLUMN fence_internal.protected.key_columns IS 'The columns whose text is the key of a row; none where key is given';
COMMENT ON COLUMN fence_internal.protected.key IS 'The key that every row belongs to; NULL: key_columns say it';
COMMENT ON COLUMN fence_internal.protected.protected_as IS 'What the table was called, with its schema, when it was protected';
COMMENT ON COLUMN fence_internal.protected.key_attributes IS 'The numbers that key_columns had when the table was protected';

-- Who may do what beside superusers and the owner; namespace NULL: all of them.
CREATE TABLE fence_internal.access(
  role regrole NOT NULL,
  namespace text COLLATE "C",
  may_write boolean NOT NULL,
  UNIQUE (role, namespace, may_write)
);
-- It has no primary key, since a namespace may be NULL; without either nothing could be
-- deleted where it is published.
ALTER TABLE fence_internal.access REPLICA IDENTITY FULL;
COMMENT ON TABLE fence_internal.access IS 'What fence_grant_writer and fence_grant_reader gave';

-- Without this a dump would reset every epoch silently.
SELECT pg_catalog.pg_extension_config_dump('fence_internal.record', ''); -- layer: dumped
SELECT pg_catalog.pg_extension_config_dump('fence_internal.entry', ''); -- layer: dumped
SELECT pg_catalog.pg_extension_config_dump('fence_internal.trim_mark', ''); -- layer: dumped
SELECT pg_catalog.pg_extension_config_dump('fence_internal.value', ''); -- layer: dumped
SELECT pg_catalog.pg_extension_config_dump('fence_internal.namespace', ''); -- layer: dumped
SELECT pg_catalog.pg_extension_config_dump('fence_internal.lineage', ''); -- layer: dumped
SELECT pg_catalog.pg_extension_config_dump('fence_internal.protected', 'WHERE relation OPERATOR(pg_catalog.=) ANY (SELECT oid FROM pg_catalog.pg_class)'); -- layer: dumped
SELECT pg_catalog.pg_extension_config_dump('fence_internal.access', 'WHERE role OPERATOR(pg_catalog.=) ANY (SELECT oid FROM pg_catalog.pg_roles)'); -- layer: dumped
