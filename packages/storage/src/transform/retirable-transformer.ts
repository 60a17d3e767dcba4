import type { Pieces } from '../pieces.ts';
import type { Transformed, Transformer } from './transformer.ts';

/** A transformer that will be replaced by another while values pass through it. */
export interface RetirableTransformer {
  readonly transformer: Transformer;
  /** Nobody begins with it any more. It is closed when what is under way has come to its end. */
  retire(): void;
}

export function makeRetirable({ toStorage, fromStorage }: Transformer, close: () => void): RetirableTransformer {
  let underWay = 0;
  let retired = false;
  const ended = (): void => {
    underWay--;
    if (retired && underWay === 0) close();
  };
  /** What is there at once needs nothing any more. */
  const followed = <T extends Pieces | Transformed>(done: T | Promise<T>): T | Promise<T> => {
    if (!(done instanceof Promise)) return done;
    underWay++;
    return done.finally(ended);
  };
  return {
    transformer: {
      toStorage: (value, key, trace) => followed(toStorage(value, key, trace)),
      fromStorage: (value, key, trace) => followed(fromStorage(value, key, trace)),
    },
    retire: () => {
      if (retired) return;
      retired = true;
      if (underWay === 0) close();
    },
  };
}
