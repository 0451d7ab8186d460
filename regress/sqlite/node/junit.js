'use strict';
// A reporter for Node's test runner that writes JUnit XML. Node 18 has none of
// its own.

function escape(text) {
  return String(text)
    // XML 1.0 has no way to write most control characters.
    .replace(/[^\t\n\x20-\uFFFD]/g, '?')
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/"/g, '&quot;');
}

function testCase(event, suites) {
  const { data } = event;
  const name = escape(data.name);
  const seconds = ((data.details.duration_ms || 0) / 1000).toFixed(3);
  const open = `<testcase classname="${escape(suites.join('.'))}" name="${name}" time="${seconds}"`;
  if (data.skip !== undefined && data.skip !== false) {
    return `${open}><skipped message="${escape(data.skip)}"/></testcase>`;
  }
  if (event.type === 'test:pass') return `${open}/>`;
  const error = data.details.error;
  const cause = (error && error.cause) || error;
  const message = escape((cause && cause.message) || cause);
  const stack = escape((cause && cause.stack) || cause);
  return `${open}><failure message="${message}">${stack}</failure></testcase>`;
}

// A file or suite that ran its tests is not a test; one that broke down before
// its first test has no child to tell of it, so its own failure counts.
function counts(event, hadChildren) {
  if (event.type === 'test:pass') return !hadChildren && event.data.details.type !== 'suite';
  return !hadChildren;
}

module.exports = async function* junit(source) {
  const names = [];
  const hadChildren = [];
  const cases = [];
  let failures = 0;
  let skipped = 0;
  let duration = 0;
  for await (const event of source) {
    const { data } = event;
    if (event.type === 'test:start') {
      names.length = data.nesting;
      names[data.nesting] = data.name;
      hadChildren.length = data.nesting + 1;
      hadChildren[data.nesting] = false;
      if (data.nesting > 0) hadChildren[data.nesting - 1] = true;
    }
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue;
    if (!counts(event, hadChildren[data.nesting])) continue;
    const line = testCase(event, ['node', ...names.slice(0, data.nesting)]);
    if (line.includes('<failure ')) failures += 1;
    if (line.includes('<skipped ')) skipped += 1;
    duration += (data.details.duration_ms || 0) / 1000;
    cases.push(line);
  }
  yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n';
  yield `<testsuite name="node" tests="${cases.length}" failures="${failures}" errors="0"`;
  yield ` skipped="${skipped}" time="${duration.toFixed(3)}">\n`;
  for (const line of cases) yield `${line}\n`;
  yield '</testsuite>\n</testsuites>\n';
};
