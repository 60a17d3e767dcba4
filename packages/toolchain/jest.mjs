import fs from 'node:fs';
import path from 'node:path';
import { outputOf, run } from './child.mjs';
import { binary, cache, root } from './project.mjs';

/** Packages are tested from source: their `exports` map this condition to TypeScript files. */
const fromSource = '--conditions=source';

/**
 * For runs in which every test file has sources of its own: V8's cache of compiled code keeps those of every finished file
 * alive, about 10 MB each, and the hundredth file of a worker would spend most of its time in garbage collection.
 */
export const withoutLeaks = '--no-compilation-cache';

/** Jest cannot end a test that blocks the event loop. No complete test run takes this long. */
const testsMaxMs = 45 * 60_000;

/**
 * Runs the tests of the matching files, or all tests, with these Jest options. A file that cannot be run counts as one
 * failed test.
 * @param {{ node: string, env: NodeJS.ProcessEnv, nodeFlags?: readonly string[], print?: (text: string) => void }} tools
 */
export async function runJest({ node, env, nodeFlags = [], print }, patterns, options = [], maxMs = testsMaxMs) {
  fs.mkdirSync(cache, { recursive: true });
  // A separate folder, because several runs may be active at once.
  const folder = fs.mkdtempSync(path.join(cache, 'jest-'));
  const results = path.join(folder, 'results.json');
  try {
    const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', fromSource, ...nodeFlags];
    // Open handles must not keep CI waiting. A missing snapshot fails the test unless -u requests that it is written.
    const always = ['--forceExit', ...(patterns.includes('-u') ? [] : ['--ci']), '--json', `--outputFile=${results}`];
    // Patterns come first: options with several values would consume them.
    const code = await run(node, [...flags, binary('jest'), ...patterns, ...always, ...options], {
      env,
      print,
      timeout: maxMs,
      killSignal: 'SIGKILL',
    });
    return summary(JSON.parse(fs.readFileSync(results, 'utf8')), code);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    return { ...noResults, failed: 1 }; // Jest ended before writing its results, and has printed the reason
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** The test files that `runJest` would run; patterns may contain options. */
export const listTests = ({ node, env }, patterns) =>
  (outputOf(node, [binary('jest'), '--listTests', ...patterns], { env, cwd: root }) ?? '').split('\n').filter(Boolean);

export const noResults = { passed: 0, failed: 0, skipped: [], files: [] };

/** Sums up the results of several runs. */
export const sumResults = (runs) => ({
  passed: runs.reduce((sum, { passed }) => sum + passed, 0),
  failed: runs.reduce((sum, { failed }) => sum + failed, 0),
  skipped: runs.flatMap(({ skipped }) => skipped),
  files: runs.flatMap(({ files }) => files),
});

function summary({ numPassedTests: passed, testResults }, code) {
  const files = testResults.map((result) => ({
    name: nameOf(result),
    seconds: Math.max(0, result.endTime - result.startTime) / 1000,
    ...countsOf(result),
  }));
  // By file, so that a repeated file can replace exactly what it contributed.
  const failed = files.reduce((sum, file) => sum + file.failed, 0);
  return {
    passed,
    // Jest also fails for its own reasons, such as a pattern without a match; that must not count as success.
    failed: code === 0 ? failed : Math.max(failed, 1),
    skipped: testResults.flatMap(skippedIn),
    files,
  };
}

/** What Jest reports of a file that could not be run, or whose last hook failed. */
const ofWholeFile = 'Test suite failed to run';

/** A file may fail without a failed test, and counts as one failure then. */
function countsOf({ status, assertionResults, message }) {
  const count = (wanted) => assertionResults.filter((one) => one.status === wanted).length;
  const failed = status === 'failed' ? Math.max(1, count('failed')) : 0;
  const ofTests = assertionResults.flatMap(({ failureMessages }) => failureMessages ?? []);
  const isWhole = failed > 0 && (ofTests.length === 0 || message.includes(ofWholeFile));
  return { passed: count('passed'), failed, message, failures: isWhole ? [...ofTests, message] : ofTests };
}

const nameOf = ({ name }) => path.relative(root, name);

/** Each skipped test with its reason, which its describe block states. */
const skippedIn = (result) =>
  result.assertionResults
    .filter(({ status }) => status === 'pending' || status === 'todo')
    .map(({ ancestorTitles, title }) => {
      const said = ancestorTitles.map((one) => /^skipped: ([^;]*)/.exec(one)?.[1]).find((reason) => reason);
      return said ?? `without a reason, ${nameOf(result)}: ${title}`;
    });

/** Prints the slowest files, the candidates for shortening the run. */
export function reportSlowest(files, count = 10) {
  const slowest = [...files].sort((a, b) => b.seconds - a.seconds).slice(0, count);
  console.log(`\nThe ${slowest.length} slowest files`);
  for (const { name, seconds } of slowest) console.log(`${seconds.toFixed(1).padStart(8)} s  ${name}`);
}

/** Prints the skipped tests, grouped by reason. */
export function reportSkipped(skipped) {
  for (const reason of new Set(skipped))
    console.log(`skipped      ${skipped.filter((one) => one === reason).length} (${reason})`);
}

/** Prints what failed in each file or recorded case, near the end, which a reader of a cut log still has. */
export function reportFailures(files) {
  for (const { name, failures } of files.filter(({ failed }) => failed > 0)) {
    console.log(`FAIL         ${name}`);
    for (const failure of failures) console.log(shownLines(failure).join('\n'));
    if (failures.some((failure) => failure.includes('toMatchSnapshot')))
      console.log(`  npm test -- ${name} -u accepts what was received, if it is intended`);
  }
}

/** The beginning of a failure, and of its comparison what was not equal. */
const shownLines = (text) => {
  const lines = text.split('\n');
  const unequal = lines.slice(shownMax).filter((line) => /^\s*[-+] /.test(line));
  return [...lines.slice(0, shownMax), ...unequal.slice(0, shownMax)].map((line) => `  ${line.slice(0, 300)}`);
};

const shownMax = 6;
