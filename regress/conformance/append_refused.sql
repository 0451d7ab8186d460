-- fenced_append: what is refused, and that nothing of it is stored.

-- L4: no record. Missing is not epoch 0.
SELECT fenced_append('n', 'none', 0, :w1, 1, 'one');
SELECT fenced_append('n', 'none', 5, :w1, 1, 'one');
SELECT count(*) FROM oplog_status WHERE key = 'none';

-- L2: given epoch 8, an append at 7 is stale: one entry, or three in a statement.
SELECT oplog_metadata_upsert('n', 'l2', 7, :w1);
SELECT oplog_metadata_upsert('n', 'l2', 8, :w2);
SELECT fenced_append('n', 'l2', 7, :w1, 1, 'one');
INSERT INTO fenced_append(namespace, key, epoch, writer, idx, payload)
VALUES ('n', 'l2', 7, :w1, 1, 'one'), ('n', 'l2', 7, :w1, 2, 'two'), ('n', 'l2', 7, :w1, 3, 'three');
SELECT epoch, last_idx, length FROM oplog_status WHERE namespace = 'n' AND key = 'l2';

-- L3: given epoch 5, an append at 6 is refused too: equal, not "at least".
SELECT oplog_metadata_upsert('n', 'l3', 5, :w1);
SELECT fenced_append('n', 'l3', 6, :w1, 1, 'one');
INSERT INTO fenced_append(namespace, key, epoch, writer, idx, payload)
VALUES ('n', 'l3', 6, :w1, 1, 'one'), ('n', 'l3', 6, :w1, 2, 'two');
SELECT epoch, last_idx, length FROM oplog_status WHERE namespace = 'n' AND key = 'l3';

-- L6: given epoch 4 of writer 1, writer 2 is refused at 4; writer 1 goes on.
SELECT oplog_metadata_upsert('n', 'l6', 4, :w1);
SELECT fenced_append('n', 'l6', 4, :w2, 1, 'not mine');
SELECT fenced_append('n', 'l6', 4, :w1, 1, 'mine');
SELECT length FROM oplog_status WHERE namespace = 'n' AND key = 'l6';

-- L8: the old owner is told the new epoch, not that the writer differs.
SELECT oplog_metadata_upsert('n', 'l8', 4, :w1);
SELECT oplog_metadata_upsert('n', 'l8', 5, :w2);
SELECT fenced_append('n', 'l8', 5, :w2, 1, 'one');
SELECT fenced_append('n', 'l8', 4, :w1, 2, 'two');
SELECT idx, epoch, payload FROM oplog_read('n', 'l8');

-- A process that claimed twice is stale at its own earlier epoch.
SELECT oplog_metadata_upsert('n', 'twice', 1, :w1);
SELECT oplog_metadata_upsert('n', 'twice', 2, :w1);
SELECT fenced_append('n', 'twice', 1, :w1, 1, 'one');

-- L10: mode required (every namespace, if nothing else is said) needs an epoch.
SELECT fenced_append('n', 'l3', NULL, :w1, 1, 'one');
SELECT length FROM oplog_status WHERE namespace = 'n' AND key = 'l3';

-- All or nothing: the good rows of a statement go with the bad one.
INSERT INTO fenced_append(namespace, key, epoch, writer, idx, payload)
VALUES ('n', 'l6', 4, :w1, 2, 'good'), ('n', 'l8', 4, :w1, 2, 'stale');
INSERT INTO fenced_append(namespace, key, epoch, writer, idx, payload)
VALUES ('n', 'l6', 4, :w1, 2, 'good'), ('n', 'l6', 4, :w1, -1, 'no idx');
SELECT length FROM oplog_status WHERE namespace = 'n' AND key = 'l6';

-- Two epochs of one key in one statement, although the first is the owner's.
INSERT INTO fenced_append(namespace, key, epoch, writer, idx, payload)
VALUES ('n', 'l3', 5, :w1, 1, 'one'), ('n', 'l3', 4, :w1, 2, 'two');
SELECT length FROM oplog_status WHERE namespace = 'n' AND key = 'l3';

-- NULL and what is out of range.
SELECT fenced_append(NULL, 'l3', 5, :w1, 1, 'one');
SELECT fenced_append('n', NULL, 5, :w1, 1, 'one');
SELECT fenced_append('n', 'l3', 5, NULL, 1, 'one');
SELECT fenced_append('n', 'l3', 5, :w1, NULL, 'one');
SELECT fenced_append('n', 'l3', 5, :w1, 1, NULL);
SELECT fenced_append('n', 'l3', -5, :w1, 1, 'one');
SELECT fenced_append('n', 'l3', 5, :w1, -1, 'one');
SELECT fenced_append('n', 'l3', 5, 'me', 1, 'one');
INSERT INTO fenced_append(namespace, key, epoch, writer, idx) VALUES ('n', 'l3', 5, :w1, 1);

-- With several faults: ZF010, ZF012, ZF003, then the epoch, then the writer, then the idx.
SELECT fenced_append('n', 'none', NULL, NULL, 1, 'one');
SELECT fenced_append('n', 'none', NULL, :w1, 1, 'one');
SELECT fenced_append('n', 'l8', 4, :w3, 1, 'other bytes');
SELECT fenced_append('n', 'l8', 6, :w3, 1, 'other bytes');
SELECT fenced_append('n', 'l8', 5, :w3, 1, 'other bytes');
SELECT fenced_append('n', 'l8', 5, :w2, 1, 'other bytes');

-- After all of that: what was accepted, and nothing else.
SELECT namespace, key, idx, epoch, payload FROM oplog_entries ORDER BY namespace, key, idx;
