import fs from 'node:fs';
import { errorCode } from '@cluster-apiserver/base';
import { readIfExists } from './files.ts';
import { commandLine } from './processes.ts';

export class AlreadyRunningError extends Error {
  override readonly name = 'AlreadyRunningError';
  readonly pid: number;
  constructor(pid: number) {
    super(`a cluster is running here already, started by process ${pid} (kill ${pid} stops it)`);
    this.pid = pid;
  }
}

/** Part of a launcher's command line, to detect reused process ids: its own program, or the command of users. */
const launcherMark = /devcluster| start( |$)/;

/** Makes this process the only launcher of the directory, until the returned function is called. */
export function lock(file: string, pid: number): () => void {
  for (;;) {
    try {
      fs.writeFileSync(file, `${pid}\n`, { flag: 'wx' }); // fails when it is there: two starts at once cannot both win
      return () => fs.rmSync(file, { force: true });
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error;
    }
    const holder = Number(readIfExists(file));
    if (holder !== pid && launcherMark.test(commandLine(holder) ?? '')) throw new AlreadyRunningError(holder);
    fs.rmSync(file, { force: true });
  }
}
