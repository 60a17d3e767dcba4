import { expect, test } from '@jest/globals';
import { systemClock } from '@cluster-apiserver/base';
import { encodeMessage, writeInt64, writeNested } from '../protobuf/fields.ts';
import { History } from './history.ts';
import type { Member, Members } from './members.ts';
import { EtcdFault } from './transport.ts';
import { Verification } from './verification.ts';
import type { KeyValue } from './wire/key-value.ts';
import type { ClusterId } from './wire/rpc.ts';

const responseAt = (revision: number): Buffer =>
  Buffer.from(
    encodeMessage((to) =>
      writeNested(to, 1, (header) => {
        writeInt64(header, 1, 1);
        writeInt64(header, 3, revision);
      }),
    ),
  );

const anchor = { key: '/a', value: Buffer.from('x'), modRevision: 8 } as KeyValue;

/** A member whose first responses are these faults, and whose next one is of a later revision than the known one. */
async function verifyAfter(...faults: readonly EtcdFault[]): Promise<readonly string[]> {
  const answers = [...faults.map((fault) => () => Promise.reject(fault)), () => Promise.resolve(responseAt(9))];
  const member = {
    endpoint: 'http://one',
    verifiedConnection: 0,
    transport: { connectionNumber: 1, unary: () => answers.shift()?.() },
  } as unknown as Member;
  const history = new History();
  history.clusterId = 1 satisfies ClusterId;
  history.noteRevision(8, history.number);
  history.noteValue(anchor, history.number);
  const reasons: string[] = [];
  history.onReplaced(({ reason }) => reasons.push(reason));
  const verification = new Verification({
    clock: systemClock,
    electionTimeoutMs: 1_000,
    members: { all: [member] } as unknown as Members,
    history,
    latestRevisionRequest: { key: '/' },
    onForeignMember: () => {},
    onVerified: () => {},
  });
  await verification.verify(member, 1_000);
  return reasons;
}

const future = new EtcdFault('refused', 11, 'etcdserver: mvcc: required revision is a future revision');
const compacted = new EtcdFault('refused', 11, 'etcdserver: mvcc: required revision has been compacted');

test('a known revision in the future means another history, although others have written since', async () => {
  expect(await verifyAfter(future)).toEqual(['content']);
});

test('a compacted value proves nothing while the latest known revision is kept', async () => {
  expect(await verifyAfter(compacted)).toEqual([]);
  expect(await verifyAfter(compacted, future)).toEqual(['content']);
});

test('everything that is known is void if the latest known revision is compacted', async () => {
  expect(await verifyAfter(compacted, compacted)).toEqual(['compacted']);
});
