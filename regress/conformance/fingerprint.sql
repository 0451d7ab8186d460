-- Writers: UUIDs in any spelling, shown as fingerprints that open nothing.

SELECT fence_fingerprint(:w1), fence_fingerprint(:w2), fence_fingerprint(:w3);

-- One writer in the spellings that PostgreSQL's uuid type takes.
SELECT fence_fingerprint('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11');
SELECT fence_fingerprint('A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11');
SELECT fence_fingerprint('{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}');
SELECT fence_fingerprint('a0eebc999c0b4ef8bb6d6bb9bd380a11');
SELECT fence_fingerprint('a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11');
SELECT fence_fingerprint('{a0eebc99-9c0b4ef8-bb6d6bb9-bd380a11}');

-- Any bytes will do: the version of a UUID is not looked at.
SELECT fence_fingerprint('00000000-0000-0000-0000-000000000000'), fence_fingerprint('ffffffff-ffff-ffff-ffff-ffffffffffff');

-- What is no UUID.
SELECT fence_fingerprint(NULL);
SELECT fence_fingerprint('');
SELECT fence_fingerprint('me');
SELECT fence_fingerprint('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1');
SELECT fence_fingerprint('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a111');
SELECT fence_fingerprint('g0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11');
SELECT fence_fingerprint('a0eebc9-99c0b-4ef8-bb6d-6bb9bd380a11');
SELECT fence_fingerprint('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11-');
SELECT fence_fingerprint('-a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11');
SELECT fence_fingerprint('a0eebc99--9c0b-4ef8-bb6d-6bb9bd380a11');
SELECT fence_fingerprint('{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11');
SELECT fence_fingerprint('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}');
SELECT fence_fingerprint('{}');
SELECT fence_fingerprint(' a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11');
SELECT fence_fingerprint('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11 ');
SELECT fence_fingerprint('urn:uuid:a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11');

-- Claim and append in different spellings are of one writer.
SELECT oplog_metadata_upsert('n', 'k', 7, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11');
SELECT oplog_metadata_upsert('n', 'k', 7, '{A0EEBC999C0B4EF8BB6D6BB9BD380A11}');
SELECT fenced_append('n', 'k', 7, 'A0EE-BC99-9C0B-4EF8-BB6D-6BB9-BD38-0A11', 1, 'one');

-- M8: what a view or a refusal shows is never accepted as the writer.
SELECT epoch, writer FROM oplog_metadata;
SELECT fenced_append('n', 'k', (SELECT epoch FROM oplog_metadata), (SELECT writer FROM oplog_metadata), 2, 'two');
SELECT fenced_append('n', 'k', 7, (SELECT writer || writer || writer || writer FROM oplog_metadata), 2, 'two');
SELECT fenced_append('n', 'k', 7, (SELECT writer || '-0000-0000-0000-000000000000' FROM oplog_metadata), 2, 'two');
SELECT oplog_metadata_upsert('n', 'k', 7, (SELECT writer FROM oplog_metadata));
SELECT last_idx, length FROM oplog_status;
