import fs from 'node:fs';
import { readIfExists, replaceFile } from './files.ts';
import type { Home } from './home.ts';

/** Who runs where, for people and for programs that want to disturb somebody. Whoever waits for the file finds it complete. */
export interface Pids {
  readonly replicas: readonly Running[];
  readonly etcd: readonly Running[];
  readonly front: Running;
}

/** The same from the first process on, for the next start, should this one be killed. */
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

/** The file is ours alone, so what it holds has the form that we wrote. */
export function readChildren(home: Home): Children | undefined {
  const text = readIfExists(home.children);
  return text === undefined ? undefined : (JSON.parse(text) as Children);
}

export function forgetChildren(home: Home): void {
  fs.rmSync(home.pids, { force: true });
  fs.rmSync(home.children, { force: true });
}
