import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { auditFiles } from './audit-files.ts';

let home: string;
beforeEach(() => {
  home = fs.mkdtempSync(path.join(os.tmpdir(), 'audit-files-'));
});
afterEach(() => fs.rmSync(home, { recursive: true }));

test('a file is created with its directories, for the owner only, and appended to when it is opened again', async () => {
  const file = path.join(home, 'a', 'b', 'audit.log');
  for (const sizeBytes of [0, 3]) {
    const opened = await auditFiles.open(file);
    expect(await opened.size()).toBe(sizeBytes);
    await opened.write(Buffer.from('abc'));
    await opened.close();
  }
  expect(fs.readFileSync(file, 'utf8')).toBe('abcabc');
  expect([path.dirname(file), file].map((name) => fs.statSync(name).mode & 0o777)).toEqual([0o700, 0o600]);
});

// Opening these used to hang, and so the server never started.
test('a path that is a pipe, or cannot be created, is an error', async () => {
  const pipe = path.join(home, 'pipe');
  execFileSync('mkfifo', [pipe]);
  await expect(auditFiles.open(pipe)).rejects.toThrow('neither a regular file nor a device; the path "-" writes');
  await expect(auditFiles.open('/proc/none/audit.log')).rejects.toThrow('ENOENT');
  await expect(auditFiles.open('/proc/none/deeper/audit.log')).rejects.toThrow('ENOENT');
});
