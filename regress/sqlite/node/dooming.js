'use strict';
// A refusal dooms its transaction, whatever JavaScript does with the error.

const assert = require('node:assert/strict');
const path = require('node:path');
const { describe, test } = require('node:test');
const { Database, deposed, errorOf, installed, refusal } = require('./fixture');

const forms = [
  ['SELECT form', (client, epoch, idx, payload) => client.append(epoch, idx, payload)],
  ['INSERT form', (client, epoch, idx, payload) => client.appendRow(epoch, idx, payload)],
];

function refusedAppend(client, append = forms[0][1]) {
  return refusal('ZF001', 'SQLITE_AUTH', () => append(client, 1, 1));
}

// Then the commit fails with ZF009, which tells of the first refusal (given as a
// function where it is met within the commit's own call) ...
function assertDoomed(commit, firstOrLater) {
  const doomed = refusal('ZF009', 'SQLITE_AUTH', commit);
  const first = typeof firstOrLater === 'function' ? firstOrLater() : firstOrLater;
  const name = first.text.slice(0, first.text.indexOf(':'));
  assert.ok(doomed.text.startsWith('ZF009 transaction_refused: '), doomed.text);
  assert.ok(doomed.text.includes(name), `${name} is not named: ${doomed.text}`);
  assert.deepEqual(doomed.detail, first.detail);
}

// ... the transaction is over, nothing of it is kept, and the connection works.
function assertNothingKept({ a, b }) {
  assert.equal(a.db.inTransaction, false);
  assert.deepEqual(b.notes(), []);
  assert.deepEqual(b.indexes(), ['0']);
  assertUsable({ a, b });
}

function assertUsable({ a, b }) {
  const before = b.notes();
  a.db.transaction(() => a.note('afterwards'))();
  assert.deepEqual(b.notes(), [...before, 'afterwards']);
  assert.equal(b.append(2, 1), 1, 'the owner goes on');
  refusedAppend(a);
  assert.equal(a.claim(3), 1, 'and the deposed writer can claim again');
  assert.equal(a.append(3, 2), 2);
}

for (const [form, append] of forms) {
  describe(`a swallowed refusal, ${form}`, () => {
    for (const commit of ['COMMIT', 'END']) {
      test(`exec('${commit}') fails with ZF009 and keeps nothing`, (t) => {
        const given = deposed(t);
        const { a } = given;
        a.db.exec("BEGIN; INSERT INTO notes(text) VALUES ('before')");
        const first = refusedAppend(a, append);
        assert.equal(a.db.inTransaction, true);
        a.note('after');
        assertDoomed(() => a.db.exec(commit), first);
        assert.match(errorOf('SQLITE_ERROR', () => a.db.exec('COMMIT')).message, /cannot commit/);
        assert.match(errorOf('SQLITE_ERROR', () => a.db.exec('ROLLBACK')).message, /cannot rollback/);
        assertNothingKept(given);
      });
    }

    test('a prepared COMMIT fails and can be used again', (t) => {
      const given = deposed(t);
      const { a, b } = given;
      const begin = a.db.prepare('BEGIN IMMEDIATE');
      const commit = a.db.prepare('COMMIT');
      begin.run();
      assertDoomed(() => commit.run(), refusedAppend(a, append));
      begin.run();
      a.note('second');
      commit.run();
      assert.deepEqual(b.notes(), ['second']);
      assertUsable(given);
    });

    test('COMMIT fails when the refusal came first', (t) => {
      const given = deposed(t);
      const { a } = given;
      a.db.exec('BEGIN');
      const first = refusedAppend(a, append);
      a.note('after');
      assertDoomed(() => a.db.exec('COMMIT'), first);
      assertNothingKept(given);
    });

    test('COMMIT fails when the transaction only read besides', (t) => {
      const given = deposed(t);
      const { a } = given;
      a.db.exec('BEGIN');
      assert.deepEqual(a.indexes(), ['0']);
      assertDoomed(() => a.db.exec('COMMIT'), refusedAppend(a, append));
      assertNothingKept(given);
    });

    for (const behaviour of ['default', 'deferred', 'immediate', 'exclusive']) {
      test(`db.transaction().${behaviour}() that swallows it throws ZF009`, (t) => {
        const given = deposed(t);
        const { a } = given;
        let first;
        const work = a.db.transaction(() => {
          a.note('before');
          first = refusedAppend(a, append);
          a.note('after');
        });
        assertDoomed(() => work[behaviour](), () => first);
        assertNothingKept(given);
      });
    }

    test('db.transaction() that lets it out throws the refusal itself', (t) => {
      const given = deposed(t);
      const { a } = given;
      const work = a.db.transaction(() => {
        a.note('before');
        append(a, 1, 1);
      });
      refusal('ZF001', 'SQLITE_AUTH', () => work());
      assertNothingKept(given);
    });

    test('a nested db.transaction() does not undo it', (t) => {
      const given = deposed(t);
      const { a } = given;
      let first;
      const inner = a.db.transaction(() => append(a, 1, 1));
      const outer = a.db.transaction(() => {
        a.note('before');
        first = refusal('ZF001', 'SQLITE_AUTH', () => inner());
        a.note('after');
      });
      assertDoomed(() => outer(), () => first);
      assertNothingKept(given);
    });

    test('three levels of db.transaction() do not undo it', (t) => {
      const given = deposed(t);
      const { a } = given;
      let first;
      const third = a.db.transaction(() => append(a, 1, 1));
      const second = a.db.transaction(() => {
        first = refusal('ZF001', 'SQLITE_AUTH', () => third());
        throw new Error('the second level gives up');
      });
      const top = a.db.transaction(() => {
        a.note('before');
        assert.throws(() => second(), /gives up/);
      });
      assertDoomed(() => top(), () => first);
      assertNothingKept(given);
    });

    test('ROLLBACK TO and RELEASE do not undo it', (t) => {
      const given = deposed(t);
      const { a } = given;
      a.db.exec('BEGIN; SAVEPOINT s');
      const first = refusedAppend(a, append);
      a.db.exec('ROLLBACK TO s; RELEASE s');
      a.note('after');
      assertDoomed(() => a.db.exec('COMMIT'), first);
      assertNothingKept(given);
    });

    test('RELEASE of an outermost savepoint fails; the application must ROLLBACK', (t) => {
      const given = deposed(t);
      const { a } = given;
      a.db.exec("SAVEPOINT s; INSERT INTO notes(text) VALUES ('before')");
      const first = refusedAppend(a, append);
      assertDoomed(() => a.db.exec('RELEASE s'), first);
      // SQLite has thrown the data away, but keeps the savepoint's name.
      assert.equal(a.db.inTransaction, true);
      a.db.exec('ROLLBACK');
      assertNothingKept(given);
    });

    test('ROLLBACK ends it and the next transaction is free', (t) => {
      const given = deposed(t);
      const { a } = given;
      a.db.exec('BEGIN');
      refusedAppend(a, append);
      a.db.exec('ROLLBACK');
      assertNothingKept(given);
    });

    test('COMMIT fails with a cursor still open', (t) => {
      const given = deposed(t);
      const { a, b } = given;
      a.db.exec('INSERT INTO notes(text) VALUES (1), (2), (3)');
      a.db.unsafeMode(true);
      a.db.exec('BEGIN');
      const rows = a.db.prepare('SELECT text FROM notes').pluck().iterate();
      t.after(() => rows.return());
      assert.equal(rows.next().value, '1');
      const first = refusedAppend(a, append);
      assertDoomed(() => a.db.exec('COMMIT'), first);
      rows.return();
      assert.deepEqual(b.indexes(), ['0']);
      assertUsable(given);
    });

    test('the write to an attached file is undone too', (t) => {
      const given = deposed(t);
      const { a, folder } = given;
      a.db.prepare('ATTACH ? AS other').run(path.join(folder, 'other.db'));
      a.db.exec('CREATE TABLE other.t(x); BEGIN; INSERT INTO other.t VALUES (1)');
      assertDoomed(() => a.db.exec('COMMIT'), refusedAppend(a, append));
      assert.equal(a.get('SELECT count(*) FROM other.t'), 0);
      assertNothingKept(given);
    });

    test('every later call in the transaction is ZF009 at once', (t) => {
      const given = deposed(t);
      const { a } = given;
      a.claim(1, 'mine');
      a.db.exec('BEGIN');
      const first = refusedAppend(a, append);
      assertDoomed(() => a.append(1, 0, Buffer.from('x'), 'mine'), first);
      assertDoomed(() => a.appendRow(1, 0, Buffer.from('x'), 'mine'), first);
      assertDoomed(() => a.db.exec('COMMIT'), first);
      assert.deepEqual(a.indexes('mine'), []);
      assertNothingKept(given);
    });

    test('what does not end ownership (ZF010, ZF012, ZF013) fails its statement only', (t) => {
      const { a } = installed(t);
      a.claim(1);
      append(a, 1, 0, Buffer.from('first'));
      a.db.exec('BEGIN');
      append(a, 1, 1);
      refusal('ZF013', 'SQLITE_CONSTRAINT_FUNCTION', () => append(a, 1, 0, Buffer.from('other')));
      refusal('ZF010', 'SQLITE_ERROR', () => append(a, 1, -1));
      refusal('ZF012', 'SQLITE_ERROR', () => a.claim(2));
      append(a, 1, 2);
      a.db.exec('COMMIT');
      assert.deepEqual(a.indexes(), ['0', '1', '2']);
    });
  });
}

describe('each refusal of ownership dooms', () => {
  const cases = [
    ['ZF001', ({ a }) => a.append(1, 1)],
    ['ZF002', ({ a }) => a.append(2, 1)],
    ['ZF003', ({ a }) => a.append(1, 1, Buffer.from('x'), 'never claimed')],
    ['ZF004', ({ a }) => a.append(3, 1)],
  ];
  for (const [code, call] of cases) {
    test(code, (t) => {
      const given = deposed(t);
      const { a } = given;
      a.db.exec('BEGIN');
      a.note('before');
      const first = refusal(code, 'SQLITE_AUTH', () => call(given));
      assertDoomed(() => a.db.exec('COMMIT'), first);
      assertNothingKept(given);
    });
  }
});

describe('no conflict clause swallows a refusal', () => {
  const args = (a) => ['ns', 'k', 1, a.writer, 1, Buffer.from('x')];
  for (const clause of ['ABORT', 'FAIL', 'IGNORE', 'REPLACE', 'ROLLBACK']) {
    const statements = {
      'INSERT form': `INSERT OR ${clause} INTO fenced_append(namespace, key, epoch, writer, idx, payload)
        VALUES (?, ?, ?, ?, ?, ?)`,
      'function in an INSERT': `INSERT OR ${clause} INTO notes(text) SELECT fenced_append(?, ?, ?, ?, ?, ?)`,
    };
    for (const [form, sql] of Object.entries(statements)) {
      test(`OR ${clause}, ${form}`, (t) => {
        const given = deposed(t);
        const { a } = given;
        a.db.exec("BEGIN; INSERT INTO notes(text) VALUES ('before')");
        const first = refusal('ZF001', 'SQLITE_AUTH', () => a.db.prepare(sql).run(...args(a)));
        assert.equal(a.db.inTransaction, true, 'the transaction is still the application\'s');
        assertDoomed(() => a.db.exec('COMMIT'), first);
        assertNothingKept(given);
      });
    }
  }

  test('a batch of which one row is refused stores none', (t) => {
    const { a } = installed(t);
    a.claim(1);
    const sql = `INSERT OR IGNORE INTO fenced_append(namespace, key, epoch, writer, idx, payload)
      VALUES ('ns', 'k', 1, ?, 0, x'00'), ('ns', 'other', 1, ?, 1, x'01')`;
    const error = refusal('ZF003', 'SQLITE_AUTH', () => a.db.prepare(sql).run(a.writer, a.writer));
    assert.equal(error.detail.key, 'other');
    assert.equal(a.db.inTransaction, false);
    assert.deepEqual(a.indexes(), []);
  });
});

test('outside a transaction a refusal leaves nothing to doom', (t) => {
  const given = deposed(t);
  const { a, b } = given;
  refusedAppend(a);
  assert.equal(a.db.inTransaction, false);
  a.note('kept');
  assert.deepEqual(b.notes(), ['kept']);
  assertUsable(given);
});

test('a busy file stays SQLITE_BUSY for the owner and is ZF001 for a stale writer', (t) => {
  const { a, b } = deposed(t);
  const blocker = new Database(b.db.name, { timeout: 0 });
  t.after(() => blocker.close());
  blocker.exec('BEGIN IMMEDIATE');
  a.db.pragma('busy_timeout = 0');
  b.db.pragma('busy_timeout = 0');
  errorOf('SQLITE_BUSY', () => b.append(2, 1));
  refusedAppend(a);
  blocker.exec('COMMIT');
  assert.equal(b.append(2, 1), 1);
});
