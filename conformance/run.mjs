#!/usr/bin/env node
// Replays recorded HTTP conversations against a running server and compares every response. See README.md.
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { connect } from './client.mjs';
import { replay } from './replay.mjs';

const usage = `usage: run.mjs --server URL [--token TOKEN] [--ca FILE] [--cases FOLDER …] [--only REGEX] [--skip REGEX]
               [--jobs N] [--json FILE] [--verbose] [--list] [--record]

  --cases   a folder of cases; of several, a later one replaces cases of the same area and name (default: cases)
  --only    replays the cases whose "area: name" matches
  --jobs    cases at a time (default: 4, and 1 with --record)
  --list    prints the names of the cases
  --record  writes the responses of the server into the case files: for the reference server only
The exit code is 0 if every case passed.`;

const { values: options } = parseArgs({
  options: {
    server: { type: 'string', default: 'https://127.0.0.1:6443' },
    token: { type: 'string', default: '' },
    ca: { type: 'string' },
    cases: { type: 'string', multiple: true, default: [path.join(import.meta.dirname, 'cases')] },
    only: { type: 'string', default: '' },
    skip: { type: 'string' },
    jobs: { type: 'string' },
    json: { type: 'string' },
    record: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

if (options.help) console.log(usage);
else process.exitCode = await main();

async function main() {
  const files = options.cases.flatMap(readCases);
  // By name: a case of a later folder replaces an earlier one.
  const named = new Map(files.flatMap((file) => file.cases.map((one) => [`${file.area}: ${one.name}`, { one, file }])));
  const chosen = [...named].filter(([id]) => isChosen(id)).map(([id, found]) => ({ id, ...found }));
  if (options.list) {
    for (const { id } of chosen) console.log(id);
    return 0;
  }
  const results = await replayAll(chosen);
  if (options.record) for (const file of new Set(chosen.map((found) => found.file))) write(file);
  if (options.json) fs.writeFileSync(options.json, JSON.stringify({ server: options.server, results }, null, 1));
  return report(results);
}

/** The case files of a folder; the area of a file is its path. */
function readCases(folder) {
  return fs
    .readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => {
      const file = path.join(folder, name);
      const content = JSON.parse(fs.readFileSync(file, 'utf8'));
      return { file, content, area: name.replace(/\.json$/, ''), cases: content.cases, isLast: content.last === true };
    });
}

function write({ file, content }) {
  fs.writeFileSync(file, `${JSON.stringify(content, null, 1)}\n`);
}

function isChosen(id) {
  return new RegExp(options.only).test(id) && (options.skip === undefined || !new RegExp(options.skip).test(id));
}

async function replayAll(chosen) {
  const client = connect({
    server: options.server,
    token: options.token,
    ca: options.ca && fs.readFileSync(options.ca),
  });
  const settings = { client, isRecording: options.record, isVerbose: options.verbose };
  const lanes = Math.max(1, Number(options.jobs ?? (options.record ? 1 : 4)));
  const results = [];
  // The cases of some files change what others rely on.
  for (const isLast of [false, true]) {
    const waiting = chosen.filter(({ file }) => file.isLast === isLast);
    const lane = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const problems = await replay(next.one, settings);
        results.push({ id: next.id, problems });
        if (problems.length > 0) console.log(`FAIL  ${next.id}\n   ${problems.join('\n   ')}`);
        else if (options.verbose) console.log(`ok    ${next.id}`);
      }
    };
    await Promise.all(Array.from({ length: lanes }, lane));
  }
  return results;
}

/** Prints the counts of each area, and returns the exit code. */
function report(results) {
  const areaOf = ({ id }) => id.split(':')[0];
  const areas = new Set(results.map(areaOf));
  const countFailed = (some) => some.filter(({ problems }) => problems.length > 0).length;
  console.log('');
  for (const area of [...areas].sort((one, other) => one.localeCompare(other))) {
    const own = results.filter((result) => areaOf(result) === area);
    const failed = countFailed(own);
    console.log(`${area.padEnd(28)} ${own.length - failed} passed${failed > 0 ? `, ${failed} failed` : ''}`);
  }
  const failed = countFailed(results);
  console.log(`${results.length - failed} passed, ${failed} failed`);
  return failed > 0 ? 1 : 0;
}
