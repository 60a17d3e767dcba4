import fs from 'node:fs';
import path from 'node:path';
import { run } from './child.mjs';
import { binary, cache, root } from './project.mjs';

/** Rooms are tested as they are written: their packages answer this condition with TypeScript. */
const fromSource = '--conditions=source';

/** A test that never lets go of the processor cannot be ended by Jest itself; no tests of ours take this long. */
const testsMaxMs = 45 * 60_000;

/**
 * Runs the tests of the files that match, or all, with these options of Jest. A file that could not be run counts as one
 * that failed.
 */
export async function runJest({ node, env }, patterns, options = [], maxMs = testsMaxMs) {
  fs.mkdirSync(cache, { recursive: true });
  // A folder of its own, because several may run at once.
  const folder = fs.mkdtempSync(path.join(cache, 'jest-'));
  const results = path.join(folder, 'results.json');
  try {
    const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', fromSource];
    // A test that leaves something open must not hold up the machine that runs us for ever. A snapshot that is missing
    // fails the test instead of being written, unless somebody asks for that.
    const always = ['--forceExit', ...(patterns.includes('-u') ? [] : ['--ci']), '--json', `--outputFile=${results}`];
    // Patterns come first, for an option that takes several values would take them as well.
    const code = await run(node, [...flags, binary('jest'), ...patterns, ...always, ...options], {
      env,
      timeout: maxMs,
      killSignal: 'SIGKILL',
    });
    return summary(JSON.parse(fs.readFileSync(results, 'utf8')), code);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    return { ...nothing, failed: 1 }; // it ended before it could write its results, and has said why
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

export const nothing = { passed: 0, failed: 0, skipped: [], files: [] };

/** What several runs come to together. */
export const together = (runs) => ({
  passed: runs.reduce((sum, { passed }) => sum + passed, 0),
  failed: runs.reduce((sum, { failed }) => sum + failed, 0),
  skipped: runs.flatMap(({ skipped }) => skipped),
  files: runs.flatMap(({ files }) => files),
});

function summary({ numPassedTests: passed, numFailedTests, numRuntimeErrorTestSuites, testResults }, code) {
  const failed = numFailedTests + numRuntimeErrorTestSuites;
  return {
    passed,
    // What jest alone complains about, such as a pattern that matches nothing, must not pass for success.
    failed: code === 0 ? failed : Math.max(failed, 1),
    skipped: testResults.flatMap(skippedIn),
    files: testResults.map((result) => ({
      name: nameOf(result),
      seconds: Math.max(0, result.endTime - result.startTime) / 1000,
      ...countsOf(result),
    })),
  };
}

/** A file that could not be run has no assertions, and counts as one failure. */
function countsOf({ status, assertionResults }) {
  const count = (wanted) => assertionResults.filter((one) => one.status === wanted).length;
  return { passed: count('passed'), failed: status === 'failed' ? Math.max(1, count('failed')) : 0 };
}

const nameOf = ({ name }) => path.relative(root, name);

/** Each test that was not run, with the reason: what the groups that it stands in say about being skipped. */
const skippedIn = (result) =>
  result.assertionResults
    .filter(({ status }) => status === 'pending' || status === 'todo')
    .map(({ ancestorTitles, title }) => {
      const said = ancestorTitles.map((one) => /^skipped: ([^;]*)/.exec(one)?.[1]).find((reason) => reason);
      return said ?? `without a reason, ${nameOf(result)}: ${title}`;
    });

/** The slowest files, for whoever wants to make the run shorter. */
export function reportSlowest(files, count = 10) {
  const slowest = [...files].sort((a, b) => b.seconds - a.seconds).slice(0, count);
  console.log(`\nThe ${slowest.length} slowest files`);
  for (const { name, seconds } of slowest) console.log(`${seconds.toFixed(1).padStart(8)} s  ${name}`);
}

/** What was not run, and why. */
export function reportSkipped(skipped) {
  for (const reason of new Set(skipped))
    console.log(`skipped      ${skipped.filter((one) => one === reason).length} (${reason})`);
}
