import fs from 'node:fs';
import path from 'node:path';
import { Failure, root } from './project.mjs';

/** Editors write several files at once, and each in several steps. */
const settledMs = 100;

/**
 * Waits for a change of a source or a test, and returns its path. `persistent` keeps the process alive meanwhile.
 * @param {{ persistent?: boolean }} [options]
 */
export async function nextChange({ persistent = true } = {}) {
  const watching = new AbortController();
  const { signal } = watching;
  try {
    const watcher = fs.watch(path.join(root, 'packages'), { recursive: true, persistent, encoding: 'utf8', signal });
    const name = await new Promise((resolve, reject) => {
      watcher.on('error', reject);
      watcher.on('change', (_event, file) => {
        if (isSource(String(file))) resolve(file);
      });
    });
    await new Promise((resolve) => void setTimeout(resolve, settledMs));
    return name;
  } catch (error) {
    throw new Failure(`Changes cannot be watched: ${error.message}`);
  } finally {
    watching.abort();
  }
}

const isSource = (file) => /\.(ts|mjs|json|snap)$/.test(file) && !/(^|\/)(node_modules|dist)\//.test(file);
