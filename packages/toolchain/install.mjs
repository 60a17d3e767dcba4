import fs from 'node:fs';
import path from 'node:path';
import { step } from './child.mjs';
import { Failure, root } from './project.mjs';

/** Installs the dependencies of the lock file unless exactly those are installed. */
export function installDependencies() {
  if (upToDate()) return;
  console.log('Installing dependencies, which may take two minutes …');
  const { ok, output } = step('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error']);
  if (!ok) throw new Failure(`The dependencies could not be installed.\n${output}`);
}

/** npm records what it installed in the format of the lock file; compare the two. */
function upToDate() {
  const installed = packagesIn(path.join('node_modules', '.package-lock.json'));
  if (!installed) return false;
  // Only packages of others: those of the project have no version.
  const wanted = Object.entries(packagesIn('package-lock.json')).filter(([place]) => place.startsWith('node_modules/'));
  return wanted.every(([place, { version, optional }]) =>
    // An optional package for another platform is absent from the record.
    installed[place] ? installed[place].version === version : optional === true,
  );
}

function packagesIn(file) {
  try {
    return JSON.parse(fs.readFileSync(path.join(root, file), 'utf8')).packages;
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}
