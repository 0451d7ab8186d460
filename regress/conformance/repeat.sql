-- The repeat of an append: a lost reply is safe to resend.

-- Given entries 1 and 2 at epoch 4, the owner may send them again as they were.
SELECT oplog_metadata_upsert('n', 'k', 4, :w1);
SELECT fenced_append('n', 'k', 4, :w1, 1, 'one');
SELECT fenced_append('n', 'k', 4, :w1, 2, '');
SELECT fenced_append('n', 'k', 4, :w1, 1, 'one');
SELECT fenced_append('n', 'k', 4, :w1, 2, '');
SELECT length FROM oplog_status WHERE namespace = 'n' AND key = 'k';

-- L14: other bytes are a conflict, and the old ones stay.
SELECT fenced_append('n', 'k', 4, :w1, 1, 'One');
SELECT fenced_append('n', 'k', 4, :w1, 1, '');
SELECT fenced_append('n', 'k', 4, :w1, 1, 'one more');
SELECT fenced_append('n', 'k', 4, :w1, 2, ' ');
SELECT idx, payload FROM oplog_read('n', 'k');

-- L34: a statement of which a part is stored writes the rest.
INSERT INTO fenced_append(namespace, key, epoch, writer, idx, payload)
VALUES ('n', 'k', 4, :w1, 1, 'one'), ('n', 'k', 4, :w1, 2, ''), ('n', 'k', 4, :w1, 3, 'three');
INSERT INTO fenced_append(namespace, key, epoch, writer, idx, payload)
VALUES ('n', 'k', 4, :w1, 1, 'one'), ('n', 'k', 4, :w1, 2, ''), ('n', 'k', 4, :w1, 3, 'three');
SELECT idx, payload FROM oplog_read('n', 'k');

-- L12: a statement with one conflict writes nothing.
INSERT INTO fenced_append(namespace, key, epoch, writer, idx, payload)
VALUES ('n', 'k', 4, :w1, 4, 'four'), ('n', 'k', 4, :w1, 1, 'other'), ('n', 'k', 4, :w1, 5, 'five');
SELECT length FROM oplog_status WHERE namespace = 'n' AND key = 'k';

-- One idx twice in a statement: the second row is a repeat of the first, or a conflict.
INSERT INTO fenced_append(namespace, key, epoch, writer, idx, payload)
VALUES ('n', 'k', 4, :w1, 4, 'four'), ('n', 'k', 4, :w1, 4, 'four');
INSERT INTO fenced_append(namespace, key, epoch, writer, idx, payload)
VALUES ('n', 'k', 4, :w1, 5, 'five'), ('n', 'k', 4, :w1, 5, 'six');
SELECT last_idx, length FROM oplog_status WHERE namespace = 'n' AND key = 'k';

-- L35: after a takeover the old owner is fenced, even for what is stored already. The
-- detail tells it: its entry is there, is there with other bytes, was never stored.
SELECT oplog_metadata_upsert('n', 'k', 5, :w2);
SELECT fenced_append('n', 'k', 4, :w1, 1, 'one');
SELECT fenced_append('n', 'k', 4, :w1, 1, 'other');
SELECT fenced_append('n', 'k', 4, :w1, 6, 'six');

-- An entry of the new owner is not the old owner's, whatever its bytes.
SELECT fenced_append('n', 'k', 5, :w2, 6, 'six');
SELECT fenced_append('n', 'k', 4, :w1, 6, 'six');

-- Nor is the old owner's the new one's: of another epoch, so a conflict.
SELECT fenced_append('n', 'k', 5, :w2, 1, 'one');

-- The same process at a higher epoch is a new owner.
SELECT oplog_metadata_upsert('n', 'k', 6, :w2);
SELECT fenced_append('n', 'k', 6, :w2, 6, 'six');
SELECT idx, epoch, payload FROM oplog_read('n', 'k');
