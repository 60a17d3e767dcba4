import { seededRandom } from '@cluster-apiserver/base';
import { jsonBody, patch, protobufBody, yamlBody } from './generators/bodies.ts';
import { http1Bytes, http2Bytes, http2Frames } from './generators/connections.ts';
import { identity, token } from './generators/credentials.ts';
import type { Generator } from './generators/generator.ts';
import { anyRequest, continueToken, mediaType, pathAndParameters, selector } from './generators/queries.ts';
import { webSocket } from './generators/web-sockets.ts';
import type { FuzzContext, Input } from './input.ts';

/**
 * The generators and their shares in a thousand. Inputs with their own connection cost ten times as much as those on a
 * shared one, so they are rarer.
 */
export const generators: Readonly<Record<string, { readonly generator: Generator; readonly perMille: number }>> = {
  'HTTP/1.1 bytes': { generator: http1Bytes, perMille: 40 },
  'HTTP/2 bytes': { generator: http2Bytes, perMille: 15 },
  'HTTP/2 frames': { generator: http2Frames, perMille: 40 },
  WebSocket: { generator: webSocket, perMille: 15 },
  requests: { generator: anyRequest, perMille: 160 },
  'JSON bodies': { generator: jsonBody, perMille: 170 },
  'YAML bodies': { generator: yamlBody, perMille: 100 },
  'protobuf bodies': { generator: protobufBody, perMille: 90 },
  patches: { generator: patch, perMille: 120 },
  selectors: { generator: selector, perMille: 80 },
  tokens: { generator: token, perMille: 60 },
  identities: { generator: identity, perMille: 20 },
  'continue tokens': { generator: continueToken, perMille: 40 },
  'paths and parameters': { generator: pathAndParameters, perMille: 30 },
  'media types': { generator: mediaType, perMille: 20 },
};

const names = Object.entries(generators).flatMap(([name, { perMille }]) => new Array<string>(perMille).fill(name));

export interface Generated {
  readonly kind: string;
  readonly input: Input;
}

/** An input depends only on the seed and its number, not on earlier inputs. */
export function inputAt(seed: number, number: number, context: FuzzContext): Generated {
  const random = seededRandom(seed * 1_000_003 + number);
  const kind = names[random.below(names.length)] as string; // the index is in range
  const { generator } = generators[kind] as { generator: Generator }; // the names are its keys
  return { kind, input: generator(random, context) };
}
