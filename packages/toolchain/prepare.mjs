import path from 'node:path';
import { installDependencies } from './install.mjs';
import { provisionNode } from './node.mjs';

/** Makes a fresh clone ready to run. Gives the Node to run it with, and the environment in which that one comes first. */
export function prepare() {
  const node = provisionNode();
  installDependencies();
  return { node, env: { ...process.env, PATH: `${path.dirname(node)}${path.delimiter}${process.env.PATH}` } };
}
