/** What every write brings along besides the object. */
export interface WriteOptions {
  readonly namespace: string;
  /** Everything happens but the writing. */
  readonly dryRun: boolean;
  /** Who writes, for the record of who owns which field. */
  readonly manager: string;
  /** Tells the client something although the write succeeds. */
  readonly warn: (text: string) => void;
}
