-- fence_key: the text of a key of several columns, the same on every engine.

SELECT fence_key(7, 'a/b');
SELECT fence_key('x'), fence_key('x', 'y'), fence_key('x/y');

-- A slash or a backslash inside a column has a backslash before it, so that no two lists of
-- columns make one key; of a single column, too.
SELECT fence_key('a/', 'b'), fence_key('a', '/b'), fence_key('a/b'), fence_key('a', 'b');
SELECT fence_key('a\', 'b'), fence_key('a\/b'), fence_key('a', '\b'), fence_key('\\');

-- A column may be empty, the key may not.
SELECT fence_key('', ''), fence_key('a', ''), fence_key('', 'a'), fence_key('a', '', 'b');
SELECT fence_key('');

-- Numbers of the whole range, and what is the same text is the same column.
SELECT fence_key(0), fence_key(-1), fence_key(9223372036854775807, -9223372036854775807);
SELECT fence_key(9007199254740993, 32768, 2147483648), fence_key(7), fence_key('7'), fence_key('007');

-- Whatever can stand in a key.
SELECT fence_key('Zürich', '日本', '🔒'), fence_key(' a%_''"{}:.', 'B');

-- Length: 255 bytes, slashes and backslashes included.
SELECT fence_key('0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456', '/23456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456');
SELECT fence_key('0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456', '//3456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456');
SELECT fence_key('01234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567', '/23456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456');

-- What is refused, and which column it is.
SELECT fence_key(NULL);
SELECT fence_key('a', 7, NULL);
SELECT fence_key('a', 1.5);
SELECT fence_key(x'61', 'a');
SELECT fence_key(7, '0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345', NULL);

-- It is what names a record: the key of two columns is the owner's.
SELECT oplog_metadata_upsert('n', fence_key(7, 'a/b'), 1, :w1);
SELECT fenced_append('n', fence_key(7, 'a/b'), 1, :w1, 1, 'one');
SELECT fenced_append('n', fence_key('7/a', 'b'), 1, :w1, 1, 'one');
SELECT key, last_idx FROM oplog_status;

-- A refusal of it fails its statement only.
BEGIN;
SELECT fenced_append('n', fence_key(7, 'a/b'), 1, :w1, 2, 'two');
SAVEPOINT s;
SELECT fenced_append('n', fence_key(7, NULL), 1, :w1, 3, 'three');
ROLLBACK TO s;
SELECT fenced_append('n', fence_key(7, 'a/b'), 1, :w1, 3, 'three');
COMMIT;
SELECT last_idx FROM oplog_status;
