/** The files of an audit log. The server hands in real ones. */
export interface LogFiles {
  /** Opens a file to append to, and makes it and its folders if they are absent. Only the owner may read it. */
  open(path: string): Promise<LogFile>;
  standardOutput(): LogFile;
  /** The names of the files of a folder. */
  list(directory: string): Promise<readonly string[]>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Writes what one file holds into another one, with gzip. */
  compress(from: string, to: string): Promise<void>;
}

export interface LogFile {
  /** When it was opened. */
  readonly sizeBytes: number;
  /** Writes some of the bytes, and gives how many. Rejects with the code EAGAIN if none can be written now. */
  write(bytes: Buffer): Promise<number>;
  /** Cuts off what is behind. */
  truncate(sizeBytes: number): Promise<void>;
  close(): Promise<void>;
}

/** A pipe is full: time for its reader to read. */
export const fullPauseMs = 20;
