import fs from 'node:fs';
import path from 'node:path';
import { run } from './child.mjs';
import { binary, cache } from './project.mjs';

/** Rooms are tested as they are written: their packages answer this condition with TypeScript. */
const fromSource = '--conditions=source';

/** A test that never lets go of the processor cannot be ended by Jest itself; nobody's tests take this long. */
const testsMaxMs = 45 * 60_000;

/** Runs the tests of the files that match, or all. A file that could not be run counts as one that failed. */
export async function runJest({ node, env }, patterns) {
  fs.mkdirSync(cache, { recursive: true });
  const results = path.join(cache, `jest-${process.pid}.json`);
  try {
    const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', fromSource];
    // A test that leaves something open must not hold up the machine that runs us for ever.
    const options = ['--forceExit', '--json', `--outputFile=${results}`];
    const code = await run(node, [...flags, binary('jest'), ...options, ...patterns], {
      env,
      timeout: testsMaxMs,
      killSignal: 'SIGKILL',
    });
    const {
      numPassedTests: passed,
      numFailedTests,
      numRuntimeErrorTestSuites,
    } = JSON.parse(fs.readFileSync(results, 'utf8'));
    const failed = numFailedTests + numRuntimeErrorTestSuites;
    // What jest alone complains about, such as a pattern that matches nothing, must not pass for success.
    return { passed, failed: code === 0 ? failed : Math.max(failed, 1) };
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    return { passed: 0, failed: 1 }; // it ended before it could write its results, and has said why
  } finally {
    fs.rmSync(results, { force: true });
  }
}
