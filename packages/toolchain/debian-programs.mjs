import fs from 'node:fs';
import path from 'node:path';
import { step } from './child.mjs';
import { librariesOf, refreshPackages, unpack } from './debian.mjs';
import { cache } from './project.mjs';

// Programs that tests and the bench run: the present ones, or the packages of this Debian, unpacked with their libraries.

/** The load balancer of docker-compose.yml. Returns undefined if there is none; its tests are then skipped. */
export const provisionHaproxy = () =>
  provision({
    program: 'haproxy',
    variable: 'HAPROXY_BIN',
    packaged: 'haproxy',
    version: /^HAProxy version/,
  });

/** A proxy with an HTTP/2 implementation of its own, between the server and etcd. Returns undefined if there is none. */
export const provisionNghttpx = () =>
  provision({
    program: 'nghttpx',
    variable: 'NGHTTPX_BIN',
    packaged: 'nghttp2-proxy',
    version: /^nghttpx /,
  });

/** The load of the bench. Returns undefined if there is none. */
export const provisionWrk = () =>
  provision({ program: 'wrk', variable: 'WRK_BIN', packaged: 'wrk', version: /^wrk /, folder: 'bin' });

/** @param {{ program: string, variable: string, packaged: string, version: RegExp, folder?: string }} wanted */
function provision({ program, variable, packaged, version, folder = 'sbin' }) {
  const unpacked = path.join(cache, program);
  const copy = path.join(unpacked, program);
  // Some end with an error after printing their version.
  const runs = (candidate) => version.test(step(candidate, ['-v']).output);
  const present = [process.env[variable], program, copy].find((candidate) => candidate && runs(candidate));
  if (present) return present;
  try {
    console.log(`Fetching ${packaged} …`);
    refreshPackages();
    const own = librariesOf(packaged).filter((name) => !/^lib(c6|gcc|stdc)/.test(name));
    unpack(unpacked, [packaged, ...own]);
    const libraries = fs
      .readdirSync(unpacked, { recursive: true, withFileTypes: true })
      .filter(({ name }) => /\.so(\.|$)/.test(name))
      .map(({ parentPath }) => parentPath);
    const binary = path.join(unpacked, 'usr', folder, program);
    const script = `#!/bin/sh\nLD_LIBRARY_PATH=${[...new Set(libraries)].join(':')} exec ${binary} "$@"\n`;
    fs.writeFileSync(copy, script, { mode: 0o755 });
    if (runs(copy)) return copy;
    console.log(`${program} not found: the fetched program does not run.`);
  } catch (error) {
    console.log(`${program} not found. ${error.message}`);
  }
  return undefined;
}
