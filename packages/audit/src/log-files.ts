/** File system operations of an audit log. */
export interface LogFiles {
  /** Opens a file for appending; creates it and its parent directories. Only the owner may read it. */
  open(path: string): Promise<LogFile>;
  standardOutput(): LogFile;
  /** Names of the files in a directory. */
  list(directory: string): Promise<readonly string[]>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Compresses a file with gzip. */
  compress(from: string, to: string): Promise<void>;
}

export interface LogFile {
  /** 0 for standard output. */
  size(): Promise<number>;
  /** Writes some of the bytes and returns how many. Rejects with EAGAIN if none can be written now. */
  write(bytes: Buffer): Promise<number>;
  /** Truncates the file to this size. */
  truncate(sizeBytes: number): Promise<void>;
  close(): Promise<void>;
}

/** Pause before the next write to a full pipe. */
export const fullPauseMs = 20;
