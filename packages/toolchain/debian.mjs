import fs from 'node:fs';
import path from 'node:path';
import { outputOf, step } from './child.mjs';
import { cache, Failure } from './project.mjs';

// Programs of Debian's packages that are not installed system-wide.

/** Fetches the list of packages, which a fresh machine has none of. Without it the steps after it fail and say why. */
export const refreshPackages = () => step('apt-get', ['-qq', 'update']);

/** Unpacks packages of this Debian into a folder. Throws where there is no apt-get or no such package. */
export function unpack(folder, packages) {
  fs.mkdirSync(folder, { recursive: true });
  inScratch((scratch) => {
    must('apt-get', ['-qq', 'download', ...packages], { cwd: scratch });
    for (const file of fs.readdirSync(scratch)) must('dpkg-deb', ['-x', file, folder], { cwd: scratch });
  });
}

/** The packages of the libraries that a package needs, and those that these need. */
export function librariesOf(name) {
  const kinds = ['recommends', 'suggests', 'conflicts', 'breaks', 'replaces', 'enhances'];
  const found = outputOf('apt-cache', ['depends', '--recurse', ...kinds.map((kind) => `--no-${kind}`), name]) ?? '';
  return found.split('\n').filter((line) => /^lib[a-z0-9.+-]+$/.test(line) && !/-perl|^libpam|^libdebconf/.test(line));
}

/** Where this machine has its packages from. */
export function mirror() {
  const addresses = outputOf('apt-get', ['indextargets', '--format', '$(REPO_URI)', 'Created-By: Packages']);
  const found = addresses?.split('\n').find((address) => /\/debian\/?$/.test(address));
  if (!found) throw new Failure('This machine has no mirror of Debian.');
  return found;
}

export function must(command, args, options) {
  const { ok, output } = step(command, args, options);
  if (!ok) throw new Failure(`${command} ${args[0]} failed.\n${output}`);
}

export function inScratch(work) {
  fs.mkdirSync(cache, { recursive: true });
  const folder = fs.mkdtempSync(path.join(cache, 'unpacking-'));
  fs.chmodSync(folder, 0o755); // it may become the root of an image
  try {
    return work(folder);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}
