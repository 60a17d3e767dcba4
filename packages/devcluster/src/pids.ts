import fs from 'node:fs';
import { readIfExists, replaceFile } from './files.ts';
import type { Home } from './home.ts';

/** The running processes, for users and fault tests. Written when the cluster is ready. */
export interface Pids {
  readonly replicas: readonly Running[];
  readonly etcd: readonly Running[];
  readonly front: Running;
}

/** The processes started so far, so that the next start can end the leftovers of a killed one. */
export interface Children {
  readonly replicas: readonly Running[];
  readonly etcd: readonly Running[];
  readonly front: readonly Running[];
}

export interface Running {
  readonly pid: number;
  readonly url: string;
}

export const writePids = (home: Home, pids: Pids): void => replaceFile(home.pids, JSON.stringify(pids));

export const writeChildren = (home: Home, children: Children): void =>
  replaceFile(home.children, JSON.stringify(children));

export function readChildren(home: Home): Children | undefined {
  const text = readIfExists(home.children);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only writeChildren writes the file, so its structure is known
  return text === undefined ? undefined : (JSON.parse(text) as Children);
}

export function forgetChildren(home: Home): void {
  fs.rmSync(home.pids, { force: true });
  fs.rmSync(home.children, { force: true });
}
