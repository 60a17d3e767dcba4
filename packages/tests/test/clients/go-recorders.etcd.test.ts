import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import { until } from '@cluster-apiserver/testkit/until';
import { describeIf } from '../describe-if.ts';
import { type TestServer, serveKinds } from '../serve-kinds.ts';
import { type ClientProgram, goProgram, hasGo, noClients, startProgram } from './client-programs.ts';

// What the recorders of client-go leave in the server (clientgo/record.go).

/** If the recorder sends a repeat before the event exists, it tries again after 10 s. */
const recordedMs = 40_000;
const namespace = 'recorded';
/** The recorder keeps nine of the 15 apart. */
const combinedCount = 6;

describeIf(hasGo, 'event recorders of client-go', noClients, () => {
  let server: TestServer;
  let recorders: ClientProgram;
  beforeAll(async () => {
    server = await serveKinds(kinds);
    const target = { url: server.url, ca: server.certificate, token: server.token };
    recorders = startProgram(goProgram, ['record', 'KUBECONFIG', namespace], target);
  });
  afterAll(async () => {
    await recorders.end();
    await server.close();
  });

  test('the recorder of core/v1 counts repeats, and combines similar events', async () => {
    const events = await untilRecorded(`/api/v1/namespaces/${namespace}/events`, 'counts', (found) =>
      found.some(({ count }) => count === combinedCount),
    );
    const repeated = events.filter(({ reason }) => reason === 'Repeated');
    expect(repeated).toMatchObject([{ message: 'the same again', type: 'Normal', count: 5 }]);
    const similar = events.filter(({ reason }) => reason === 'Similar');
    expect(similar.filter(({ count }) => count === 1)).toHaveLength(9);
    const combined = similar.filter(({ count }) => count !== 1);
    expect(combined).toMatchObject([
      { message: expect.stringContaining('combined from similar events'), count: combinedCount },
    ]);
  });

  test('the recorder of events.k8s.io makes a series of repeats', async () => {
    const events = await untilRecorded(`/apis/events.k8s.io/v1/namespaces/${namespace}/events`, 'series', (found) =>
      found.some(({ series }) => series !== undefined),
    );
    expect(events.toSorted((one, other) => (one.reason < other.reason ? -1 : 1))).toMatchObject([
      { reason: 'Once', note: 'it happened', regarding: { kind: 'ConfigMap', name: namespace } },
      { reason: 'Repeated', note: 'the same again', series: { count: 2, lastObservedTime: expect.any(String) } },
    ]);
  });

  async function untilRecorded(
    path: string,
    component: string,
    isComplete: (events: readonly RecordedEvent[]) => boolean,
  ): Promise<readonly RecordedEvent[]> {
    return until(
      `events of ${component}`,
      async () => {
        if (recorders.hasEnded) throw new Error(recorders.errors);
        const { items = [] } = (await server.request('GET', path)).body;
        const events = (items as unknown as readonly RecordedEvent[]).filter(
          ({ source, reportingController }) => (source?.component ?? reportingController) === component,
        );
        return isComplete(events) ? events : undefined;
      },
      recordedMs,
    );
  }
});

interface RecordedEvent {
  readonly reason: string;
  readonly count?: number;
  readonly series?: object;
  /** Of core/v1. */
  readonly source?: { readonly component?: string };
  /** Of events.k8s.io. */
  readonly reportingController?: string;
}
