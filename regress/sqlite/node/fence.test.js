'use strict';
// The SQLite extension as a Node program meets it, through better-sqlite3. One
// process runs all, since errors would lose their message on the way to another.

require('./connection');
require('./dooming');
require('./values');
