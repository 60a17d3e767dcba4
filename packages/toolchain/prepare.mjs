import path from 'node:path';
import { installDependencies } from './install.mjs';
import { provisionNode } from './node.mjs';

/** Prepares a fresh clone. Returns the Node to use and an environment whose PATH starts with it. */
export function prepare() {
  const node = provisionNode();
  installDependencies();
  return { node, env: { ...process.env, PATH: `${path.dirname(node)}${path.delimiter}${process.env.PATH}` } };
}
