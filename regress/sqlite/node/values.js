'use strict';
// Numbers, bytes and errors as JavaScript gives and gets them.

const assert = require('node:assert/strict');
const { describe, test } = require('node:test');
const { deposed, dmlForm, installed, refusal, selectForm, writerA, writerB } = require('./fixture');

const largestSafe = 2 ** 53 - 1;
const aboveSafe = 2n ** 53n + 1n;
const largest = 2n ** 63n - 1n;

const accepted = [
  ['5', 5, '5'],
  ['1.0', 1.0, '1'],
  ['1e3', 1e3, '1000'],
  ['0', 0, '0'],
  ['-0', -0, '0'],
  ['2 ** 53 - 1', largestSafe, '9007199254740991'],
  ['5n', 5n, '5'],
  ['2n ** 53n + 1n', aboveSafe, '9007199254740993'],
  ['2n ** 63n - 1n', largest, '9223372036854775807'],
  ["'5'", '5', '5'],
  ["'9223372036854775807'", '9223372036854775807', '9223372036854775807'],
];

const refused = [
  ['2 ** 53, which 2 ** 53 + 1 becomes', 2 ** 53 + 1],
  ['1.5', 1.5],
  ['-1', -1],
  ['-1n', -1n],
  ['-(2n ** 63n)', -(2n ** 63n)],
  ['1e300', 1e300],
  ['Number.MIN_VALUE', Number.MIN_VALUE],
  ['Infinity', Infinity],
  ['-Infinity', -Infinity],
  ["'007'", '007'],
  ["' 5'", ' 5'],
  ["'1e3'", '1e3'],
  ["'9223372036854775808'", '9223372036854775808'],
  ["''", ''],
  ['a Buffer', Buffer.from('5')],
];

// NaN, null and undefined all arrive as NULL.
const nulls = [['NaN', NaN], ['null', null], ['undefined', undefined]];

function appendBoth(client, epoch, idx) {
  return [
    () => client.append(epoch, idx),
    () => client.appendRow(epoch, idx),
  ];
}

describe('numbers that are taken', () => {
  for (const [name, value, text] of accepted) {
    test(`${name} as epoch and as idx, SELECT form`, (t) => {
      const { a } = installed(t);
      assert.equal(a.claim(value), null, 'a new log has no last idx');
      assert.equal(a.get('SELECT CAST(epoch AS TEXT) FROM oplog_metadata'), text);
      a.append(value, value);
      assert.deepEqual(a.entries(), [{ idx: text, epoch: text, payload: Buffer.from('x') }]);
    });

    test(`${name} as epoch and as idx, INSERT form`, (t) => {
      const { a } = installed(t);
      a.claim(value);
      a.appendRow(value, value);
      assert.deepEqual(a.entries(), [{ idx: text, epoch: text, payload: Buffer.from('x') }]);
    });
  }
});

describe('numbers that are refused (ZF010)', () => {
  for (const [name, value] of refused) {
    test(name, (t) => {
      const { a } = installed(t);
      a.claim(1);
      refusal('ZF010', 'SQLITE_ERROR', () => a.claim(value, 'new'));
      for (const call of [...appendBoth(a, 1, value), ...appendBoth(a, value, 0)]) {
        refusal('ZF010', 'SQLITE_ERROR', call);
      }
      assert.deepEqual(a.entries(), []);
      assert.equal(a.get('SELECT count(*) FROM oplog_metadata'), 1, 'nothing was claimed');
      assert.equal(a.append(1, 0), 0, 'the connection is usable');
    });
  }

  for (const [name, value] of nulls) {
    test(`${name}: as idx; as epoch it is ZF012, since it says "unfenced"`, (t) => {
      const { a } = installed(t);
      a.claim(1);
      for (const call of appendBoth(a, 1, value)) refusal('ZF010', 'SQLITE_ERROR', call);
      for (const call of [...appendBoth(a, value, 0), () => a.claim(value, 'new')]) {
        refusal('ZF012', 'SQLITE_ERROR', call);
      }
      assert.deepEqual(a.entries(), []);
      assert.equal(a.append(1, 0), 0, 'the connection is usable');
    });
  }

  test('2n ** 63n and 2n ** 64n are the driver\'s RangeError, before any call', (t) => {
    const { a } = installed(t);
    a.claim(1);
    for (const value of [2n ** 63n, 2n ** 64n, -(2n ** 63n) - 1n]) {
      for (const call of [...appendBoth(a, 1, value), () => a.claim(value)]) {
        assert.throws(call, RangeError);
      }
    }
    assert.equal(a.append(1, 0), 0, 'the connection is usable');
  });
});

describe('results above 2 ** 53', () => {
  test('are rounded by the driver unless safeIntegers is on', (t) => {
    const { a } = installed(t);
    a.claim(1n);
    const append = a.db.prepare(selectForm).pluck();
    const rounded = append.get('ns', 'k', 1, writerA, aboveSafe, Buffer.from('x'));
    assert.equal(rounded, 2 ** 53);
    assert.notEqual(BigInt(rounded), aboveSafe);
    append.safeIntegers(true);
    assert.equal(append.get('ns', 'k', 1, writerA, largest, Buffer.from('y')), largest);
    const claim = a.db.prepare('SELECT oplog_metadata_upsert(?, ?, ?, ?)').pluck();
    assert.equal(claim.get('ns', 'k', 1, writerA), Number(largest));
    assert.equal(claim.safeIntegers(true).get('ns', 'k', 1, writerA), largest);
  });

  test('are exact with db.defaultSafeIntegers(), also from oplog_read', (t) => {
    const { a } = installed(t);
    a.db.defaultSafeIntegers(true);
    a.claim(aboveSafe);
    assert.equal(a.append(aboveSafe, aboveSafe), aboveSafe);
    const rows = a.db.prepare("SELECT idx, epoch FROM oplog_read('ns', 'k', ?)").all(aboveSafe);
    assert.deepEqual(rows, [{ idx: aboveSafe, epoch: aboveSafe }]);
  });
});

describe('payloads', () => {
  const payloads = [
    ['every byte', Buffer.from(Array.from({ length: 256 }, (_, i) => i))],
    ['an empty Buffer', Buffer.alloc(0)],
    ['100 KB', Buffer.alloc(100_000, 'ab')],
    ['part of a larger buffer', Buffer.from('..middle..').subarray(2, 8)],
  ];
  for (const [name, payload] of payloads) {
    test(`${name} comes back as it was given, in both forms`, (t) => {
      const { a } = installed(t);
      a.claim(1);
      a.append(1, 0, payload);
      a.appendRow(1, 1, payload);
      const read = a.db.prepare("SELECT payload FROM oplog_read('ns', 'k')").pluck().all();
      assert.deepEqual(read, [payload, payload]);
    });
  }

  test('a string is stored as its UTF-8 bytes', (t) => {
    const { a } = installed(t);
    a.claim(1);
    a.append(1, 0, 'gr\u00fc\u00df dich \u{1f642}');
    assert.deepEqual(a.entries()[0].payload, Buffer.from('gr\u00fc\u00df dich \u{1f642}'));
  });

  test('null is ZF010', (t) => {
    const { a } = installed(t);
    a.claim(1);
    refusal('ZF010', 'SQLITE_ERROR', () => a.append(1, 0, null));
    refusal('ZF010', 'SQLITE_ERROR', () => a.appendRow(1, 0, null));
    assert.deepEqual(a.entries(), []);
  });

  test('fence_blobs() takes Buffers, fenced_append_many() their idx as JSON', (t) => {
    const { a } = installed(t);
    a.claim(1);
    const many = 'SELECT fenced_append_many(?, ?, ?, ?, ?, fence_blobs(?, ?))';
    const buffers = [Buffer.from([0, 255]), Buffer.alloc(0)];
    assert.equal(a.get(many, 'ns', 'k', 1, a.writer, JSON.stringify([0, 1]), ...buffers), 2);
    const large = [aboveSafe, largest].map(String);
    assert.equal(a.get(many, 'ns', 'k', 1, a.writer, JSON.stringify(large), ...buffers), 2);
    assert.deepEqual(a.indexes(), ['0', '1', ...large]);
    assert.deepEqual(a.entries().map((entry) => entry.payload), [...buffers, ...buffers]);
  });
});

describe('errors', () => {
  const fingerprint = (client, writer) => client.get('SELECT fence_fingerprint(?)', writer);

  test('a stale append names both epochs and both writers, and stores nothing', (t) => {
    const { a, b } = deposed(t);
    for (const call of appendBoth(a, 1, 1)) {
      const { text, detail } = refusal('ZF001', 'SQLITE_AUTH', call);
      assert.ok(text.startsWith('ZF001 stale_epoch: '), text);
      assert.match(text, /; hint: \S/);
      assert.deepEqual(detail, {
        code: 'ZF001',
        namespace: 'ns',
        key: 'k',
        asserted_epoch: '1',
        stored_epoch: '2',
        asserted_writer: fingerprint(a, writerA),
        stored_writer: fingerprint(a, writerB),
        already_stored: false,
        deleted: null,
      });
      assert.match(detail.asserted_writer, /^[0-9a-f]{8}$/);
      assert.notEqual(detail.asserted_writer, detail.stored_writer);
    }
    assert.deepEqual(b.indexes(), ['0']);
  });

  test('a stale repeat says that its entry is there', (t) => {
    const { a } = deposed(t);
    for (const append of [a.append, a.appendRow]) {
      const repeat = (idx, text) => refusal('ZF001', 'SQLITE_AUTH', () => append.call(a, 1, idx, Buffer.from(text)));
      assert.equal(repeat(0, 'first').detail.already_stored, true);
      assert.equal(repeat(0, 'other').detail.already_stored, false);
    }
  });

  test('epochs above 2 ** 53 are exact in the detail', (t) => {
    const { a, b } = deposed(t);
    b.claim(largest);
    const { detail } = refusal('ZF001', 'SQLITE_AUTH', () => a.append(aboveSafe, 1));
    assert.equal(detail.asserted_epoch, aboveSafe.toString());
    assert.equal(detail.stored_epoch, largest.toString());
  });

  test('a writer is never shown', (t) => {
    const { a, b } = deposed(t);
    const messages = [
      refusal('ZF001', 'SQLITE_AUTH', () => a.append(1, 1)).message,
      refusal('ZF002', 'SQLITE_AUTH', () => a.append(2, 1)).message,
      refusal('ZF002', 'SQLITE_AUTH', () => a.claim(2)).message,
      refusal('ZF013', 'SQLITE_CONSTRAINT_FUNCTION', () => b.append(2, 0)).message,
    ];
    for (const message of messages) {
      for (const writer of [writerA, writerB]) {
        assert.ok(!message.toLowerCase().includes(writer), message);
        assert.ok(!message.toLowerCase().includes(writer.replaceAll('-', '')), message);
      }
    }
  });

  const keys = [
    ['quotes, braces and percent signs', 'it\'s "{%s}" %n \\ [} {{'],
    ['control characters', 'a\tb\nc\u0001d\u001fe\u007f'],
    ['characters beyond ASCII', '\u00e9 \u4e2d \u{1f642} \u2028'],
    ['255 bytes that JSON must escape', '"'.repeat(255)],
    ['255 bytes that JSON writes as six each', '\u0001'.repeat(255)],
    ['255 bytes of UTF-8', '\u4e2d'.repeat(85)],
  ];
  for (const [name, key] of keys) {
    test(`the message is whole with ${name} in the key`, (t) => {
      const { a } = deposed(t);
      for (const call of [
        () => a.append(1, 1, Buffer.from('x'), key),
        () => a.appendRow(1, 1, Buffer.from('x'), key),
      ]) {
        const { message, detail } = refusal('ZF003', 'SQLITE_AUTH', call);
        assert.equal(detail.key, key);
        assert.ok(Buffer.byteLength(message) < 4096, `${Buffer.byteLength(message)} bytes`);
      }
    });
  }

  test('ZF013 is SQLITE_CONSTRAINT_FUNCTION, keeps the old bytes and dooms nothing', (t) => {
    const { b } = deposed(t);
    b.append(2, 1, Buffer.from('kept'));
    const insert = b.db.prepare(dmlForm);
    b.db.transaction(() => {
      for (const call of [
        () => b.append(2, 1, Buffer.from('other')),
        () => insert.run('ns', 'k', 2, b.writer, 1, Buffer.from('other')),
        () => b.append(2, 0, Buffer.from('first')),
      ]) {
        const { text, detail } = refusal('ZF013', 'SQLITE_CONSTRAINT_FUNCTION', call);
        assert.ok(text.startsWith('ZF013 index_conflict: '), text);
        assert.equal(detail.code, 'ZF013');
      }
      b.append(2, 2);
    })();
    assert.deepEqual(b.indexes(), ['0', '1', '2']);
    assert.equal(b.entries()[1].payload.toString(), 'kept');
  });

  test('an identical repeat is a success and stores nothing twice', (t) => {
    const { b } = deposed(t);
    assert.equal(b.append(2, 1, Buffer.from('same')), 1);
    assert.equal(b.append(2, 1, Buffer.from('same')), 1);
    b.appendRow(2, 1, Buffer.from('same'));
    assert.deepEqual(b.indexes(), ['0', '1']);
  });
});
