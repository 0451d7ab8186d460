-- Tables of users: protected by triggers that no setting of a session switches off, and the
-- assertions that open them, a transaction at a time.

CREATE FUNCTION fence_internal.check_row() RETURNS trigger
LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_check_row';
COMMENT ON FUNCTION fence_internal.check_row() IS
'Trigger of protected tables, after each row: refuses the change unless the transaction has asserted the key of the row, and of what the row becomes. ZF005; ZF012 on a table that is not protected';
CREATE FUNCTION fence_internal.refuse_truncate() RETURNS trigger
LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_refuse_truncate';
COMMENT ON FUNCTION fence_internal.refuse_truncate() IS
'Trigger of protected tables, before TRUNCATE: refuses it. ZF005';

CREATE FUNCTION fence.fence_protect(relation regclass, namespace text, key_columns jsonb DEFAULT '[]', key text DEFAULT NULL, by text DEFAULT 'epoch', subscriber text DEFAULT 'refuse')
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_protect';
COMMENT ON FUNCTION fence.fence_protect(regclass, text, jsonb, text, text, text) IS
'Protects a table: from the commit on no row of it is changed unless the transaction has asserted its key in the namespace, and TRUNCATE is refused (ZF005). The key of a row: the text of its column in key_columns (a JSON array of names; several: fence_key of them), or the constant key. Key columns are smallint, integer, bigint, text, varchar (of a deterministic collation), uuid or boolean, and NOT NULL. by: epoch. subscriber: refuse or apply what arrives by logical replication. With all partitions, also later ones. Repeated: puts triggers back that are missing or weakened, and takes over what is given. Locks the table exclusively to the end of the transaction. For the owner of the table, given EXECUTE. ZF012 where a table cannot be protected';

CREATE FUNCTION fence.fence_unprotect(relation regclass)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_unprotect';
COMMENT ON FUNCTION fence.fence_unprotect(regclass) IS
'Takes fence_protect back, for the owner of the table, given EXECUTE; also for the number of a table that was dropped. Locks the table exclusively to the end of the transaction. ZF012 where it is not protected';

CREATE FUNCTION fence.fence_assert(namespace text, key text, epoch bigint, writer text)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_assert';
COMMENT ON FUNCTION fence.fence_assert(text, text, bigint, text) IS
'Says for this transaction, from here on, that its writes to rows of the key are made as (epoch, writer), who must own the key now and when the transaction commits. A savepoint that is rolled back takes its assertions along. Judges by what is committed, whatever the snapshot; blocks no claim. Outside a transaction block ZF012, as are two epochs of one key; ZF001 stale epoch, ZF002 other writer, ZF003 never claimed, ZF004 epoch above the record: then the transaction cannot commit any more';

CREATE FUNCTION fence.fence_assert_many(namespace text, keys jsonb, epoch bigint, writer text)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'fence_pg_assert_many';
COMMENT ON FUNCTION fence.fence_assert_many(text, jsonb, bigint, text) IS
'The same for many keys (a JSON array of texts) that are owned at one epoch by one writer: all or none';

-- A barrier: as with fence_namespaces.
CREATE VIEW fence.fence_protected WITH (security_barrier) AS
SELECT p.relation, p.namespace, p.key_columns, p.key, p.authority AS by, p.subscriber
FROM fence_internal.protected AS p WHERE fence_internal.may_read(p.namespace);
COMMENT ON VIEW fence.fence_protected IS
'The tables that are protected: namespace, the columns of the key or the constant one, by what, and what becomes of replicated changes';
