-- Trims, values, deletes, publishing; lists of keys. All but oplog_keys judge by what is
-- committed, whatever the snapshot, and wait for no other owner.

CREATE FUNCTION fence.fenced_drop_prefix(namespace text, key text, epoch bigint, writer text, through_idx bigint)
RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_drop_prefix';
COMMENT ON FUNCTION fence.fenced_drop_prefix(text, text, bigint, text, bigint) IS
'Trims the log: entries of idx up to through_idx (0..2^63-1) go, and no idx up to there that the log had reached is ever stored again (ZF013). The key and its last idx stay. Returns how many entries went. Errors as fenced_append; another trim of the same owner is waited for';

CREATE FUNCTION fence.fenced_delete(namespace text, key text, epoch bigint, writer text)
RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_delete';
COMMENT ON FUNCTION fence.fenced_delete(text, text, bigint, text) IS
'Deletes the key with its entries and values; its epoch stays as the floor above which it can be claimed anew. Returns how many entries went; 0 where this owner has deleted it already. A transaction of its own, flushed, under the lock of a claim. ZF001 to ZF004 as fenced_append, ZF012 inside a transaction';

CREATE FUNCTION fence.fenced_put(namespace text, key text, epoch bigint, writer text, name text, value bytea)
RETURNS boolean LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_put';
COMMENT ON FUNCTION fence.fenced_put(text, text, bigint, text, text, bytea) IS
'Stores a small value of the key under a name (1 to 255 bytes), in place of an earlier one. False: this epoch has stored that very value already. Errors as fenced_append; another change by the same owner is waited for';

CREATE FUNCTION fence.fenced_remove(namespace text, key text, epoch bigint, writer text, name text)
RETURNS boolean LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_remove';
COMMENT ON FUNCTION fence.fenced_remove(text, text, bigint, text, text) IS
'Removes the value of that name; false: there was none. Errors as fenced_append';

CREATE FUNCTION fence.fenced_publish(namespace text, key text, epoch bigint, writer text, staged_namespace text, staged_key text, expected_last bigint)
RETURNS boolean LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_publish';
COMMENT ON FUNCTION fence.fenced_publish(text, text, bigint, text, text, text, bigint) IS
'Moves the entries of a staged key, which must be exactly idx 1..expected_last (else ZF013), to the key, if that never had an entry, and deletes the staged key. True for the one publisher that did it, and for its repeat; false: the key has a log. The caller owns the key and, if anybody does, the staged one. A transaction of its own, flushed. Errors as fenced_append, ZF012 inside a transaction';

CREATE FUNCTION fence.oplog_keys(namespace text, prefix text DEFAULT '', after text DEFAULT NULL, max bigint DEFAULT 1000)
RETURNS TABLE(key text) STABLE LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_keys';
COMMENT ON FUNCTION fence.oplog_keys(text, text, text, bigint) IS
'Keys of the namespace that are not deleted, in byte order: those that begin with prefix, taken literally, and stand behind after (NULL: from the first on), at most max of them (NULL: 1000). Sees what the caller''s snapshot sees, takes no lock';
