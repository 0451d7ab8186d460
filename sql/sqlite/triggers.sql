-- Fail-closed triggers on Fence's own tables. Each has two halves:
--   the plain half, the invariant in SQL alone: it holds even where the guard
--     function was replaced by one that always agrees;
--   the guard, which only Fence's own code arms, for one row and once: without
--     the extension the function does not exist and the write does not prepare.
-- CASE asks the guard first: of an OR, newer versions of SQLite evaluate the cheaper side
-- first, and the answer would be the plain half's.
-- REPLACE removes the row of an equal rowid unseen, so no write may choose one.
-- BEFORE triggers, so that nothing is changed when one refuses. The whole row is
-- passed: what the guard accepts is what is stored.

-- Without an epoch only where the namespace says so.
CREATE TRIGGER main.fence_oplog_insert BEFORE INSERT ON fence_oplog_v1
WHEN CASE WHEN 0 THEN 0
  WHEN fence_guard_v1('entry', NEW.namespace, NEW.key, NEW.idx, NEW.epoch, NEW.writer, NEW.payload, NEW.late, NEW.seal) IS NOT 1 THEN 1 -- layer: guard
  ELSE
  NOT EXISTS (SELECT 1 FROM fence_meta_v1 WHERE namespace = NEW.namespace AND key = NEW.key AND deleted_at IS NULL AND trimmed < NEW.idx AND -- layer: plain_half
    (epoch = NEW.epoch AND writer = NEW.writer AND epoch >= 0 AND writer <> x'00000000000000000000000000000000' OR -- layer: plain_half
     NEW.epoch = -1 AND NEW.writer = x'00000000000000000000000000000000' AND EXISTS (SELECT 1 FROM fence_namespace_v1 n WHERE n.namespace = NEW.namespace AND n.mode IN ('unfenced', 'optional')))) OR -- layer: plain_half
  EXISTS (SELECT 1 FROM fence_oplog_v1 WHERE rowid = NEW.rowid) OR -- layer: plain_half
  0 END
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
WHEN CASE WHEN 0 THEN 0
  WHEN fence_guard_v1('entry gone', OLD.namespace, OLD.key, OLD.idx) IS NOT 1 THEN 1 -- layer: guard
  ELSE
  NOT EXISTS (SELECT 1 FROM fence_meta_v1 WHERE namespace = OLD.namespace AND key = OLD.key AND (OLD.idx <= trimmed OR deleted_at IS NOT NULL)) OR -- layer: plain_half
  0 END
BEGIN
  SELECT RAISE(ABORT, 'ZF005 not_asserted: an entry is removed by its owner only');
END;

-- A record begins with a claim above the floor of its namespace, or with an unfenced
-- write, where it has neither owner nor epoch.
CREATE TRIGGER main.fence_meta_insert BEFORE INSERT ON fence_meta_v1
WHEN CASE WHEN 0 THEN 0
  WHEN fence_guard_v1('record', NEW.namespace, NEW.key, NEW.epoch, NEW.writer, NEW.deleted_at, NEW.tail, NEW.tail_seal, NEW.trimmed, NEW.trim_seal, NEW.late_sum, NEW.reset_last, NEW.published, NEW.seal) IS NOT 1 THEN 1 -- layer: guard
  ELSE
  typeof(NEW.epoch) <> 'integer' OR typeof(NEW.writer) <> 'blob' OR NEW.epoch < -1 OR NEW.deleted_at IS NOT NULL OR -- layer: plain_half
  (NEW.epoch = -1) <> (NEW.writer = x'00000000000000000000000000000000') OR -- layer: plain_half
  NEW.epoch = -1 AND NOT EXISTS (SELECT 1 FROM fence_namespace_v1 WHERE namespace = NEW.namespace AND mode IN ('unfenced', 'optional')) OR -- layer: plain_half
  NEW.epoch >= 0 AND NEW.epoch <= ifnull((SELECT floor FROM fence_namespace_v1 WHERE namespace = NEW.namespace), -1) OR -- layer: plain_half
  EXISTS (SELECT 1 FROM fence_meta_v1 WHERE rowid = NEW.rowid OR (namespace = NEW.namespace AND key = NEW.key)) OR -- layer: plain_half
  0 END
BEGIN
  SELECT RAISE(ABORT, 'ZF005 not_asserted: a record is made by oplog_metadata_upsert only');
END;

-- Line by line: what never changes; a claim, for somebody, and above the floor of the
-- namespace where the key has none; under one epoch the writer stays and a deleted
-- key stays deleted, unless an unfenced write begins a new life with nobody as owner;
-- an epoch falls (fence_reset) only together with its owner; the marks move forward
-- within a life.
CREATE TRIGGER main.fence_meta_update BEFORE UPDATE ON fence_meta_v1
WHEN CASE WHEN 0 THEN 0
  WHEN fence_guard_v1('record', NEW.namespace, NEW.key, NEW.epoch, NEW.writer, NEW.deleted_at, NEW.tail, NEW.tail_seal, NEW.trimmed, NEW.trim_seal, NEW.late_sum, NEW.reset_last, NEW.published, NEW.seal) IS NOT 1 THEN 1 -- layer: guard
  ELSE
  NEW.rowid <> OLD.rowid OR NEW.namespace <> OLD.namespace OR NEW.key <> OLD.key OR typeof(NEW.epoch) <> 'integer' OR typeof(NEW.writer) <> 'blob' OR -- layer: plain_half
  NEW.epoch > OLD.epoch AND (NEW.writer = x'00000000000000000000000000000000' OR NEW.deleted_at IS NOT NULL) OR -- layer: plain_half
  OLD.epoch = -1 AND NEW.epoch >= 0 AND NEW.epoch <= ifnull((SELECT floor FROM fence_namespace_v1 WHERE namespace = NEW.namespace), -1) OR -- layer: plain_half
  NEW.epoch = OLD.epoch AND (NEW.writer IS NOT OLD.writer OR (OLD.deleted_at IS NOT NULL AND NEW.deleted_at IS NOT OLD.deleted_at)) AND -- layer: plain_half
    NOT (OLD.deleted_at IS NOT NULL AND NEW.deleted_at IS NULL AND NEW.writer = x'00000000000000000000000000000000' AND EXISTS (SELECT 1 FROM fence_namespace_v1 WHERE namespace = NEW.namespace AND mode IN ('unfenced', 'optional'))) OR -- layer: plain_half
  NEW.epoch < OLD.epoch AND (NEW.epoch < 0 OR NEW.writer <> x'00000000000000000000000000000000' OR NEW.deleted_at IS NOT OLD.deleted_at) OR -- layer: plain_half
  OLD.deleted_at IS NULL AND NEW.deleted_at IS NULL AND (NEW.tail < OLD.tail OR NEW.trimmed < OLD.trimmed OR NEW.reset_last < OLD.reset_last) OR -- layer: plain_half
  0 END
BEGIN
  SELECT RAISE(ABORT, 'ZF005 not_asserted: a record moves forward, and by its owner only');
END;

-- A record is only forgotten once the floor of its namespace covers its epoch, and
-- nothing of the key is left.
CREATE TRIGGER main.fence_meta_delete BEFORE DELETE ON fence_meta_v1
WHEN CASE WHEN 0 THEN 0
  WHEN fence_guard_v1('record gone', OLD.namespace, OLD.key) IS NOT 1 THEN 1 -- layer: guard
  ELSE
  OLD.deleted_at IS NULL OR OLD.epoch > ifnull((SELECT floor FROM fence_namespace_v1 WHERE namespace = OLD.namespace), -1) OR -- layer: plain_half
  EXISTS (SELECT 1 FROM fence_oplog_v1 WHERE namespace = OLD.namespace AND key = OLD.key) OR -- layer: plain_half
  EXISTS (SELECT 1 FROM fence_value_v1 WHERE namespace = OLD.namespace AND key = OLD.key) OR -- layer: plain_half
  0 END
BEGIN
  SELECT RAISE(ABORT, 'ZF005 not_asserted: a record is removed by fence_purge only');
END;

CREATE TRIGGER main.fence_value_insert BEFORE INSERT ON fence_value_v1
WHEN CASE WHEN 0 THEN 0
  WHEN fence_guard_v1('value', NEW.namespace, NEW.key, NEW.name, NEW.epoch, NEW.writer, NEW.value, NEW.seal) IS NOT 1 THEN 1 -- layer: guard
  ELSE
  NOT EXISTS (SELECT 1 FROM fence_meta_v1 WHERE namespace = NEW.namespace AND key = NEW.key AND deleted_at IS NULL AND -- layer: plain_half
    (epoch = NEW.epoch AND writer = NEW.writer AND epoch >= 0 AND writer <> x'00000000000000000000000000000000' OR -- layer: plain_half
     NEW.epoch = -1 AND NEW.writer = x'00000000000000000000000000000000' AND EXISTS (SELECT 1 FROM fence_namespace_v1 n WHERE n.namespace = NEW.namespace AND n.mode IN ('unfenced', 'optional')))) OR -- layer: plain_half
  EXISTS (SELECT 1 FROM fence_value_v1 WHERE rowid = NEW.rowid OR (namespace = NEW.namespace AND key = NEW.key AND name = NEW.name)) OR -- layer: plain_half
  0 END
BEGIN
  SELECT RAISE(ABORT, 'ZF005 not_asserted: a value is stored by its owner only');
END;

CREATE TRIGGER main.fence_value_update BEFORE UPDATE ON fence_value_v1
WHEN CASE WHEN 0 THEN 0
  WHEN fence_guard_v1('value', NEW.namespace, NEW.key, NEW.name, NEW.epoch, NEW.writer, NEW.value, NEW.seal) IS NOT 1 THEN 1 -- layer: guard
  ELSE
  NEW.rowid <> OLD.rowid OR NEW.namespace <> OLD.namespace OR NEW.key <> OLD.key OR NEW.name <> OLD.name OR -- layer: plain_half
  NOT EXISTS (SELECT 1 FROM fence_meta_v1 WHERE namespace = NEW.namespace AND key = NEW.key AND deleted_at IS NULL AND -- layer: plain_half
    (epoch = NEW.epoch AND writer = NEW.writer AND epoch >= 0 AND writer <> x'00000000000000000000000000000000' OR -- layer: plain_half
     NEW.epoch = -1 AND NEW.writer = x'00000000000000000000000000000000' AND EXISTS (SELECT 1 FROM fence_namespace_v1 n WHERE n.namespace = NEW.namespace AND n.mode IN ('unfenced', 'optional')))) OR -- layer: plain_half
  0 END
BEGIN
  SELECT RAISE(ABORT, 'ZF005 not_asserted: a value is stored by its owner only');
END;

-- A value goes with its key, or in two steps: who removes it empties its seal first,
-- and by that update states who it is, as a plain DELETE cannot.
CREATE TRIGGER main.fence_value_delete BEFORE DELETE ON fence_value_v1
WHEN CASE WHEN 0 THEN 0
  WHEN fence_guard_v1('value gone', OLD.namespace, OLD.key, OLD.name) IS NOT 1 THEN 1 -- layer: guard
  ELSE
  OLD.seal IS NOT x'' AND NOT EXISTS (SELECT 1 FROM fence_meta_v1 WHERE namespace = OLD.namespace AND key = OLD.key AND deleted_at IS NOT NULL) OR -- layer: plain_half
  0 END
BEGIN
  SELECT RAISE(ABORT, 'ZF005 not_asserted: a value is removed by its owner only');
END;

CREATE TRIGGER main.fence_namespace_insert BEFORE INSERT ON fence_namespace_v1
WHEN CASE WHEN 0 THEN 0
  WHEN fence_guard_v1('namespace', NEW.namespace, NEW.mode, NEW.identical_repeat, NEW.shard_space, NEW.floor, NEW.seal) IS NOT 1 THEN 1 -- layer: guard
  ELSE
  typeof(NEW.floor) <> 'integer' OR NEW.mode NOT IN ('required', 'unfenced', 'optional') OR NEW.identical_repeat NOT IN (0, 1) OR -- layer: plain_half
  EXISTS (SELECT 1 FROM fence_namespace_v1 WHERE rowid = NEW.rowid OR namespace = NEW.namespace) OR -- layer: plain_half
  0 END
BEGIN
  SELECT RAISE(ABORT, 'ZF005 not_asserted: a namespace is set up by fence_namespace_set only');
END;

-- The floor of a namespace never falls: it stands for records that are gone.
CREATE TRIGGER main.fence_namespace_update BEFORE UPDATE ON fence_namespace_v1
WHEN CASE WHEN 0 THEN 0
  WHEN fence_guard_v1('namespace', NEW.namespace, NEW.mode, NEW.identical_repeat, NEW.shard_space, NEW.floor, NEW.seal) IS NOT 1 THEN 1 -- layer: guard
  ELSE
  NEW.rowid <> OLD.rowid OR NEW.namespace <> OLD.namespace OR typeof(NEW.floor) <> 'integer' OR NEW.floor < OLD.floor OR -- layer: plain_half
  NEW.mode NOT IN ('required', 'unfenced', 'optional') OR NEW.identical_repeat NOT IN (0, 1) OR -- layer: plain_half
  0 END
BEGIN
  SELECT RAISE(ABORT, 'ZF005 not_asserted: a namespace is set up by fence_namespace_set only');
END;

CREATE TRIGGER main.fence_namespace_delete BEFORE DELETE ON fence_namespace_v1
BEGIN
  SELECT fence_guard_v1('never'); -- layer: guard
  SELECT RAISE(ABORT, 'ZF005 not_asserted: a namespace is set up by fence_namespace_set only'); -- layer: plain_half
END;

CREATE TRIGGER main.fence_control_insert BEFORE INSERT ON fence_control_v1
WHEN CASE WHEN 0 THEN 0
  WHEN fence_guard_v1('control', NEW.id, NEW.format, NEW.seal_key, NEW.generation) IS NOT 1 THEN 1 -- layer: guard
  ELSE
  EXISTS (SELECT 1 FROM fence_control_v1) OR -- layer: plain_half
  0 END
BEGIN
  SELECT RAISE(ABORT, 'ZF005 not_asserted: fence_control_v1 is written by fence_install only');
END;

-- Only the generation moves, one step at a time and never back.
CREATE TRIGGER main.fence_control_update BEFORE UPDATE ON fence_control_v1
WHEN CASE WHEN 0 THEN 0
  WHEN fence_guard_v1('control', NEW.id, NEW.format, NEW.seal_key, NEW.generation) IS NOT 1 THEN 1 -- layer: guard
  ELSE
  NEW.id IS NOT OLD.id OR NEW.format IS NOT OLD.format OR NEW.seal_key IS NOT OLD.seal_key OR -- layer: plain_half
  NEW.generation IS NOT OLD.generation + 1 OR -- layer: plain_half
  0 END
BEGIN
  SELECT RAISE(ABORT, 'ZF005 not_asserted: fence_control_v1 is written by Fence only');
END;

CREATE TRIGGER main.fence_control_delete BEFORE DELETE ON fence_control_v1
BEGIN
  SELECT fence_guard_v1('never'); -- layer: guard
  SELECT RAISE(ABORT, 'ZF005 not_asserted: fence_control_v1 is written by Fence only'); -- layer: plain_half
END;

CREATE TRIGGER main.fence_setting_insert BEFORE INSERT ON fence_setting_v1
WHEN CASE WHEN 0 THEN 0
  WHEN fence_guard_v1('setting', NEW.name, NEW.value) IS NOT 1 THEN 1 -- layer: guard
  ELSE
  0 END
BEGIN
  SELECT RAISE(ABORT, 'ZF005 not_asserted: a setting is changed by fence_config only');
END;

CREATE TRIGGER main.fence_setting_update BEFORE UPDATE ON fence_setting_v1
WHEN CASE WHEN 0 THEN 0
  WHEN fence_guard_v1('setting', NEW.name, NEW.value) IS NOT 1 THEN 1 -- layer: guard
  ELSE
  0 END
BEGIN
  SELECT RAISE(ABORT, 'ZF005 not_asserted: a setting is changed by fence_config only');
END;

CREATE TRIGGER main.fence_setting_delete BEFORE DELETE ON fence_setting_v1
BEGIN
  SELECT fence_guard_v1('never'); -- layer: guard
  SELECT RAISE(ABORT, 'ZF005 not_asserted: a setting is changed by fence_config only'); -- layer: plain_half
END;
