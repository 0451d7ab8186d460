'use strict';
// What every test here starts from: a file with Fence in it, two writers, and
// the questions that tests ask about errors.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const Database = require('better-sqlite3');

const extension = path.resolve(process.env.FENCE_EXTENSION);
const writerA = '5b1f0f6e-0a51-4f0c-9d0b-3f1f7a6c2a01';
const writerB = 'c2d84d1e-7a37-4b06-8f3e-9b8a2f54be02';

const selectForm = 'SELECT fenced_append(?, ?, ?, ?, ?, ?)';
const dmlForm =
  'INSERT INTO fenced_append(namespace, key, epoch, writer, idx, payload) VALUES (?, ?, ?, ?, ?, ?)';

// One writer on a connection of its own.
class Client {
  constructor(file, writer) {
    this.writer = writer;
    this.db = new Database(file, { timeout: 2000 });
    this.db.loadExtension(extension);
  }

  get(sql, ...args) {
    return this.db.prepare(sql).pluck().get(...args);
  }

  claim(epoch, key = 'k') {
    return this.get('SELECT oplog_metadata_upsert(?, ?, ?, ?)', 'ns', key, epoch, this.writer);
  }

  append(epoch, idx, payload = Buffer.from('x'), key = 'k') {
    return this.get(selectForm, 'ns', key, epoch, this.writer, idx, payload);
  }

  appendRow(epoch, idx, payload = Buffer.from('x'), key = 'k') {
    return this.db.prepare(dmlForm).run('ns', key, epoch, this.writer, idx, payload);
  }

  // The entries of a log, numbers as text since JavaScript would round them.
  entries(key = 'k') {
    const sql = `SELECT CAST(idx AS TEXT) AS idx, CAST(epoch AS TEXT) AS epoch, payload
      FROM oplog_entries WHERE namespace = 'ns' AND key = ? ORDER BY oplog_entries.idx`;
    return this.db.prepare(sql).all(key);
  }

  indexes(key = 'k') {
    return this.entries(key).map((entry) => entry.idx);
  }

  note(text) {
    this.db.prepare('INSERT INTO notes(text) VALUES (?)').run(text);
  }

  notes() {
    return this.db.prepare('SELECT text FROM notes ORDER BY id').pluck().all();
  }
}

// A folder that is removed when the test ends, and an opener of clients in it
// that are closed by then.
function newFile(t) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fence-node-'));
  const opened = [];
  t.after(() => {
    try {
      for (const client of opened) client.db.close();
    } finally {
      fs.rmSync(folder, { recursive: true, force: true });
    }
  });
  const file = path.join(folder, 'log.db');
  const open = (writer) => {
    const client = new Client(file, writer);
    opened.push(client);
    return client;
  };
  return { folder, file, open };
}

// Given a WAL file with Fence's tables and one table of the application's own.
function installed(t) {
  const { folder, file, open } = newFile(t);
  const a = open(writerA);
  a.db.pragma('journal_mode = WAL');
  a.get('SELECT fence_install()');
  a.db.exec('CREATE TABLE notes(id INTEGER PRIMARY KEY, text TEXT)');
  return { folder, file, open, a };
}

// Given that A owned the log at epoch 1 and wrote entry 0, and that B has since
// claimed epoch 2.
function deposed(t) {
  const given = installed(t);
  given.a.claim(1);
  given.a.append(1, 0, Buffer.from('first'));
  given.b = given.open(writerB);
  assert.equal(given.b.claim(2), 0, 'the claim returns the last idx');
  return given;
}

function thrownBy(call) {
  try {
    call();
  } catch (error) {
    return error;
  }
  return assert.fail('the call was not refused');
}

// The parts of the refusal that a call must raise.
function refusal(code, sqliteCode, call) {
  const error = thrownBy(call);
  assert.ok(error instanceof Database.SqliteError, `not a SqliteError: ${error}`);
  assert.equal(error.message.slice(0, 5), code, error.message);
  assert.equal(error.code, sqliteCode, error.message);
  const start = error.message.indexOf('{');
  assert.notEqual(start, -1, `no JSON in: ${error.message}`);
  return {
    message: error.message,
    text: error.message.slice(0, start),
    detail: JSON.parse(error.message.slice(start)),
  };
}

// An error of SQLite's or the driver's own.
function errorOf(code, call) {
  const error = thrownBy(call);
  assert.equal(error.code, code, String(error));
  return error;
}

module.exports = {
  Client, Database, deposed, dmlForm, errorOf, extension, installed, newFile, refusal, selectForm,
  writerA, writerB,
};
