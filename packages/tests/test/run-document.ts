import { expect } from '@jest/globals';
import { spawn } from 'node:child_process';
import { until } from '@cluster-apiserver/testkit/until';
import { readDocument, type Step, stepsOf } from './document-steps.ts';

/** Runs the commands of documents one by one in a shell, as a new user would. */

export interface Shell {
  readonly directory: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Commands that come before those of the document. */
  readonly before?: readonly string[];
  /** Adapts a command of the document for the test. */
  readonly adaptCommand?: (command: string) => string;
  /** Called when all commands have run, while what they have started still runs. */
  readonly afterwards?: (ran: readonly Step[]) => Promise<void> | void;
  readonly answerMs: number;
}

/**
 * Runs the commands of the section and compares their output with the document. Commands of which it shows no output
 * must succeed. Returns the commands as the document shows them, with what they have printed.
 */
export async function runDocument(
  document: string,
  heading: string,
  { directory, env, before = [], adaptCommand: adapt = (command) => command, afterwards, answerMs }: Shell,
): Promise<readonly Step[]> {
  const steps = stepsOf(readDocument(document), heading);
  expect(steps).not.toEqual([]);
  const shell = spawn('bash', ['-s'], {
    cwd: directory,
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
    ...(env && { env }),
  });
  let output = '';
  shell.stdout.on('data', (text) => (output += text));
  const ran: Step[] = [];
  const run = async (command: string, shown: readonly string[]): Promise<string> => {
    const from = output.length;
    // A command that reads its input must not read the next commands.
    shell.stdin.write(`{ ${command}\n} </dev/null\necho "step ended with $?"\n`);
    const end = await until(command, () => /step ended with (\d+)\n/.exec(output.slice(from)) ?? undefined, answerMs);
    // What it has started prints later. The comparison at the end shows unexpected output.
    const wanted = pattern(shown);
    await until(command, () => wanted.test(output.slice(from)) || undefined, answerMs).catch(() => {});
    expect(output.slice(from)).toMatch(wanted);
    if (shown.length === 0 && end[1] !== '0') throw new Error(`${command}: ${output.slice(from)}`);
    return output.slice(from, from + end.index);
  };
  try {
    shell.stdin.write('exec 2>&1\n');
    for (const command of before) await run(command, []);
    for (const { command, shown } of steps) {
      const printed = await run(adapt(command), shown);
      ran.push({ command, shown: printed.split('\n').filter((line) => line !== '') });
    }
    await afterwards?.(ran);
    return ran;
  } finally {
    // Also ends background processes.
    if (shell.pid) process.kill(-shell.pid, 'SIGKILL');
  }
}

/** A pattern for the output that ignores values that differ between runs; … matches anything, and alone any lines. */
function pattern(shown: readonly string[]): RegExp {
  const escaped = shown.join('\n').replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const loose = escaped
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/g, '[0-9a-f-]{36}')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, '[-0-9T:]+Z')
    .replace(/"resourceVersion": "\d+"/g, '"resourceVersion": "\\d+"')
    .replace(/\b\d+s\b/g, '\\d+s')
    // What `npm start` prints.
    .replace(/(127\\\.0\\\.0\\\.1:|\bpid |\bkill )\d+/g, '$1\\d+')
    .replace(/\bversion (\d+\\\.)+\d+/g, 'version [\\d.]+')
    .replace(/\n…\n/g, '\n[^]*')
    .replace(/ … |…/g, '.*')
    // Documents may leave out empty lines.
    .replaceAll('\n', '\\n+');
  return new RegExp(loose);
}
