import fs from 'node:fs';
import path from 'node:path';
import { step } from './child.mjs';
import { Failure } from './project.mjs';

/**
 * Puts the files of a revision of this repository into a folder.
 * @param {string} revision
 * @param {string} folder
 * @param {readonly string[]} [parts] all by default
 */
export function unpackRevision(revision, folder, parts = []) {
  const archive = path.join(folder, 'sources.tar');
  const required = (command, args) => {
    const { ok, output } = step(command, args);
    if (!ok) throw new Failure(`The sources of ${revision} are not at hand.\n${output}`);
  };
  required('git', ['archive', '--output', archive, revision, ...parts]);
  required('tar', ['-xf', archive, '-C', folder]);
  fs.rmSync(archive);
}
