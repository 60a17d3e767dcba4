import { expect } from '@jest/globals';
import { spawn } from 'node:child_process';
import { until } from '@cluster-apiserver/testkit/until';
import { readDocument, stepsBelow } from './document-steps.ts';

/** Runs the commands of documents one by one in a shell, as a new user would. */

export interface Shell {
  readonly directory: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Adapts a command of the document for the test. */
  readonly adaptCommand: (command: string) => string;
  readonly answerMs: number;
}

/** Runs the commands below the heading and compares their output with the document. */
export async function runDocument(
  document: string,
  heading: string,
  { directory, env, adaptCommand: adapt, answerMs }: Shell,
): Promise<void> {
  const steps = stepsBelow(readDocument(document), heading);
  expect(steps).not.toEqual([]);
  const shell = spawn('bash', ['-s'], {
    cwd: directory,
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
    ...(env && { env }),
  });
  let output = '';
  for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (text) => (output += text));
  try {
    for (const [n, { command, shown }] of steps.entries()) {
      const from = output.length;
      // A command that reads its input must not read the next commands.
      shell.stdin.write(`{ ${adapt(command)}\n} </dev/null\necho "step ${n} done"\n`);
      // The comparison at the end shows unexpected output.
      await until(command, () => output.includes(`step ${n} done`) || undefined, answerMs);
      const wanted = pattern(shown);
      await until(command, () => wanted.test(output.slice(from)) || undefined, answerMs).catch(() => {});
      expect(output.slice(from)).toMatch(wanted);
    }
  } finally {
    // Also ends background processes.
    if (shell.pid) process.kill(-shell.pid, 'SIGKILL');
  }
}

/** A pattern for the output that ignores values that differ between runs; … matches anything. */
function pattern(shown: readonly string[]): RegExp {
  const escaped = shown.join('\n').replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const loose = escaped
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/g, '[0-9a-f-]{36}')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, '[-0-9T:]+Z')
    .replace(/"resourceVersion": "\d+"/g, '"resourceVersion": "\\d+"')
    .replace(/\b\d+s\b/g, '\\d+s')
    .replace(/ … |…/g, '.*');
  return new RegExp(loose);
}
