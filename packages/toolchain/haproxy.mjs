import fs from 'node:fs';
import path from 'node:path';
import { outputOf } from './child.mjs';
import { librariesOf, refreshPackages, unpack } from './debian.mjs';
import { cache } from './project.mjs';

const folder = path.join(cache, 'haproxy');
const copy = path.join(folder, 'haproxy');

/**
 * HAProxy, which docker-compose.yml has in front of the replicas: what HAPROXY_BIN names, the one on the PATH, or the
 * package of this Debian, unpacked beside its libraries. Undefined where there is none: the tests behind it are skipped
 * then, and say so.
 */
export function provisionHaproxy() {
  const present = [process.env.HAPROXY_BIN, 'haproxy', copy].find((program) => program && runs(program));
  if (present) return present;
  try {
    console.log('Fetching haproxy …');
    refreshPackages();
    const own = librariesOf('haproxy').filter((name) => !/^lib(c6|gcc|stdc)/.test(name));
    unpack(folder, ['haproxy', ...own]);
    const libraries = fs
      .readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(({ name }) => /\.so(\.|$)/.test(name))
      .map(({ parentPath }) => parentPath);
    const program = path.join(folder, 'usr', 'sbin', 'haproxy');
    const script = `#!/bin/sh\nLD_LIBRARY_PATH=${[...new Set(libraries)].join(':')} exec ${program} "$@"\n`;
    fs.writeFileSync(copy, script, { mode: 0o755 });
    if (runs(copy)) return copy;
    console.log('No haproxy, so tests behind it are skipped: what was fetched does not run.');
  } catch (error) {
    console.log(`No haproxy, so tests behind it are skipped. ${error.message}`);
  }
  return undefined;
}

const runs = (program) => outputOf(program, ['-v'])?.startsWith('HAProxy version') ?? false;
