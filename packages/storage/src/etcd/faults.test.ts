import { expect, test } from '@jest/globals';
import { classifyFault } from './faults.ts';
import { MessageTooLargeError } from './grpc-frames.ts';
import { EtcdFault, type FaultKind } from './transport.ts';

const retry = (maybeApplied: boolean): string => `retry, maybe applied: ${maybeApplied}`;

test.each<[FaultKind, number, string, string]>([
  ['unsent', 14, 'connection refused', retry(false)],
  ['lost', 14, 'no answer', retry(true)],
  ['refused', 14, 'etcdserver: no leader', retry(false)],
  ['refused', 14, 'etcdserver: leader changed', retry(true)],
  ['refused', 14, 'etcdserver: request timed out', retry(true)],
  ['refused', 14, 'etcdserver: request timed out, possibly due to connection lost', retry(true)],
  ['refused', 14, 'etcdserver: server stopped', retry(true)],
  ['refused', 8, 'etcdserver: too many requests', retry(false)],
  ['refused', 2, 'raft proposal dropped', retry(false)],
  ['refused', 4, 'context deadline exceeded', retry(true)],
  ['refused', 1, 'context canceled', retry(true)],
  ['refused', 13, 'stream error', retry(true)],
  ['refused', 8, 'etcdserver: mvcc: database space exceeded', 'StorageFullError'],
  ['refused', 3, 'etcdserver: request is too large', 'ValueTooLargeError'],
  ['refused', 8, 'grpc: received message larger than max (2097157 vs. 2097152)', 'ValueTooLargeError'],
  ['refused', 11, 'etcdserver: mvcc: required revision has been compacted', 'EtcdFault'],
  ['refused', 11, 'etcdserver: mvcc: required revision is a future revision', 'EtcdFault'],
  ['refused', 5, 'etcdserver: requested lease not found', 'EtcdFault'],
  ['refused', 16, 'etcdserver: invalid auth token', 'StorageAccessDeniedError'],
  ['refused', 7, 'etcdserver: permission denied', 'StorageAccessDeniedError'],
  ['refused', 3, 'etcdserver: user name is empty', 'StorageAccessDeniedError'],
  ['refused', 9, 'etcdserver: user name not found', 'StorageAccessDeniedError'],
  ['refused', 3, 'etcdserver: invalid range', 'EtcdFault'],
])('%s %i %j is classified as %s', (kind, code, text, expected) => {
  const faultClass = classifyFault(new EtcdFault(kind, code, text));
  expect(faultClass.kind === 'retry' ? retry(faultClass.maybeApplied) : faultClass.error.name).toBe(expected);
});

test('a response above the limit is final: another attempt would receive the same', () => {
  const cause = new MessageTooLargeError(5, 4);
  expect(classifyFault(new EtcdFault('lost', 2, 'invalid response', { cause }))).toEqual({
    kind: 'final',
    error: cause,
  });
});
