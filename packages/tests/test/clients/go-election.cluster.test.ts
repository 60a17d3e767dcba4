import { expect, test } from '@jest/globals';
import { repetitions } from '@cluster-apiserver/testkit/soak';
import { until } from '@cluster-apiserver/testkit/until';
import { describeIf } from '../describe-if.ts';
import { type Replicas, withThreeReplicas } from '../operations/replicas.ts';
import { type ClientProgram, goProgram, hasGo, noClients, startProgram } from './client-programs.ts';
import { countHandOvers, type Leadership, overlaps } from './leadership.ts';

const slowTestMs = 600_000;
/** Of the candidates (clientgo/elect.go). */
const leaseMs = 10_000;
/** From the end of a lease until another candidate has it: it tries every second or two, on a busy machine. */
const handOverMs = 20_000;
const rounds = repetitions({ ci: 1, soak: 4 });
const signals = ['SIGKILL', 'SIGTERM'] as const;
const lease = { namespace: 'election', name: 'leader' };

describeIf(hasGo, 'leader election of client-go', noClients, () => {
  test(
    'never has two leaders while leaders and replicas end, and a candidate takes over',
    () =>
      withThreeReplicas(async (replicas, cleanup) => {
        const candidates: Candidate[] = [];
        const enter = (): void => {
          const candidate = startCandidate(`candidate-${candidates.length}`, replicas);
          cleanup.defer('candidate', () => candidate.end('SIGKILL'));
          candidates.push(candidate);
        };
        const untilLed = (limitMs: number): Promise<Candidate> =>
          until('a leader', () => candidates.find((candidate) => candidate.leads()), limitMs);
        enter();
        enter();
        await untilLed(handOverMs);
        for (let round = 0; round < rounds; round++) {
          for (const signal of signals) {
            const leader = await untilLed(leaseMs + handOverMs);
            await leader.end(signal);
            enter();
            await untilLed(leaseMs + handOverMs);
          }
          for (const replica of replicas.all)
            for (const signal of signals) {
              await replica.end(signal);
              await untilRenewed(replicas);
              await replica.start();
            }
          await untilRenewed(replicas);
        }
        const { holderIdentity, leaseTransitions = 0 } = await readLease(replicas);
        for (const candidate of candidates) await candidate.end('SIGKILL');
        const leaderships = candidates.flatMap((candidate) => candidate.leaderships());
        expect(candidates.map(({ program }) => program.errors).filter((errors) => /panic|fatal/.test(errors))).toEqual(
          [],
        );
        expect(overlaps(leaderships)).toEqual([]);
        expect(leaderships.toSorted((one, other) => one.fromMs - other.fromMs).at(-1)?.candidate).toBe(holderIdentity);
        // A leader that gave up may lead again, which is a transition only if it had released the lease.
        expect(leaseTransitions).toBeGreaterThanOrEqual(countHandOvers(leaderships));
        expect(leaseTransitions).toBeLessThan(leaderships.length);
        expect(countHandOvers(leaderships)).toBeGreaterThanOrEqual(rounds * signals.length);
      }),
    slowTestMs,
  );
});

interface Candidate {
  readonly program: ClientProgram;
  leads(): boolean;
  leaderships(): readonly Leadership[];
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

function startCandidate(candidate: string, replicas: Replicas): Candidate {
  const program = startProgram(goProgram, ['elect', 'KUBECONFIG', lease.namespace, lease.name, candidate], {
    ...replicas,
    url: replicas.front,
  });
  let endedMs = Number.POSITIVE_INFINITY;
  const reports = (): readonly Report[] => program.lines.map((line) => JSON.parse(line) as Report);
  return {
    program,
    leads: () => !program.hasEnded && reports().at(-1)?.leads === true,
    leaderships: () =>
      reports().flatMap(({ leads, atMs }, index, all) =>
        leads ? [{ candidate, fromMs: atMs, toMs: all[index + 1]?.atMs ?? endedMs }] : [],
      ),
    end: async (signal) => {
      const isFirst = !program.hasEnded;
      await program.end(signal);
      if (isFirst) endedMs = machineMs();
    },
  };
}

interface Report {
  readonly leads: boolean;
  readonly atMs: number;
}

/** The monotonic clock of the machine, which its other processes have, too. */
const machineMs = (): number => Number(process.hrtime.bigint()) / 1e6;

interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseTransitions?: number;
  readonly renewTime?: string;
}

const leasePath = `/apis/coordination.k8s.io/v1/namespaces/${lease.namespace}/leases/${lease.name}`;

/** Through the first replica that answers. */
async function readLease({ all }: Replicas): Promise<LeaseSpec> {
  for (const replica of all) {
    const answer = await replica.request('GET', leasePath).catch(() => undefined); // it may be the one that was ended
    if (answer?.status === 200) return JSON.parse(answer.body).spec as LeaseSpec;
  }
  throw new Error('no replica has the lease');
}

/** The candidate that leads. */
async function untilRenewed(replicas: Replicas): Promise<void> {
  const { renewTime } = await readLease(replicas);
  const isNewer = async (): Promise<true | undefined> =>
    (await readLease(replicas)).renewTime !== renewTime || undefined;
  await until('a renewal', isNewer, leaseMs + handOverMs);
}
