import { expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { repetitions, soaking } from '@cluster-apiserver/testkit/soak';

const inputs = repetitions({ ci: 8_000, soak: 1_000_000 });
/** A fixed seed makes continuous integration deterministic. */
const seed = 1;
const limitMs = soaking ? 3 * 3_600_000 : 300_000;

const program = path.resolve(import.meta.dirname, '..', '..', 'toolchain', 'fuzz.mjs');

test(
  `${inputs} inputs (seed ${seed}) cause no crash, faulty response or leak, and do not affect a well-behaved client`,
  async () => {
    const fuzzer = spawn(process.execPath, [program, '--inputs', `${inputs}`, '--seed', `${seed}`], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [fuzzer.stdout, fuzzer.stderr]) stream.on('data', (text) => (output += text));
    const [code] = await once(fuzzer, 'exit');
    if (code !== 0) throw new Error(output); // the output names each fault and how to repeat it
    expect(output).toContain('no faults');
    console.log(output.split('\n').slice(-6).join('\n'));
  },
  limitMs,
);
