-- Fail-closed triggers on Fence's own tables. Each has two halves:
--   the plain half, the invariant in SQL alone: it holds even where the guard
--     function was replaced by one that always agrees;
--   the guard, which only Fence's own code arms, for one row and once: without
--     the extension the function does not exist and the write does not prepare.
-- REPLACE removes the row of an equal rowid unseen, so no write may choose one.
-- BEFORE triggers, so that nothing is changed when one refuses. The whole row is
-- passed: what the guard accepts is what is stored.

CREATE TRIGGER main.fence_oplog_insert BEFORE INSERT ON fence_oplog_v1
WHEN
  fence_guard_v1('entry', NEW.namespace, NEW.key, NEW.idx, NEW.epoch, NEW.writer, NEW.payload, NEW.late, NEW.seal) IS NOT 1 OR -- layer: guard
  NOT EXISTS (SELECT 1 FROM fence_meta_v1 WHERE namespace = NEW.namespace AND key = NEW.key AND epoch = NEW.epoch AND writer = NEW.writer AND deleted_at IS NULL AND trimmed < NEW.idx) OR EXISTS (SELECT 1 FROM fence_oplog_v1 WHERE rowid = NEW.rowid) OR -- layer: plain_half
  0
BEGIN
  SELECT RAISE(ABORT, 'ZF005 not_asserted: an entry is stored through fenced_append only');
END;

CREATE TRIGGER main.fence_oplog_update BEFORE UPDATE ON fence_oplog_v1
BEGIN
  SELECT fence_guard_v1('never'); -- layer: guard
  SELECT RAISE(ABORT, 'ZF005 not_asserted: an entry never changes'); -- layer: plain_half
END;

-- Only what is trimmed or belongs to a deleted key may go.
CREATE TRIGGER main.fence_oplog_delete BEFORE DELETE ON fence_oplog_v1
WHEN
  fence_guard_v1('entry gone', OLD.namespace, OLD.key, OLD.idx) IS NOT 1 OR -- layer: guard
  NOT EXISTS (SELECT 1 FROM fence_meta_v1 WHERE namespace = OLD.namespace AND key = OLD.key AND (OLD.idx <= trimmed OR deleted_at IS NOT NULL)) OR -- layer: plain_half
  0
BEGIN
  SELECT RAISE(ABORT, 'ZF005 not_asserted: an entry is removed by its owner only');
END;

CREATE TRIGGER main.fence_meta_insert BEFORE INSERT ON fence_meta_v1
WHEN
  fence_guard_v1('record', NEW.namespace, NEW.key, NEW.epoch, NEW.writer, NEW.deleted_at, NEW.tail, NEW.tail_seal, NEW.trimmed, NEW.trim_seal, NEW.late_sum, NEW.seal) IS NOT 1 OR -- layer: guard
  typeof(NEW.epoch) <> 'integer' OR NEW.epoch < 0 OR typeof(NEW.writer) <> 'blob' OR EXISTS (SELECT 1 FROM fence_meta_v1 WHERE rowid = NEW.rowid OR (namespace = NEW.namespace AND key = NEW.key)) OR -- layer: plain_half
  0
BEGIN
  SELECT RAISE(ABORT, 'ZF005 not_asserted: a record is made by oplog_metadata_upsert only');
END;

-- An epoch never falls, changes its writer only by rising, and begins a new life
-- of a deleted key only by rising. The marks move forward within a life.
CREATE TRIGGER main.fence_meta_update BEFORE UPDATE ON fence_meta_v1
WHEN
  fence_guard_v1('record', NEW.namespace, NEW.key, NEW.epoch, NEW.writer, NEW.deleted_at, NEW.tail, NEW.tail_seal, NEW.trimmed, NEW.trim_seal, NEW.late_sum, NEW.seal) IS NOT 1 OR -- layer: guard
  NEW.rowid <> OLD.rowid OR typeof(NEW.epoch) <> 'integer' OR NEW.namespace <> OLD.namespace OR NEW.key <> OLD.key OR NEW.epoch < OLD.epoch OR (NEW.epoch = OLD.epoch AND (NEW.writer IS NOT OLD.writer OR (OLD.deleted_at IS NOT NULL AND NEW.deleted_at IS NULL))) OR (OLD.deleted_at IS NULL AND NEW.deleted_at IS NULL AND (NEW.tail < OLD.tail OR NEW.trimmed < OLD.trimmed)) OR -- layer: plain_half
  0
BEGIN
  SELECT RAISE(ABORT, 'ZF005 not_asserted: a record moves forward, and by its owner only');
END;

-- A record is never forgotten: its epoch is the floor of the key.
CREATE TRIGGER main.fence_meta_delete BEFORE DELETE ON fence_meta_v1
BEGIN
  SELECT fence_guard_v1('never'); -- layer: guard
  SELECT RAISE(ABORT, 'ZF005 not_asserted: a record is never removed'); -- layer: plain_half
END;

CREATE TRIGGER main.fence_value_insert BEFORE INSERT ON fence_value_v1
WHEN
  fence_guard_v1('value', NEW.namespace, NEW.key, NEW.name, NEW.epoch, NEW.writer, NEW.value, NEW.seal) IS NOT 1 OR -- layer: guard
  NOT EXISTS (SELECT 1 FROM fence_meta_v1 WHERE namespace = NEW.namespace AND key = NEW.key AND epoch = NEW.epoch AND writer = NEW.writer AND deleted_at IS NULL) OR EXISTS (SELECT 1 FROM fence_value_v1 WHERE rowid = NEW.rowid) OR -- layer: plain_half
  0
BEGIN
  SELECT RAISE(ABORT, 'ZF005 not_asserted: a value is stored by its owner only');
END;

CREATE TRIGGER main.fence_value_update BEFORE UPDATE ON fence_value_v1
WHEN
  fence_guard_v1('value', NEW.namespace, NEW.key, NEW.name, NEW.epoch, NEW.writer, NEW.value, NEW.seal) IS NOT 1 OR -- layer: guard
  NEW.rowid <> OLD.rowid OR NOT EXISTS (SELECT 1 FROM fence_meta_v1 WHERE namespace = NEW.namespace AND key = NEW.key AND epoch = NEW.epoch AND writer = NEW.writer AND deleted_at IS NULL) OR -- layer: plain_half
  0
BEGIN
  SELECT RAISE(ABORT, 'ZF005 not_asserted: a value is stored by its owner only');
END;

CREATE TRIGGER main.fence_value_delete BEFORE DELETE ON fence_value_v1
BEGIN
  SELECT fence_guard_v1('never'); -- layer: guard
  SELECT RAISE(ABORT, 'ZF005 not_asserted: a value is removed by its owner only'); -- layer: plain_half
END;

CREATE TRIGGER main.fence_namespace_insert BEFORE INSERT ON fence_namespace_v1
BEGIN
  SELECT fence_guard_v1('never'); -- layer: guard
  SELECT RAISE(ABORT, 'ZF005 not_asserted: a namespace is set up by Fence only'); -- layer: plain_half
END;

CREATE TRIGGER main.fence_namespace_update BEFORE UPDATE ON fence_namespace_v1
BEGIN
  SELECT fence_guard_v1('never'); -- layer: guard
  SELECT RAISE(ABORT, 'ZF005 not_asserted: a namespace is set up by Fence only'); -- layer: plain_half
END;

CREATE TRIGGER main.fence_namespace_delete BEFORE DELETE ON fence_namespace_v1
BEGIN
  SELECT fence_guard_v1('never'); -- layer: guard
  SELECT RAISE(ABORT, 'ZF005 not_asserted: a namespace is set up by Fence only'); -- layer: plain_half
END;

CREATE TRIGGER main.fence_control_insert BEFORE INSERT ON fence_control_v1
WHEN
  fence_guard_v1('control', NEW.id, NEW.format, NEW.seal_key, NEW.generation) IS NOT 1 OR -- layer: guard
  EXISTS (SELECT 1 FROM fence_control_v1) OR -- layer: plain_half
  0
BEGIN
  SELECT RAISE(ABORT, 'ZF005 not_asserted: fence_control_v1 is written by fence_install only');
END;

CREATE TRIGGER main.fence_control_update BEFORE UPDATE ON fence_control_v1
BEGIN
  SELECT fence_guard_v1('never'); -- layer: guard
  SELECT RAISE(ABORT, 'ZF005 not_asserted: fence_control_v1 is written by Fence only'); -- layer: plain_half
END;

CREATE TRIGGER main.fence_control_delete BEFORE DELETE ON fence_control_v1
BEGIN
  SELECT fence_guard_v1('never'); -- layer: guard
  SELECT RAISE(ABORT, 'ZF005 not_asserted: fence_control_v1 is written by Fence only'); -- layer: plain_half
END;

CREATE TRIGGER main.fence_setting_insert BEFORE INSERT ON fence_setting_v1
WHEN
  fence_guard_v1('setting', NEW.name, NEW.value) IS NOT 1 OR -- layer: guard
  0
BEGIN
  SELECT RAISE(ABORT, 'ZF005 not_asserted: a setting is changed by fence_config only');
END;

CREATE TRIGGER main.fence_setting_update BEFORE UPDATE ON fence_setting_v1
WHEN
  fence_guard_v1('setting', NEW.name, NEW.value) IS NOT 1 OR -- layer: guard
  0
BEGIN
  SELECT RAISE(ABORT, 'ZF005 not_asserted: a setting is changed by fence_config only');
END;

CREATE TRIGGER main.fence_setting_delete BEFORE DELETE ON fence_setting_v1
BEGIN
  SELECT fence_guard_v1('never'); -- layer: guard
  SELECT RAISE(ABORT, 'ZF005 not_asserted: a setting is changed by fence_config only'); -- layer: plain_half
END;
