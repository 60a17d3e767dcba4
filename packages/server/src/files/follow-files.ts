import { isDeepStrictEqual } from 'node:util';
import { asError, CleanupStack, type Clock, sleep } from '@cluster-apiserver/base';
import type { Log } from '@cluster-apiserver/telemetry';
import type { DescribedFile, FileRecords } from './file-records.ts';

/** Files that belong together: what is read of them, and how it is used. */
export interface FileSource<Content, Value> {
  /** For the log, such as `serving certificate`. */
  readonly name: string;
  readonly files: readonly DescribedFile[];
  /** Reads everything that the value is built from. */
  readonly read: () => Promise<Content>;
  /** What has been read already, instead of the first reading. */
  readonly first?: Content | undefined;
  /** The bytes of each of `files`, whose hashes `/configz` shows. */
  readonly bytesOf: (content: Content) => readonly (Buffer | string)[];
  /** Throws for invalid content. What it opens and defers is closed if it throws, and when the value is retired. */
  readonly build: (content: Content, cleanup: CleanupStack) => Value | Promise<Value>;
  /** Throws if a new value must not replace the working one. Not called for the first one. */
  readonly accept?: ((next: Value) => void) | undefined;
  /** Closes the cleanup of a replaced value, which running requests may still use. Without it, that is done at once. */
  readonly retire?: ((old: Value, cleanup: CleanupStack) => void) | undefined;
  readonly measures?: FileMeasures | undefined;
  /** Whether changes are followed; true by default. */
  readonly reloads?: boolean | undefined;
}

/** Metrics of a source, besides those of every file. */
export interface FileMeasures {
  /** The bytes of each file. */
  readonly applied: (bytes: readonly (Buffer | string)[]) => void;
  readonly reloaded: (status: 'success' | 'failure') => void;
}

export interface FileObservers {
  readonly environment: { readonly clock: Clock };
  readonly records: FileRecords;
  readonly log: Log;
}

/** What was built of the files. */
export interface Followed<Value> {
  readonly current: () => Value;
  /** Reads the files at once. */
  readonly reload: () => Promise<void>;
  readonly onChange: (listener: () => void) => void;
  /** Closes all values, also those in use. */
  readonly close: () => Promise<void>;
}

/** Short, because operators wait for a change to take effect. The files are small. */
const pollMs = 1_000;

/**
 * Builds a value of files, and builds the next one when they change. The first content must be valid. A later one is built
 * completely before it replaces the present value; while it is invalid, that one stays in use. Contents are compared,
 * because file notifications differ between an edit in place, a rename and a swapped symbolic link, and are lost on network
 * file systems.
 */
export async function followFiles<Content, Value>(
  source: FileSource<Content, Value>,
  { environment: { clock }, records, log: all }: FileObservers,
): Promise<Followed<Value>> {
  const { files, read, bytesOf, build, accept, measures, reloads = true } = source;
  const { retire = (_, cleanup) => void cleanup.close() } = source;
  const log = all.withName('configuration');
  const distinct = (words: readonly string[]): string => [...new Set(words)].join(',');
  const configuration = source.name;
  const flag = distinct(files.map((one) => one.flag));
  const file = distinct(files.map(({ path }) => path));
  const stopped = new AbortController();
  const open = new Set<CleanupStack>();
  const listeners: (() => void)[] = [];

  const openNext = async (content: Content, isAccepted?: (next: Value) => void) => {
    const cleanup = new CleanupStack();
    try {
      const value = await build(content, cleanup);
      isAccepted?.(value);
      stopped.signal.throwIfAborted();
      open.add(cleanup);
      cleanup.defer('the list of what is open', () => void open.delete(cleanup));
      return { content, value, cleanup };
    } catch (error) {
      await cleanup.close();
      throw error;
    }
  };
  let current = await openNext(source.first ?? (await read()));
  const own = files.map((one) => records.add(one));
  const noteContent = (): void => {
    const bytes = bytesOf(current.content);
    own.forEach((record, index) => record.applied(bytes[index] ?? ''));
    measures?.applied(bytes);
  };
  noteContent();

  const replace = async (content: Content): Promise<void> => {
    const old = current;
    current = await openNext(content, accept);
    noteContent();
    measures?.reloaded('success');
    log.info('configuration reloaded', { configuration, flag, file });
    retire(old.value, old.cleanup);
    for (const listener of listeners) listener();
  };
  let reported = '';
  const check = async (): Promise<void> => {
    try {
      const content = await read();
      if (stopped.signal.aborted) return;
      // After an error the same content is applied once more, so that reports of the error end.
      if (reported !== '' || !isDeepStrictEqual(content, current.content)) await replace(content);
      reported = '';
    } catch (error) {
      const text = String(error);
      // It is reported once, and not with every poll until it is fixed.
      if (stopped.signal.aborted || text === reported) return;
      for (const record of own) record.failed(error);
      measures?.reloaded('failure');
      log.error(
        // Meaning: A file changed and is invalid. The server works with its content before, and a restart would fail.
        'cannot reload the configuration; keeping the previous one',
        'correct the file; `cluster-apiserver config check` tests it: docs/configuration.md',
        {
          configuration,
          flag,
          file,
          error: asError(error),
        },
      );
      reported = text;
    }
  };
  let last = Promise.resolve();
  // One after the other, so that an older content never replaces a newer one. A failed report is repeated by the next poll.
  const reload = (): Promise<void> => (last = last.then(check).catch(() => {}));
  const poll = async (): Promise<never> => {
    for (;;) {
      await sleep(clock, pollMs, stopped.signal);
      await reload();
    }
  };
  if (reloads) poll().catch(() => {}); // only `close` ends it, by the signal of the sleep
  return {
    current: () => current.value,
    reload,
    onChange: (listener) => void listeners.push(listener),
    close: async () => {
      stopped.abort();
      for (const record of own) record.remove();
      for (const cleanup of open) await cleanup.close();
    },
  };
}
