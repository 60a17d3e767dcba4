/**
 * A replica that loads this first appends its long turns of the event loop to the file TURNS_FILE: the time, and the
 * milliseconds of processor time that the thread had, which a busy machine does not change.
 */
import fs from 'node:fs';

const file = process.env['TURNS_FILE'] ?? '';
const shortMs = 10;
const usedMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

let before = usedMs();
setInterval(() => {
  const now = usedMs();
  if (now - before > shortMs) fs.appendFileSync(file, `${Date.now()} ${now - before}\n`);
  before = usedMs();
}, 1).unref();
