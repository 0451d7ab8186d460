-- After a restore, a copy or a failover: what an administrator says about the state.

CREATE FUNCTION fence.fence_adopt()
RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_adopt';
COMMENT ON FUNCTION fence.fence_adopt() IS
'The state lives in this database from now on: ends the ZF007 of every write in a restored, copied or upgraded database. No claim of before counts: each key has to be claimed at a higher epoch. Returns the generation in force; where the state lives here already that is all it does (NOTICE). Puts triggers of Fence that a restore has weakened back to ALWAYS, also those on protected tables. A transaction of its own (ZF012), flushed. Call it only when nobody writes to the original any more, or when the two may part';

CREATE FUNCTION fence.fence_lineage_accept()
RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_lineage_accept';
COMMENT ON FUNCTION fence.fence_lineage_accept() IS
'After a planned switchover to a standby that had received everything: claims that counted on the timeline before count on. Without it each key has to be claimed at a higher epoch (ZF007). Returns the generation in force; NOTICE where there is nothing to accept. A transaction of its own (ZF012), flushed. After a failover or a recovery to an earlier time it would bring back owners that were superseded';
