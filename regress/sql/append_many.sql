-- fenced_append_many(namespace, key, epoch, writer, idxs, payloads, expected_last).

\set w1 '11111111-1111-4111-8111-111111111111'
\set w2 '22222222-2222-4222-8222-222222222222'
SET search_path = fence, public;
SELECT oplog_metadata_upsert('many', 'k', 7, :'w1');

-- L1: given the owner, all are stored; the answer is how many were new.
SELECT fenced_append_many('many', 'k', 7, :'w1', '{1,2,3}', '{one,two,three}');
SELECT idx, epoch, convert_from(payload, 'UTF8') FROM oplog_read('many', 'k');

-- In any order, with gaps; bounds of an array mean nothing.
SELECT fenced_append_many('many', 'k', 7, :'w1', '{9,0,5}', '{nine,"",five}');
SELECT fenced_append_many('many', 'k', 7, :'w1', '[7:8]={10,11}', '[-1:0]={ten,eleven}');
SELECT idx, convert_from(payload, 'UTF8') FROM oplog_read('many', 'k');

-- L34: repeats are no news; a part that is missing is written.
SELECT fenced_append_many('many', 'k', 7, :'w1', '{1,2,3}', '{one,two,three}');
SELECT fenced_append_many('many', 'k', 7, :'w1', '{12,1,13}', '{twelve,one,thirteen}');
SELECT length, last_idx FROM oplog_status WHERE namespace = 'many' AND key = 'k';

-- L12: one conflict, and nothing is written.
SELECT fenced_append_many('many', 'k', 7, :'w1', '{20,1,21}', '{twenty,other,"twenty-one"}');
SELECT length, last_idx FROM oplog_status WHERE namespace = 'many' AND key = 'k';

-- What is no batch, before anything is written: ZF010 each time.
\set VERBOSITY terse
SELECT fenced_append_many('many', 'k', 7, :'w1', '{30,NULL}', '{a,b}');
SELECT fenced_append_many('many', 'k', 7, :'w1', '{30,31}', '{a,NULL}');
SELECT fenced_append_many('many', 'k', 7, :'w1', '{30,-1}', '{a,b}');
SELECT fenced_append_many('many', 'k', 7, :'w1', '{30,31,30}', '{a,b,a}');
SELECT fenced_append_many('many', 'k', 7, :'w1', '{30,31}', '{a}');
SELECT fenced_append_many('many', 'k', 7, :'w1', '{30}', '{a,b}');
SELECT fenced_append_many('many', 'k', 7, :'w1', '{30}', '{}');
SELECT fenced_append_many('many', 'k', 7, :'w1', '{}', '{a}');
SELECT fenced_append_many('many', 'k', 7, :'w1', '{{30,31}}', '{{a,b}}');
SELECT fenced_append_many('many', 'k', 7, :'w1', '{30,31}', '{{a,b}}');
SELECT fenced_append_many('many', 'k', 7, :'w1', '{{{30}}}', '{a}');
SELECT fenced_append_many('many', 'k', 7, :'w1', NULL, '{a}');
SELECT fenced_append_many('many', 'k', 7, :'w1', '{30}', NULL);
SELECT fenced_append_many('many', 'k', 7, :'w1', NULL, NULL);
SELECT fenced_append_many('many', 'k', 7, :'w1', '{30}', '{a}', -2);
SELECT fenced_append_many('many', 'k', 7, :'w1', '{30}', '{a}', '-9223372036854775808');
SELECT fenced_append_many('many', 'k', 7, 'me', '{30}', '{a}');
SELECT fenced_append_many('many', 'k', 7, NULL, '{30}', '{a}');
SELECT fenced_append_many('many', 'k', -7, :'w1', '{30}', '{a}');
SELECT fenced_append_many('many', '', 7, :'w1', '{30}', '{a}');
SELECT fenced_append_many(NULL, 'k', 7, :'w1', '{30}', '{a}');
-- ZF010 comes before ZF012, and that before ownership.
SELECT fenced_append_many('many', 'k', NULL, :'w1', '{30,30}', '{a,b}');
SELECT fenced_append_many('many', 'k', NULL, :'w1', '{30}', '{a}');
SELECT fenced_append_many('many', 'k', 6, :'w1', '{30,30}', '{a,b}');
-- The server's own types.
SELECT fenced_append_many('many', 'k', 7, :'w1', '{9223372036854775808}', '{a}');
SELECT fenced_append_many('many', 'k', 7, :'w1', '{1.5}', '{a}');
SELECT fenced_append_many('many', 'k', 7, :'w1', '{30', '{a}');
SELECT fenced_append_many('many', 'k', 7, :'w1', '{30}', '{"\\x0"}');
\set VERBOSITY default
SELECT length, last_idx FROM oplog_status WHERE namespace = 'many' AND key = 'k';

-- The number of the element, or the idx, is in the message.
SELECT fenced_append_many('many', 'k', 7, :'w1', '{30,31,NULL}', '{a,b,c}');
SELECT fenced_append_many('many', 'k', 7, :'w1', '{30,32,32}', '{a,b,c}');

-- L11: an empty batch succeeds under any ownership, writes nothing and creates nothing.
SELECT fenced_append_many('many', 'k', 7, :'w1', '{}', '{}');
SELECT fenced_append_many('many', 'k', 6, :'w2', '{}', '{}');
SELECT fenced_append_many('many', 'k', 8, :'w2', '{}', '{}', 99);
SELECT fenced_append_many('many', 'never', 0, :'w1', '{}', '{}');
SELECT fenced_append_many('many', 'never', NULL, :'w1', '{}', '{}');
SELECT fenced_append_many('many', 'never', 0, NULL, '{}', '{}');
SELECT count(*) FROM oplog_status WHERE namespace = 'many' AND key = 'never';

-- expected_last: the idx with which the log must end.
SELECT fenced_append_many('many', 'k', 7, :'w1', '{14}', '{fourteen}', 13);
SELECT fenced_append_many('many', 'k', 7, :'w1', '{15}', '{fifteen}', 13);
SELECT fenced_append_many('many', 'k', 7, :'w1', '{15}', '{fifteen}', 15);
SELECT fenced_append_many('many', 'k', 7, :'w1', '{15}', '{fifteen}', -1);
SELECT fenced_append_many('many', 'k', 7, :'w1', '{15}', '{fifteen}', NULL);
SELECT length, last_idx FROM oplog_status WHERE namespace = 'many' AND key = 'k';
-- A batch that is stored as a whole is a repeat, whatever it expects; one of which a part
-- is stored is none.
SELECT fenced_append_many('many', 'k', 7, :'w1', '{14,15}', '{fourteen,fifteen}', 13);
SELECT fenced_append_many('many', 'k', 7, :'w1', '{15,16}', '{fifteen,sixteen}', 14);
SELECT fenced_append_many('many', 'k', 7, :'w1', '{15,16}', '{fifteen,sixteen}', 15);
-- Other bytes are a conflict of that idx, not of the end.
SELECT fenced_append_many('many', 'k', 7, :'w1', '{16}', '{other}', 3);
-- -1: the log must be empty. Named arguments.
SELECT oplog_metadata_upsert('many', 'empty', 1, :'w1');
SELECT fenced_append_many('many', 'empty', 1, :'w1', '{5}', '{five}', 0);
SELECT fenced_append_many(namespace => 'many', key => 'empty', epoch => 1, writer => :'w1',
  idxs => '{5}', payloads => '{five}', expected_last => -1);
SELECT fenced_append_many('many', 'empty', 1, :'w1', '{6}', '{six}', expected_last => -1);
-- A new owner sees the end of the old one's log; its own batches may come below it.
SELECT oplog_metadata_upsert('many', 'empty', 2, :'w2');
SELECT fenced_append_many('many', 'empty', 2, :'w2', '{6}', '{six}', 5);
SELECT fenced_append_many('many', 'empty', 2, :'w2', '{4}', '{four}', 6);
SELECT fenced_append_many('many', 'empty', 2, :'w2', '{7}', '{seven}', 4);
SELECT idx, epoch FROM oplog_read('many', 'empty');
-- In a transaction it counts what that has written itself, and no more what it took back.
BEGIN;
SELECT fenced_append_many('many', 'empty', 2, :'w2', '{7}', '{seven}', 6);
SAVEPOINT s;
SELECT fenced_append_many('many', 'empty', 2, :'w2', '{8}', '{eight}', 7);
ROLLBACK TO s;
SELECT fenced_append_many('many', 'empty', 2, :'w2', '{9}', '{nine}', 8);
ROLLBACK TO s;
SELECT fenced_append_many('many', 'empty', 2, :'w2', '{9}', '{nine}', 7);
COMMIT;
SELECT idx, epoch FROM oplog_read('many', 'empty');

-- L2, L3, L8: somebody else's batch. already_stored: all of it stands there.
SELECT fenced_append_many('many', 'empty', 1, :'w1', '{6,7}', '{six,seven}');
SELECT fenced_append_many('many', 'empty', 1, :'w1', '{5}', '{five}', 77);
SELECT fenced_append_many('many', 'empty', 1, :'w1', '{5,6}', '{five,six}');
SELECT fenced_append_many('many', 'empty', 3, :'w2', '{10}', '{ten}');
SELECT fenced_append_many('many', 'empty', 2, :'w1', '{10}', '{ten}');
SELECT fenced_append_many('many', 'never', 2, :'w1', '{10}', '{ten}');

-- The greatest idx.
SELECT fenced_append_many('many', 'empty', 2, :'w2', '{9223372036854775807,9223372036854775806}', '{a,b}', 9);
SELECT fenced_append_many('many', 'empty', 2, :'w2', '{10}', '{ten}', 9223372036854775807);
SELECT oplog_metadata_upsert('many', 'empty', 2, :'w2');

-- 10,000 entries, backwards; then all of them again, and one more.
SELECT oplog_metadata_upsert('many', 'big', 1, :'w1');
SELECT fenced_append_many('many', 'big', 1, :'w1', array_agg(i), array_agg(sha256(i::text::bytea)), -1)
FROM (SELECT i FROM generate_series(10000, 1, -1) AS i) AS batch;
SELECT fenced_append_many('many', 'big', 1, :'w1', array_agg(i), array_agg(sha256(i::text::bytea)), 10000)
FROM generate_series(1, 10001) AS i;
SELECT first_idx, last_idx, length FROM oplog_status WHERE namespace = 'many' AND key = 'big';
SELECT count(*), bool_and(payload = sha256(idx::text::bytea)) AS right_bytes
FROM oplog_read('many', 'big', max => 20000);
SELECT fenced_append_many('many', 'big', 1, :'w1', array_agg(i), array_agg(''::bytea))
FROM generate_series(10002, 20001) AS i;
-- By the new owner, of whom 10,000 entries are conflicts: none is stored.
SELECT oplog_metadata_upsert('many', 'big', 2, :'w2');
SELECT fenced_append_many('many', 'big', 2, :'w2', array_agg(i), array_agg(''::bytea))
FROM generate_series(10002, 20002) AS i;
SELECT last_idx, length FROM oplog_status WHERE namespace = 'many' AND key = 'big';
