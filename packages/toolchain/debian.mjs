import fs from 'node:fs';
import path from 'node:path';
import { outputOf, step } from './child.mjs';
import { cache, Failure } from './project.mjs';

// Programs of Debian's packages that are not installed system-wide: installing would start services.

/** Which package of Debian has which program. */
const packageOf = { etcd: 'etcd-server', etcdctl: 'etcd-client', prometheus: 'prometheus', promtool: 'prometheus' };

const debianKeyring = '/usr/share/keyrings/debian-archive-keyring.gpg';

/**
 * Unpacks programs of packages, and does not install them: installing would start a service. `suite` names another
 * Debian than that of this machine, from the same mirror. `copies` says where which program is wanted. Gives the reason
 * when there are no copies afterwards.
 */
export function debianPackages(suite, copies) {
  const where = suite ? `Package of Debian ${suite}` : 'Package of this Debian';
  if (process.getuid?.() !== 0) return `${where}: only root can update the list of packages.`;
  if (!outputOf('apt-get', ['--version'])) return `${where}: there is no apt-get.`;
  const packages = [...new Set(Object.keys(copies).map((program) => packageOf[program]))];
  return inScratch((scratch) => {
    const apt = suite ? aptOptionsFor(suite, scratch) : [];
    if (!apt) return `${where}: this machine has no mirror of Debian.`;
    console.log(`Fetching ${packages.join(' and ')}${suite ? ` of Debian ${suite}` : ''} …`);
    for (const [command, ...args] of [
      ['apt-get', '-qq', ...apt, 'update'],
      ['apt-get', '-qq', ...apt, 'download', ...packages],
      ['sh', '-c', 'for package in *.deb; do dpkg-deb -x "$package" . || exit 1; done'],
    ]) {
      const { ok, output } = step(command, args, { cwd: scratch });
      if (!ok) return `${where}: ${output}`;
    }
    for (const [program, copy] of Object.entries(copies)) keep(path.join(scratch, 'usr', 'bin', program), copy);
    return undefined;
  });
}

/** Makes apt-get look at one other suite, with lists and signatures of its own. Undefined where that cannot be. */
function aptOptionsFor(suite, scratch) {
  const mirror = findMirror();
  if (!mirror || !fs.existsSync(debianKeyring)) return undefined;
  const sources = path.join(scratch, 'sources.list');
  const lists = path.join(scratch, 'lists');
  fs.mkdirSync(path.join(lists, 'partial'), { recursive: true });
  fs.writeFileSync(sources, `deb [signed-by=${debianKeyring}] ${mirror} ${suite} main\n`);
  const options = { 'Dir::Etc::sourcelist': sources, 'Dir::Etc::sourceparts': '-', 'Dir::State::lists': lists };
  return Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
}

/** The name appears only when the file is whole, also when two programs fetch at the same time. */
export function keep(program, target) {
  fs.mkdirSync(path.dirname(target), { recursive: true });
  fs.renameSync(program, target);
}

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
  const found = findMirror();
  if (!found) throw new Failure('This machine has no mirror of Debian.');
  return found;
}

function findMirror() {
  const addresses = outputOf('apt-get', ['indextargets', '--format', '$(REPO_URI)', 'Created-By: Packages']);
  return addresses?.split('\n').find((address) => /\/debian\/?$/.test(address));
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
