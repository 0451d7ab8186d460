-- What administrators do: the owner of Fence, superusers, and whom they grant EXECUTE.

CREATE FUNCTION fence.fence_namespace_set(namespace text, mode text, identical_repeat boolean DEFAULT false, shard_space text DEFAULT NULL)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_namespace_set';
COMMENT ON FUNCTION fence.fence_namespace_set(text, text, boolean, text) IS
'Sets how writes to a namespace are fenced. mode required (what holds where nothing is set): each states an epoch; unfenced: none does; optional: both. identical_repeat: the same bytes at the same idx are a repeat whatever their epoch. shard_space: NULL. A transaction of its own, flushed; waits for commits under way, and transactions that wrote under another mode fail at their commit (ZF012)';

CREATE FUNCTION fence.fence_purge(namespace text, older_than_ms bigint)
RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_purge';
COMMENT ON FUNCTION fence.fence_purge(text, bigint) IS
'Forgets keys that were deleted at least older_than_ms milliseconds ago (0: all), at most 1000 a call; the highest of their floors becomes one of the namespace, above which every key without a record must be claimed. Returns how many: call it until that is 0. Leaves keys out that somebody is at. A transaction of its own, flushed';

CREATE FUNCTION fence.fence_reset(namespace text, key text, epoch bigint)
RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_reset';
COMMENT ON FUNCTION fence.fence_reset(text, text, bigint) IS
'For a key that was claimed too high by mistake: lowers its epoch, takes it from its owner and keeps its log; the next claim must exceed epoch. Returns the epoch that it had. A transaction of its own, flushed, under the lock of a claim, with a line in the server''s log. ZF003 never claimed, ZF010 not lower, 55P03 an open transaction has asserted the key';

CREATE FUNCTION fence_internal.may_read(namespace text)
RETURNS boolean STABLE LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_may_read';
COMMENT ON FUNCTION fence_internal.may_read(text) IS 'Whether the caller may read the namespace';

-- A barrier: a cheap function of the caller's in WHERE would be shown the other rows first,
-- and an operator the statistics. The other views stand on what filters by itself.
CREATE VIEW fence.fence_namespaces WITH (security_barrier) AS
SELECT n.namespace, n.mode, n.identical_repeat, n.shard_space, nullif(n.floor, -1) AS floor
FROM fence_internal.namespace AS n WHERE fence_internal.may_read(n.namespace);
COMMENT ON VIEW fence.fence_namespaces IS
'Namespaces for which something was set, or from which keys were purged: floor is the highest epoch of those';
