-- What users look at. Plain SQL, so a file can be looked at without the
-- extension. Writers appear as fingerprints, never as what they could be
-- recognised by; epoch and writer of what has no owner as NULL.

CREATE VIEW main.oplog_metadata AS
SELECT namespace, key, epoch, lower(hex(substr(writer, 1, 4))) AS writer
FROM fence_meta_v1
WHERE deleted_at IS NULL AND writer <> x'00000000000000000000000000000000';

CREATE VIEW main.oplog_entries AS
SELECT namespace, key, idx, CASE WHEN epoch >= 0 THEN epoch END AS epoch, payload
FROM fence_oplog_v1;

CREATE VIEW main.oplog_status AS
SELECT m.namespace, m.key, CASE WHEN m.epoch >= 0 THEN m.epoch END AS epoch,
  CASE WHEN m.writer <> x'00000000000000000000000000000000' THEN lower(hex(substr(m.writer, 1, 4))) END AS writer,
  (SELECT min(o.idx) FROM fence_oplog_v1 o WHERE o.namespace = m.namespace AND o.key = m.key) AS first_idx,
  nullif(max(ifnull((SELECT max(o.idx) FROM fence_oplog_v1 o WHERE o.namespace = m.namespace AND o.key = m.key), -1), m.trimmed), -1) AS last_idx,
  (SELECT count(*) FROM fence_oplog_v1 o WHERE o.namespace = m.namespace AND o.key = m.key) AS length,
  m.deleted_at IS NOT NULL AS deleted
FROM fence_meta_v1 m;

CREATE VIEW main.fenced_values AS
SELECT namespace, key, name, CASE WHEN epoch >= 0 THEN epoch END AS epoch, value
FROM fence_value_v1;

CREATE VIEW main.fence_namespaces AS
SELECT namespace, mode, identical_repeat, shard_space, CASE WHEN floor >= 0 THEN floor END AS floor
FROM fence_namespace_v1;
