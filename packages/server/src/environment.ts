import type { LogFiles } from '@cluster-apiserver/audit';
import type { Clock, Random } from '@cluster-apiserver/base';
import type { listen } from '@cluster-apiserver/pipeline';
import type { http2Connect, kmsV1Service, kmsV2Service } from '@cluster-apiserver/storage';

/** What the server needs from the system. program.ts passes the real implementations; tests and simulations pass doubles. */
export interface Environment {
  readonly clock: Clock;
  readonly random: Random;
  readonly files: Files;
  /** Files of the audit log. */
  readonly auditFiles: LogFiles;
  /** Opens connections to etcd. */
  readonly connectEtcd: typeof http2Connect;
  /** Opens connections to KMS plugins. */
  readonly connectKms: KmsConnections;
  /** Opens the port for clients. */
  readonly listen: typeof listen;
  /** Version of Node.js and platform. */
  readonly runtime: Runtime;
  readonly hostname: string;
  /** Used size of the V8 heap, including garbage, and the limit at which V8 ends the process. */
  readonly heap: () => Heap;
  /** Writes a log line without blocking. Returns false if the line was dropped. */
  readonly write: (line: string) => unknown;
}

export interface KmsConnections {
  readonly v1: typeof kmsV1Service;
  readonly v2: typeof kmsV2Service;
}

export interface Runtime {
  /** Version of Node.js, such as `v24.1.0`. */
  readonly version: string;
  /** In the terms of Node.js: `linux`, `x64`. */
  readonly platform: string;
  readonly arch: string;
  /** Undefined for sources that no build has stamped. */
  readonly build?: Build | undefined;
}

/** The sources and the time of a build. */
export interface Build {
  readonly commit: string;
  readonly treeState: string;
  readonly date: string;
}

export interface Heap {
  readonly usedBytes: number;
  readonly limitBytes: number;
}

export interface Files {
  readonly read: (path: string) => Promise<Buffer>;
  /** Names of the files in a directory, without subdirectories. */
  readonly list: (directory: string) => Promise<readonly string[]>;
  /** Permissions, as Unix counts them. */
  readonly mode: (path: string) => Promise<number>;
  /** Creates parent directories; only the owner may read the file. */
  readonly write: (path: string, content: string) => Promise<void>;
}
