import fs from 'node:fs';
import path from 'node:path';
import { outputOf, step } from './child.mjs';
import { cache } from './project.mjs';

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
  const mirrors = outputOf('apt-get', ['indextargets', '--format', '$(REPO_URI)', 'Created-By: Packages']);
  const mirror = mirrors?.split('\n').find((address) => /\/debian\/?$/.test(address));
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

export function inScratch(work) {
  fs.mkdirSync(cache, { recursive: true });
  const scratch = fs.mkdtempSync(path.join(cache, 'fetching-')); // beside the copy: a rename must not cross file systems
  try {
    return work(scratch);
  } finally {
    fs.rmSync(scratch, { recursive: true, force: true });
  }
}
