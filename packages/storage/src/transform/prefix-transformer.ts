import { KeyUnavailableError } from '../errors.ts';
import type { Pieces } from '../pieces.ts';
import { identity, StillEncryptedError, type Transformed, type Transformer } from './transformer.ts';

/** One way to store values, told apart from others by what they begin with. */
export interface Provider {
  /** Such as `k8s:enc:aesgcm:v1:key1:`; empty for values that are stored as they are. */
  readonly prefix: string;
  readonly transformer: Transformer;
}

/** The way without a prefix: every value has the empty one, and encrypted values are not its own. */
export const identityProvider: Provider = { prefix: '', transformer: identity };

/**
 * Several ways to store, in order: the first writes, and all whose prefix a value has may try to read it. Keys are
 * rotated this way: a new one is added behind, then put in front, and the old one removed when nothing needs it any
 * more. Whatever the first one would not have written is stale.
 */
export function prefixTransformer(providers: readonly [Provider, ...Provider[]]): Transformer {
  const ways = providers.map(({ prefix, transformer }) => ({ prefix: Buffer.from(prefix), transformer }));
  const writer = ways[0] as (typeof ways)[number]; // there is one for each provider
  const withPrefix = (pieces: Pieces): Pieces => (writer.prefix.length === 0 ? pieces : [writer.prefix, ...pieces]);
  return {
    toStorage: (value, key, trace) => {
      const pieces = writer.transformer.toStorage(value, key, trace);
      return pieces instanceof Promise ? pieces.then(withPrefix) : withPrefix(pieces);
    },
    fromStorage: (value, key, trace) => {
      const from = (first: number, faults: readonly unknown[]): Transformed | Promise<Transformed> => {
        const told = [...faults];
        for (let at = first; at < ways.length; at++) {
          const { prefix, transformer } = ways[at] as (typeof ways)[number]; // within the bounds
          if (!value.subarray(0, prefix.length).equals(prefix)) continue;
          const read = ({ value: found, stale }: Transformed): Transformed => ({
            value: found,
            stale: stale || at > 0,
          });
          try {
            const transformed = transformer.fromStorage(value.subarray(prefix.length), key, trace);
            if (!(transformed instanceof Promise)) return read(transformed);
            return transformed.then(read, (fault: unknown) => from(at + 1, [...told, fault]));
          } catch (fault) {
            told.push(fault);
          }
        }
        throw unreadableError(value, told);
      };
      return from(0, []);
    },
  };
}

/** What begins a value, up to its key's name: long enough for any, and nothing secret. */
const shownBytesMax = 256;

function unreadableError(value: Buffer, faults: readonly unknown[]): Error {
  // Whoever tries again later may find that the key for it is back.
  const unavailable = faults.find((fault) => fault instanceof KeyUnavailableError);
  if (unavailable) return unavailable;
  const prefix = /^k8s:enc:[a-z]+:v[0-9]+:[^:]+:/.exec(value.toString('latin1', 0, shownBytesMax))?.[0];
  const begins = prefix ? `begins with ${JSON.stringify(prefix)}` : 'has no prefix that is known';
  // Plain ways refuse every encrypted value: only what else went wrong is worth telling.
  const telling = faults.filter((fault) => !(fault instanceof StillEncryptedError));
  const problem = telling.length === 0 ? 'no configured provider has this prefix' : 'its provider cannot decrypt it';
  const cause = telling.length > 1 ? new AggregateError(telling, 'several keys were tried') : telling[0];
  return new Error(`the value ${begins}: ${problem}`, cause === undefined ? {} : { cause });
}
