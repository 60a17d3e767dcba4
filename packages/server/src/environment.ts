import type { LogFiles } from '@cluster-apiserver/audit';
import type { Clock, Random } from '@cluster-apiserver/base';
import type { listen } from '@cluster-apiserver/pipeline';
import type { http2Connect, kmsV1Service, kmsV2Service } from '@cluster-apiserver/storage';

/** What the server needs of the machine. The entry hands in the real things, a test or a simulation others. */
export interface Environment {
  readonly clock: Clock;
  readonly random: Random;
  readonly files: Files;
  /** Where the audit log is written. */
  readonly auditFiles: LogFiles;
  /** How etcd is reached. */
  readonly connectEtcd: typeof http2Connect;
  /** How plugins that keep keys are reached. */
  readonly connectKms: KmsConnections;
  /** How clients reach us. */
  readonly listen: typeof listen;
  /** What we run on. */
  readonly runtime: Runtime;
  /** What V8's heap holds, garbage included, and at what size it ends the process. */
  readonly heap: () => Heap;
  /** Where log lines go. Returns at once; answers false for a line that it had to drop. */
  readonly write: (line: string) => unknown;
}

export interface KmsConnections {
  readonly v1: typeof kmsV1Service;
  readonly v2: typeof kmsV2Service;
}

export interface Runtime {
  /** Of Node, such as `v24.1.0`. */
  readonly version: string;
  /** As Node calls them: `linux`, `x64`. */
  readonly platform: string;
  readonly arch: string;
}

export interface Heap {
  readonly usedBytes: number;
  readonly limitBytes: number;
}

export interface Files {
  read(path: string): Promise<Buffer>;
  /** The names of the files in a directory, without those of directories in it. */
  list(directory: string): Promise<readonly string[]>;
  /** Makes the folders above it; only the owner may read it. */
  write(path: string, content: string): Promise<void>;
}
