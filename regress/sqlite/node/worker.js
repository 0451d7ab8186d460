'use strict';
// A thread of its own with a connection of its own: runs the statements that it
// is given and answers with the first column or the error of each.

const { parentPort, workerData } = require('node:worker_threads');
const Database = require('better-sqlite3');

const db = new Database(workerData.file);
db.loadExtension(workerData.extension);

function run([sql, ...args]) {
  // A Buffer arrives from another thread as a plain Uint8Array.
  const values = args.map((arg) => (arg instanceof Uint8Array ? Buffer.from(arg) : arg));
  try {
    const statement = db.prepare(sql);
    return { value: statement.reader ? statement.pluck().get(...values) : statement.run(...values).changes };
  } catch (error) {
    return { error: error.message, code: error.code };
  }
}

parentPort.postMessage(workerData.steps.map(run));
if (workerData.close) db.close();
