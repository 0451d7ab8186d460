-- try_oplog_metadata_upsert: a claim that answers where the other one raises.

-- Given no record, the claim is taken.
SELECT try_oplog_metadata_upsert('n', 'k', 4, :w1);
SELECT fenced_append('n', 'k', 4, :w1, 9, 'nine');

-- Re-open and takeover answer with the greatest idx, as a decimal string.
SELECT try_oplog_metadata_upsert('n', 'k', 4, :w1);
SELECT try_oplog_metadata_upsert('n', 'k', 5, :w2);

-- A lower epoch, and the same epoch of another writer, are answers.
SELECT try_oplog_metadata_upsert('n', 'k', 4, :w1);
SELECT try_oplog_metadata_upsert('n', 'k', 5, :w1);
SELECT epoch, writer FROM oplog_metadata WHERE namespace = 'n' AND key = 'k';

-- They doom nothing: the owner goes on.
SELECT fenced_append('n', 'k', 5, :w2, 10, 'ten');

-- What is wrong with the call itself is raised: nobody else owns the key.
SELECT try_oplog_metadata_upsert('n', 'k', -1, :w1);
SELECT try_oplog_metadata_upsert('n', 'k', NULL, :w1);
SELECT try_oplog_metadata_upsert('n', '', 6, :w1);
SELECT try_oplog_metadata_upsert('n', 'k', 6, 'me');
SELECT epoch, writer FROM oplog_metadata WHERE namespace = 'n' ORDER BY key;
