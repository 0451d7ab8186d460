-- Epochs and idx: exact from 0 to 2^63-1, never wrapped, never rounded.

-- L16: the greatest epoch can be claimed and used.
SELECT oplog_metadata_upsert('n', 'max', 9223372036854775807, :w1);
SELECT epoch FROM oplog_metadata WHERE namespace = 'n' AND key = 'max';
SELECT fenced_append('n', 'max', 9223372036854775807, :w1, 1, 'one');

-- Nothing is above it: its owner keeps it, one below is stale.
SELECT oplog_metadata_upsert('n', 'max', 9223372036854775807, :w1);
SELECT oplog_metadata_upsert('n', 'max', 9223372036854775807, :w2);
SELECT fenced_append('n', 'max', 9223372036854775806, :w1, 2, 'two');

-- The greatest idx is an entry like any other, and 0 is the least.
SELECT fenced_append('n', 'max', 9223372036854775807, :w1, 9223372036854775807, 'last');
SELECT fenced_append('n', 'max', 9223372036854775807, :w1, 9223372036854775807, 'last');
SELECT fenced_append('n', 'max', 9223372036854775807, :w1, 0, 'first');
SELECT first_idx, last_idx, length FROM oplog_status WHERE namespace = 'n' AND key = 'max';
SELECT idx, epoch, payload FROM oplog_read('n', 'max', 9223372036854775806, 9223372036854775807);
SELECT oplog_metadata_upsert('n', 'max', 9223372036854775807, :w1);

-- Where a double would round, neighbours stay apart: 2^53 and 2^53 + 1.
SELECT oplog_metadata_upsert('n', 'odd', 9007199254740993, :w1);
SELECT fenced_append('n', 'odd', 9007199254740992, :w1, 1, 'one');
SELECT fenced_append('n', 'odd', 9007199254740993, :w1, 9007199254740993, 'odd');
SELECT fenced_append('n', 'odd', 9007199254740993, :w1, 9007199254740992, 'even');
SELECT idx, epoch, payload FROM oplog_read('n', 'odd', 9007199254740993);
SELECT idx, epoch, payload FROM oplog_read('n', 'odd');

-- A decimal text is a number as well.
SELECT oplog_metadata_upsert('n', 'text', '5', :w1);
SELECT fenced_append('n', 'text', '5', :w1, '9007199254740993', 'odd');
SELECT oplog_metadata_upsert('n', 'text', '9223372036854775807', :w1);
SELECT epoch, last_idx FROM oplog_status WHERE namespace = 'n' AND key = 'text';

-- Below 0 there is nothing.
SELECT oplog_metadata_upsert('n', 'minus', -1, :w1);
SELECT oplog_metadata_upsert('n', 'minus', -9223372036854775807, :w1);
SELECT fenced_append('n', 'odd', -9007199254740993, :w1, 2, 'two');
SELECT fenced_append('n', 'odd', 9007199254740993, :w1, -1, 'minus one');
SELECT fenced_append('n', 'odd', 9007199254740993, :w1, -9223372036854775807, 'minus');
SELECT key, epoch, length FROM oplog_status ORDER BY key;
