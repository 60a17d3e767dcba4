import { expect, test } from '@jest/globals';
import { systemClock } from '@cluster-apiserver/base';
import { encodeMessage, writeBytes, writeInt64, writeNested } from '../protobuf/fields.ts';
import { History } from './history.ts';
import type { Member, Members } from './members.ts';
import { EtcdFault } from './transport.ts';
import { type UnusedMember, Verification } from './verification.ts';
import type { KeyValue } from './wire/key-value.ts';
import type { ClusterId } from './wire/rpc.ts';
import { memberStatus } from './wire/status.ts';

const responseAt = (revision: number, clusterId: ClusterId = 1): Buffer =>
  Buffer.from(
    encodeMessage((to) =>
      writeNested(to, 1, (header) => {
        writeInt64(header, 1, clusterId);
        writeInt64(header, 3, revision);
      }),
    ),
  );

const anchor = { key: '/a', value: Buffer.from('x'), modRevision: 8 } as KeyValue;

type Response = () => Promise<Buffer>;

/** A member with these responses to reads, and a history with a known value. */
function memberWith(
  responses: readonly Response[],
  statuses: Response[] = [async () => responseAt(9)],
): {
  readonly member: Member;
  readonly history: History;
  readonly unused: UnusedMember[];
  verify(): Promise<void>;
} {
  const left = [...responses];
  const unused: UnusedMember[] = [];
  const member = {
    endpoint: 'http://one',
    verifiedConnection: 0,
    transport: {
      connectionNumber: 1,
      unary: (path: string) => (path === memberStatus.path ? statuses.shift()?.() : left.shift()?.()),
    },
  } as unknown as Member;
  const history = new History();
  history.clusterId = 1 satisfies ClusterId;
  history.noteRevision(8, history.number);
  history.noteValue(anchor, history.number);
  const verification = new Verification({
    clock: systemClock,
    electionTimeoutMs: 1_000,
    members: { all: [member] } as unknown as Members,
    history,
    latestRevisionRequest: { key: '/' },
    report: (event) => unused.push(event),
    onVerified: () => {},
  });
  return { member, history, unused, verify: () => verification.verify(member, 1_000) };
}

/** A member whose first responses are these faults, and whose next one is of a later revision than the known one. */
async function verifyAfter(...faults: readonly EtcdFault[]): Promise<readonly string[]> {
  const { history, verify } = memberWith([
    ...faults.map((fault) => () => Promise.reject(fault)),
    async () => responseAt(9),
  ]);
  const reasons: string[] = [];
  history.onReplaced(({ reason }) => reasons.push(reason));
  await verify();
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

test('what other members show during a check is compacted only if it is, too', async () => {
  const slow = Promise.withResolvers<Buffer>();
  const { history, verify } = memberWith([
    () => Promise.reject(compacted),
    () => slow.promise,
    async () => responseAt(20),
    async () => responseAt(20),
  ]);
  const verified = verify();
  await new Promise(setImmediate);
  history.noteRevision(20, history.number);
  slow.reject(compacted);
  await verified;
  expect([history.number, history.revision]).toEqual([0, 20]);
});

test('the revision of another cluster is not noted if the history was replaced meanwhile', async () => {
  const votes = Promise.withResolvers<Buffer>();
  const { member, history, verify } = memberWith(
    [async () => responseAt(1_000, 2)],
    [async () => responseAt(1_000, 2), () => votes.promise],
  );
  const verified = verify();
  await new Promise(setImmediate);
  history.replace('content', { clusterId: 1, revision: 5 });
  votes.resolve(responseAt(1_000, 2));
  await verified;
  expect([history.number, history.revision]).toEqual([1, 5]);
  expect(member.verifiedConnection).toBe(0);
});

test('a member with a version that is too old is not used, and reported once', async () => {
  const versioned = (version: string): Response => {
    const status = Buffer.concat([responseAt(9), encodeMessage((to) => writeBytes(to, 2, version))]);
    return async () => status;
  };
  const response = async (): Promise<Buffer> => responseAt(9);
  const { member, unused, verify } = memberWith(
    [response, response, response],
    [versioned('3.5.7'), versioned('3.5.7'), versioned('3.5.8')],
  );
  for (let times = 0; times < 2; times++)
    await expect(verify()).rejects.toThrow('http://one runs etcd 3.5.7, which is older than 3.5.8');
  expect(unused).toEqual([{ type: 'old member', endpoint: 'http://one', version: '3.5.7' }]);
  expect(member.verifiedConnection).toBe(0);
  await verify();
  expect(member.verifiedConnection).toBe(1);
});
