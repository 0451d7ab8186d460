'use strict';
// Loading, closing and reopening, from the main thread and from workers.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { describe, test } = require('node:test');
const { Worker } = require('node:worker_threads');
const {
  Client, Database, deposed, dmlForm, errorOf, extension, installed, newFile, refusal, selectForm, writerB,
} = require('./fixture');

// SQLite removes the WAL when the last connection to a file really closes; one
// that only looks closed keeps it.
function assertReallyClosed(file) {
  assert.ok(fs.existsSync(file));
  assert.equal(fs.existsSync(`${file}-wal`), false, 'a connection is still open');
}

describe('loading', () => {
  test('db.loadExtension() loads it and it knows the SQLite that it runs in', (t) => {
    const { a } = installed(t);
    const capabilities = JSON.parse(a.get('SELECT fence_capabilities()'));
    assert.equal(capabilities.engine, 'sqlite');
    assert.equal(capabilities.engine_version, a.get('SELECT sqlite_version()'));
    assert.equal(capabilities.fence_version, a.get('SELECT fence_version()'));
    assert.equal(capabilities.fencing, true);
    assert.equal(capabilities.journal_mode, 'wal');
  });

  test('the path may leave out the suffix', () => {
    const db = new Database(':memory:');
    db.loadExtension(extension.slice(0, -path.extname(extension).length));
    assert.equal(typeof db.prepare('SELECT fence_version()').pluck().get(), 'string');
    db.close();
  });

  test('loading twice, also in a doomed transaction, changes nothing', (t) => {
    const { a, b } = deposed(t);
    b.get("SELECT fence_config('authorizer', 1)");
    b.db.loadExtension(extension);
    assert.equal(b.append(2, 1), 1);
    assert.equal(b.get("SELECT fence_config('authorizer')"), 1);
    a.db.exec('BEGIN');
    refusal('ZF001', 'SQLITE_AUTH', () => a.append(1, 1));
    a.db.loadExtension(extension);
    refusal('ZF009', 'SQLITE_AUTH', () => a.db.exec('COMMIT'));
    assert.equal(a.db.inTransaction, false);
  });

  test('before fence_install() each call says what to do (ZF012)', (t) => {
    const a = newFile(t).open(writerB);
    for (const call of [() => a.claim(1), () => a.append(1, 0), () => a.appendRow(1, 0)]) {
      const { text } = refusal('ZF012', 'SQLITE_ERROR', call);
      assert.ok(text.includes('fence_install()'), text);
    }
  });

  test(':memory: is served', () => {
    const db = new Database(':memory:');
    db.loadExtension(extension);
    db.prepare('SELECT fence_install()').get();
    db.prepare("SELECT oplog_metadata_upsert('ns', 'k', 1, ?)").get(writerB);
    db.prepare(selectForm).get('ns', 'k', 1, writerB, 0, Buffer.from('x'));
    db.prepare(dmlForm).run('ns', 'k', 1, writerB, 1, Buffer.from('y'));
    const read = db.prepare("SELECT idx FROM oplog_read('ns', 'k')").pluck();
    assert.deepEqual(read.all(), [0, 1]);
    db.close();
  });
});

// A SQLite newer than Debian 12's, such as the one that better-sqlite3 brings,
// refuses triggers on the shadow tables of a defensive connection also while it
// reads the schema again, if their virtual table stands before them in it.
describe('the schema can be read again', () => {
  function assertReadable({ a, b }) {
    assert.equal(b.get('SELECT count(*) FROM notes'), 0);
    assert.deepEqual(b.indexes(), ['0']);
    assert.deepEqual(a.indexes(), ['0']);
    assert.equal(b.append(2, 1), 1);
    assert.throws(() => b.db.exec('DELETE FROM fence_oplog_v1'), Database.SqliteError);
    assert.deepEqual(b.indexes(), ['0', '1']);
  }

  test('after another connection changed it', (t) => {
    const given = deposed(t);
    given.a.db.exec('CREATE TABLE another(x)');
    assertReadable(given);
  });

  test('after VACUUM', (t) => {
    const given = deposed(t);
    given.a.db.exec('VACUUM');
    assertReadable(given);
  });

  test('after a schema change that was rolled back', (t) => {
    const given = deposed(t);
    given.b.db.exec('BEGIN; CREATE TABLE another(x); ROLLBACK');
    assertReadable(given);
  });

  test('in a copy made by VACUUM INTO and in one made by db.backup()', async (t) => {
    const { b, folder } = deposed(t);
    const copies = ['vacuumed.db', 'backup.db'].map((name) => path.join(folder, name));
    b.db.prepare('VACUUM INTO ?').run(copies[0]);
    await b.db.backup(copies[1]);
    for (const copy of copies) {
      const client = new Client(copy, writerB);
      t.after(() => client.db.close());
      client.db.exec('CREATE TABLE another(x)');
      assert.deepEqual(client.indexes(), ['0']);
      assert.equal(client.append(2, 1), 1);
    }
  });
});

describe('writes that go round the calls', () => {
  const writes = [
    "INSERT INTO fence_oplog_v1(namespace, key, idx, epoch) VALUES ('ns', 'k', 7, 2)",
    'UPDATE fence_oplog_v1 SET epoch = 9',
    'DELETE FROM fence_oplog_v1',
    'UPDATE fence_meta_v1 SET epoch = 0',
    'DELETE FROM fence_meta_v1',
  ];

  test('are refused with the extension', (t) => {
    const { a, b } = deposed(t);
    for (const sql of writes) assert.throws(() => a.db.exec(sql), Database.SqliteError, sql);
    assert.deepEqual(b.indexes(), ['0']);
    assert.equal(b.append(2, 1), 1);
  });

  test('do not even prepare without it, while reading works', (t) => {
    const { b, file } = deposed(t);
    const plain = new Database(file);
    t.after(() => plain.close());
    for (const sql of writes) {
      assert.match(errorOf('SQLITE_ERROR', () => plain.prepare(sql)).message, /fence_guard_v1/, sql);
    }
    assert.deepEqual(plain.prepare('SELECT idx FROM oplog_entries').pluck().all(), [0]);
    assert.deepEqual(plain.prepare('SELECT epoch FROM oplog_metadata').pluck().all(), [2]);
    assert.equal(b.append(2, 1), 1);
  });
});

describe('close()', () => {
  function withCachedStatements(t) {
    const { a, file } = installed(t);
    a.claim(1);
    const kept = [a.db.prepare(selectForm), a.db.prepare(dmlForm), a.db.prepare('COMMIT')];
    kept[0].get('ns', 'k', 1, a.writer, 0, Buffer.from('x'));
    kept[1].run('ns', 'k', 1, a.writer, 1, Buffer.from('y'));
    return { a, file, kept };
  }

  test('works with statements prepared', (t) => {
    const { a, file } = withCachedStatements(t);
    a.db.close();
    assert.equal(a.db.open, false);
    assertReallyClosed(file);
  });

  test('works with a transaction open and keeps nothing of it', (t) => {
    const { a, file } = withCachedStatements(t);
    a.db.exec('BEGIN');
    a.append(1, 2);
    a.db.close();
    assertReallyClosed(file);
    const plain = new Database(file);
    t.after(() => plain.close());
    assert.deepEqual(plain.prepare('SELECT idx FROM oplog_entries').pluck().all(), [0, 1]);
  });

  test('works with a doomed transaction open and keeps nothing of it', (t) => {
    const { a, b, file } = deposed(t);
    a.db.exec('BEGIN');
    a.note('before');
    refusal('ZF001', 'SQLITE_AUTH', () => a.append(1, 1));
    a.db.close();
    assert.deepEqual(b.notes(), []);
    assert.equal(b.append(2, 1), 1);
    b.db.close();
    assertReallyClosed(file);
  });
});

// Runs the steps of worker.js, { file, extension, steps: [[sql, ...args]] }, on
// a connection of the worker's own; resolves to what each step answered.
function inWorker(data) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(path.join(__dirname, 'worker.js'), { workerData: data });
    let answer;
    worker.on('message', (message) => { answer = message; });
    worker.on('error', reject);
    worker.on('exit', (status) => {
      if (status === 0) resolve(answer);
      else reject(new Error(`the worker ended with status ${status}`));
    });
  });
}

describe('reopening', () => {
  const claim = 'SELECT oplog_metadata_upsert(?, ?, ?, ?)';

  test('the same writer goes on after close() with the last idx', (t) => {
    const { a, open } = installed(t);
    a.claim(1);
    a.append(1, 0);
    a.append(1, 1);
    a.db.close();
    const again = open(a.writer);
    assert.equal(again.claim(1), 1);
    assert.equal(again.append(1, 2), 2);
  });

  test('in a worker thread the same writer goes on', async (t) => {
    const { a, file } = installed(t);
    a.claim(1);
    a.append(1, 0);
    const answers = await inWorker({
      file, extension, close: true,
      steps: [
        [claim, 'ns', 'k', 1, a.writer],
        [selectForm, 'ns', 'k', 1, a.writer, 1, Buffer.from('from the worker')],
      ],
    });
    assert.deepEqual(answers, [{ value: 0 }, { value: 1 }]);
    assert.equal(a.append(1, 2), 2);
    assert.equal(a.entries()[1].payload.toString(), 'from the worker');
  });

  test('another writer\'s claim in a worker thread deposes this thread', async (t) => {
    const { a, file } = installed(t);
    a.claim(1);
    a.append(1, 0);
    const answers = await inWorker({
      file, extension, close: true, steps: [[claim, 'ns', 'k', 2, writerB]],
    });
    assert.deepEqual(answers, [{ value: 0 }]);
    refusal('ZF001', 'SQLITE_AUTH', () => a.append(1, 1));
    assert.deepEqual(a.indexes(), ['0']);
  });

  test('a worker that ends in a doomed transaction leaves nothing behind', async (t) => {
    const { a, b, file } = deposed(t);
    const answers = await inWorker({
      file, extension, close: false,
      steps: [
        ['BEGIN IMMEDIATE'],
        ["INSERT INTO notes(text) VALUES ('from the worker')"],
        [selectForm, 'ns', 'k', 1, a.writer, 1, Buffer.from('late')],
      ],
    });
    assert.equal(answers.length, 3);
    assert.match(answers[2].error, /^ZF001 stale_epoch: /);
    assert.equal(answers[2].code, 'SQLITE_AUTH');
    assert.deepEqual(b.notes(), []);
    assert.equal(b.append(2, 1), 1, 'the write lock went with the worker');
    a.db.close();
    b.db.close();
    assertReallyClosed(file);
  });
});
