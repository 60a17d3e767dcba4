import { requireValue, type Span } from '@cluster-apiserver/base';
import { KeyUnavailableError } from '../errors.ts';
import type { Pieces } from '../pieces.ts';
import { identity, StillEncryptedError, type Transformed, type Transformer } from './transformer.ts';

/** A provider of the encryption configuration. The prefix of a value names its provider. */
export interface Provider {
  /** Such as `k8s:enc:aesgcm:v1:key1:`; empty for unencrypted values. */
  readonly prefix: string;
  readonly transformer: Transformer;
}

/** The provider of unencrypted values. Its prefix is empty, so it matches every value, but it refuses encrypted ones. */
export const identityProvider: Provider = { prefix: '', transformer: identity };

/**
 * The first provider writes, and every provider whose prefix matches may read. A key is rotated by adding the new one last,
 * moving it to the front, and removing the old one when no value needs it. Values that the first provider has not written
 * are stale.
 */
export function prefixTransformer([first, ...others]: readonly [Provider, ...Provider[]]): Transformer {
  const writer = withPrefixBytes(first);
  const transformers = [writer, ...others.map(withPrefixBytes)];
  const withPrefix = (pieces: Pieces): Pieces => (writer.prefix.length === 0 ? pieces : [writer.prefix, ...pieces]);
  return {
    toStorage: (value, key, trace) => {
      const pieces = writer.transformer.toStorage(value, key, trace);
      return pieces instanceof Promise ? pieces.then(withPrefix) : withPrefix(pieces);
    },
    fromStorage: (value, key, trace) => readWithFirstMatch(transformers, 0, value, key, trace, []),
  };
}

interface PrefixedTransformer {
  readonly prefix: Buffer;
  readonly transformer: Transformer;
}

const withPrefixBytes = ({ prefix, transformer }: Provider): PrefixedTransformer => ({
  prefix: Buffer.from(prefix),
  transformer,
});

/** Tries the transformers from `first` on whose prefix matches, until one can read the value. */
function readWithFirstMatch(
  transformers: readonly PrefixedTransformer[],
  first: number,
  value: Buffer,
  key: string,
  trace: Span | undefined,
  earlierErrors: readonly unknown[],
): Transformed | Promise<Transformed> {
  const errors = [...earlierErrors];
  for (let at = first; at < transformers.length; at++) {
    const { prefix, transformer } = requireValue(transformers[at]);
    if (!value.subarray(0, prefix.length).equals(prefix)) continue;
    const result = (read: Transformed): Transformed => ({ value: read.value, stale: read.stale || at > 0 });
    try {
      const transformed = transformer.fromStorage(value.subarray(prefix.length), key, trace);
      if (!(transformed instanceof Promise)) return result(transformed);
      return transformed.then(result, (error: unknown) =>
        readWithFirstMatch(transformers, at + 1, value, key, trace, [...errors, error]),
      );
    } catch (error) {
      errors.push(error);
    }
  }
  throw unreadableError(value, errors);
}

/** How much of a value is searched for its prefix, which is not secret. */
const prefixBytesMax = 256;

/** The prefix of an encrypted value, which names its provider, such as `k8s:enc:kms:v2:name:`. */
export const prefixOf = (value: Buffer): string | undefined =>
  /^k8s:enc:[a-z]+:v[0-9]+:[^:]+:/.exec(value.toString('latin1', 0, prefixBytesMax))?.[0];

function unreadableError(value: Buffer, errors: readonly unknown[]): Error {
  // The key may become available, so the caller may retry later.
  const unavailable = errors.find((error) => error instanceof KeyUnavailableError);
  if (unavailable) return unavailable;
  const prefix = prefixOf(value);
  const begins = prefix ? `begins with ${JSON.stringify(prefix)}` : 'has no prefix that is known';
  // The identity provider refuses every encrypted value, so only other errors matter.
  const relevant = errors.filter((error) => !(error instanceof StillEncryptedError));
  const problem = relevant.length === 0 ? 'no configured provider has this prefix' : 'its provider cannot decrypt it';
  const cause = relevant.length > 1 ? new AggregateError(relevant, 'several keys were tried') : relevant[0];
  return new Error(`the value ${begins}: ${problem}`, cause === undefined ? {} : { cause });
}
