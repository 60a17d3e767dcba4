import { expect, test } from '@jest/globals';
import { StatusError } from '@cluster-apiserver/model';
import { revision } from '@cluster-apiserver/storage';
import { type Continuation, decodeContinue, encodeContinue } from './continue-token.ts';

test.each<Continuation>([
  { after: 'n/a', revision: revision(7) },
  { after: 'a', revision: undefined },
])('a token leads to where its list ended: %j', (continuation) => {
  expect(decodeContinue(encodeContinue(continuation))).toEqual(continuation);
});

const token = (text: string): string => Buffer.from(text).toString('base64url');
const nested = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;

test.each([
  ['nothing', ''],
  ['no JSON', token('{')],
  ['null', token('null')],
  ['a list', token('[]')],
  ['a list of what a token has', token('["meta.k8s.io/v1",1,"a"]')],
  ['another version', token('{"v":"v2","rv":1,"start":"a"}')],
  ['a version that is nested deeply', token(`{"v":${nested},"rv":1,"start":"a"}`)],
  ['a revision that is no number', token('{"v":"meta.k8s.io/v1","rv":"1","start":"a"}')],
  ['a revision of 0', token('{"v":"meta.k8s.io/v1","rv":0,"start":"a"}')],
  ['a revision that is too large', token('{"v":"meta.k8s.io/v1","rv":1e300,"start":"a"}')],
  ['a place that is no text', token(`{"v":"meta.k8s.io/v1","rv":1,"start":${nested}}`)],
  ['a place outside of the list', token('{"v":"meta.k8s.io/v1","rv":1,"start":"../b"}')],
])('a token that holds %s is a bad request', (_, text) => {
  let thrown: unknown;
  try {
    decodeContinue(text);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(StatusError);
  expect(thrown).toMatchObject({ reason: 'BadRequest' });
  expect((thrown as StatusError).message.length).toBeLessThan(200);
});
