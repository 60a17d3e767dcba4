import type { Pieces } from '../pieces.ts';
import type { Transformed, Transformer } from './transformer.ts';

/** A transformer that can be replaced while operations on it are running. */
export interface RetirableTransformer {
  readonly transformer: Transformer;
  /** No new operations start. The transformer is closed after the running ones have ended. */
  retire(): void;
}

export function makeRetirable({ toStorage, fromStorage }: Transformer, close: () => void): RetirableTransformer {
  let running = 0;
  let retired = false;
  const ended = (): void => {
    running--;
    if (retired && running === 0) close();
  };
  const track = <T extends Pieces | Transformed>(done: T | Promise<T>): T | Promise<T> => {
    if (!(done instanceof Promise)) return done;
    running++;
    return done.finally(ended);
  };
  return {
    transformer: {
      toStorage: (value, key, trace) => track(toStorage(value, key, trace)),
      fromStorage: (value, key, trace) => track(fromStorage(value, key, trace)),
    },
    retire: () => {
      if (retired) return;
      retired = true;
      if (running === 0) close();
    },
  };
}

/**
 * The transformer at the moment of each operation. A value that a transformer refused after it had been replaced is read
 * with the present one.
 */
export function followTransformer(current: () => Transformer): Transformer {
  const fromStorage: Transformer['fromStorage'] = (...args) => {
    const used = current();
    const read = used.fromStorage(...args);
    if (!(read instanceof Promise)) return read;
    return read.catch((error: unknown) => {
      if (current() === used) throw error;
      return fromStorage(...args);
    });
  };
  return { toStorage: (...args) => current().toStorage(...args), fromStorage };
}
