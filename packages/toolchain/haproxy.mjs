import fs from 'node:fs';
import path from 'node:path';
import { outputOf } from './child.mjs';
import { librariesOf, refreshPackages, unpack } from './debian.mjs';
import { cache } from './project.mjs';

const folder = path.join(cache, 'haproxy');
const copy = path.join(folder, 'haproxy');

/**
 * Finds HAProxy, the load balancer of docker-compose.yml: HAPROXY_BIN, the PATH, or the package of this Debian,
 * unpacked with its libraries. Returns undefined if there is none; tests that need it are then skipped with a reason.
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
    console.log('HAProxy not found; skipping tests that need it: the fetched program does not run.');
  } catch (error) {
    console.log(`HAProxy not found; skipping tests that need it. ${error.message}`);
  }
  return undefined;
}

const runs = (program) => outputOf(program, ['-v'])?.startsWith('HAProxy version') ?? false;
