import fs from 'node:fs';
import path from 'node:path';
import { outputOf, step } from './child.mjs';
import { cache, Failure } from './project.mjs';

// Unpacks programs from Debian packages without installing them: an installation would start services. Package lists are kept
// in the cache of the checkout, so that nothing of the machine changes and no other rights are needed.

/** Debian package of each program. */
const packageOf = { etcd: 'etcd-server', etcdctl: 'etcd-client', prometheus: 'prometheus', promtool: 'prometheus' };

const debianKeyring = '/usr/share/keyrings/debian-archive-keyring.gpg';

/**
 * Unpacks programs of packages into `copies`, which maps program names to target paths. `suite` selects another Debian
 * suite than this machine's, from the same mirror. Returns the reason if it fails.
 */
export function debianPackages(suite, copies) {
  const where = suite ? `Debian ${suite} package` : 'Debian package';
  if (!outputOf('apt-get', ['--version'])) return `${where}: apt-get is not installed.`;
  const packages = [...new Set(Object.keys(copies).map((program) => packageOf[program]))];
  return withScratchFolder((scratch) => {
    const sources = suite ? sourcesOf(suite, scratch) : [];
    if (!sources) return `${where}: no Debian mirror is configured.`;
    const env = aptEnvironment();
    console.log(`Fetching ${packages.join(' and ')}${suite ? ` of Debian ${suite}` : ''} …`);
    const lists = suite ? step('apt-get', ['-qq', ...sources, 'update'], { env }) : refreshPackages();
    if (!lists.ok) return `${where}: ${lists.output}`;
    for (const [command, ...args] of [
      ['apt-get', '-qq', ...sources, 'download', ...packages],
      ['sh', '-c', 'for package in *.deb; do dpkg-deb -x "$package" . || exit 1; done'],
    ]) {
      const { ok, output } = step(command, args, { cwd: scratch, env });
      if (!ok) return `${where}: ${output}`;
    }
    for (const [program, copy] of Object.entries(copies)) keep(path.join(scratch, 'usr', 'bin', program), copy);
    return undefined;
  });
}

/** An environment in which apt keeps its lists in the cache, with the sources and keys of the machine. */
function aptEnvironment() {
  const home = path.join(cache, 'apt');
  const [lists, archives] = [path.join(home, 'lists'), path.join(home, 'cache')];
  for (const folder of [lists, path.join(archives, 'archives')])
    fs.mkdirSync(path.join(folder, 'partial'), { recursive: true });
  const file = path.join(home, 'apt.conf');
  fs.writeFileSync(file, `Dir::State::lists "${lists}";\nDir::Cache "${archives}";\nAPT::Sandbox::User "";\n`);
  return { ...process.env, APT_CONFIG: file };
}

/** apt-get options for one other suite, with its own package lists and signatures. Undefined without a mirror or keyring. */
function sourcesOf(suite, scratch) {
  const address = findMirror();
  if (!address || !fs.existsSync(debianKeyring)) return undefined;
  const sources = path.join(scratch, 'sources.list');
  const lists = path.join(scratch, 'lists');
  fs.mkdirSync(path.join(lists, 'partial'), { recursive: true });
  fs.writeFileSync(sources, `deb [signed-by=${debianKeyring}] ${address} ${suite} main\n`);
  const options = { 'Dir::Etc::sourcelist': sources, 'Dir::Etc::sourceparts': '-', 'Dir::State::lists': lists };
  return Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
}

/** Moves a program to its target atomically, so that concurrent fetches never expose a partial file. */
function keep(program, target) {
  fs.mkdirSync(path.dirname(target), { recursive: true });
  fs.renameSync(program, target);
}

/** Updates the package list, which a fresh machine does not have, once: that takes seconds. If it fails, later steps report the reason. */
export const refreshPackages = () => (refreshed ??= step('apt-get', ['-qq', 'update'], { env: aptEnvironment() }));

/** @type {ReturnType<typeof step> | undefined} */
let refreshed;

/** Unpacks packages of this machine's Debian suite into a folder. Throws without apt-get or if a package is unknown. */
export function unpack(folder, packages) {
  fs.mkdirSync(folder, { recursive: true });
  withScratchFolder((scratch) => {
    runOrFail('apt-get', ['-qq', 'download', ...packages], { cwd: scratch, env: aptEnvironment() });
    for (const file of fs.readdirSync(scratch)) runOrFail('dpkg-deb', ['-x', file, folder], { cwd: scratch });
  });
}

/** Library packages that a package depends on, directly or indirectly. */
export function librariesOf(name) {
  const kinds = ['recommends', 'suggests', 'conflicts', 'breaks', 'replaces', 'enhances'];
  const args = ['depends', '--recurse', ...kinds.map((kind) => `--no-${kind}`), name];
  const found = outputOf('apt-cache', args, { env: aptEnvironment() }) ?? '';
  return found.split('\n').filter((line) => /^lib[a-z0-9.+-]+$/.test(line) && !/-perl|^libpam|^libdebconf/.test(line));
}

/** The Debian mirror of this machine. */
export function mirror() {
  const found = findMirror();
  if (!found) throw new Failure('No Debian mirror is configured.');
  return found;
}

function findMirror() {
  const addresses = outputOf('apt-get', ['indextargets', '--format', '$(REPO_URI)', 'Created-By: Packages']);
  return addresses?.split('\n').find((address) => /\/debian\/?$/.test(address));
}

export function runOrFail(command, args, options) {
  const { ok, output } = step(command, args, options);
  if (!ok) throw new Failure(`${command} ${args[0]} failed.\n${output}`);
}

export function withScratchFolder(work) {
  fs.mkdirSync(cache, { recursive: true });
  const folder = fs.mkdtempSync(path.join(cache, 'unpacking-'));
  fs.chmodSync(folder, 0o755); // it may become the root of an image
  try {
    return work(folder);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}
