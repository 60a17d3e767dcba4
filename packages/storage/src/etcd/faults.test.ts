import { expect, test } from '@jest/globals';
import { classifyFault } from './faults.ts';
import { EtcdFault, type FaultKind } from './transport.ts';

const retry = (applied: 'no' | 'perhaps'): string => `retry, applied: ${applied}`;

test.each<[FaultKind, number, string, string]>([
  ['unsent', 14, 'connection refused', retry('no')],
  ['lost', 14, 'no answer', retry('perhaps')],
  ['refused', 14, 'etcdserver: no leader', retry('no')],
  ['refused', 14, 'etcdserver: leader changed', retry('perhaps')],
  ['refused', 14, 'etcdserver: request timed out', retry('perhaps')],
  ['refused', 14, 'etcdserver: request timed out, possibly due to connection lost', retry('perhaps')],
  ['refused', 14, 'etcdserver: server stopped', retry('perhaps')],
  ['refused', 8, 'etcdserver: too many requests', retry('no')],
  ['refused', 2, 'raft proposal dropped', retry('no')],
  ['refused', 4, 'context deadline exceeded', retry('perhaps')],
  ['refused', 1, 'context canceled', retry('perhaps')],
  ['refused', 13, 'stream error', retry('perhaps')],
  ['refused', 8, 'etcdserver: mvcc: database space exceeded', 'StorageFullError'],
  ['refused', 3, 'etcdserver: request is too large', 'ValueTooLargeError'],
  ['refused', 8, 'grpc: received message larger than max (2097157 vs. 2097152)', 'ValueTooLargeError'],
  ['refused', 11, 'etcdserver: mvcc: required revision has been compacted', 'EtcdFault'],
  ['refused', 11, 'etcdserver: mvcc: required revision is a future revision', 'EtcdFault'],
  ['refused', 5, 'etcdserver: requested lease not found', 'EtcdFault'],
  ['refused', 16, 'etcdserver: invalid auth token', 'EtcdFault'],
])('%s %i %j means %s', (kind, code, text, expected) => {
  const meaning = classifyFault(new EtcdFault(kind, code, text));
  expect(meaning.kind === 'retry' ? retry(meaning.applied) : meaning.error.name).toBe(expected);
});
