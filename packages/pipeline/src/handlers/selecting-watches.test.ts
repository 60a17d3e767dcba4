import { expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

const script = path.resolve(import.meta.dirname, '..', '..', 'test', 'selecting-watches.ts');
const heapMegabytes = 512;
const heldBytesMax = 64 * 1024 * 1024;
const slowTestMs = 120_000;

test(
  'a user who opens watches with the largest selectors is refused before they take much memory',
  async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--conditions=source',
      `--max-old-space-size=${heapMegabytes}`,
      script,
    ]);
    const lines = stdout.trim().split('\n');
    expect(lines).toHaveLength(6);
    for (const line of lines) {
      const [, selector, watches, refused, bytesEach] = /^(.*): (\d+) (\w+) (\d+)$/.exec(line) ?? [];
      expect([selector, refused]).toEqual([selector, selector === 'none' ? 'none' : '429']);
      // The bytes are estimated, and watches take some kilobytes besides.
      expect(Number(watches) * Number(bytesEach)).toBeLessThan(1.25 * heldBytesMax);
    }
  },
  slowTestMs,
);
