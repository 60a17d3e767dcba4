import type { Clock, Random } from '@cluster-apiserver/base';

/** What the server needs of the machine. The entry hands in the real things, a test or a simulation others. */
export interface Surroundings {
  readonly clock: Clock;
  readonly random: Random;
  readonly files: Files;
  /** Where log lines go. */
  readonly write: (line: string) => void;
}

export interface Files {
  read(path: string): Promise<Buffer>;
  /** Makes the folders above it; only the owner may read it. */
  write(path: string, content: string): Promise<void>;
}
