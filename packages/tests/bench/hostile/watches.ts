import { literals, requestHeaders } from '@cluster-apiserver/testkit/http2-frames';
import {
  type Attack,
  type AttackContext,
  attackerFields,
  namespaces,
  openAgent,
  openHttp2,
  pause,
  requestFields,
  serviceAccountsPath,
  untilOver,
} from './attack.ts';

const stalledWatches = 1_000;
const retryPauseMs = 50;
/** Every watch receives each write; the events of a few seconds exceed the socket buffers. */
const writes = { perSecond: 100, annotationBytes: 3_000 };

async function openWatches(context: AttackContext, namespace: string, query: string): Promise<void> {
  for (let left = stalledWatches; left > 0 && !context.signal.aborted; ) {
    const connection = await openHttp2(context, { windowBytes: 0 }).catch(() => undefined);
    if (!connection) {
      context.count('no connection');
      await pause(context, retryPauseMs);
      continue;
    }
    const block = literals(
      requestFields('GET', `${serviceAccountsPath(namespace)}?watch=true${query}`, attackerFields(context)),
    );
    const streams = Math.min(left, connection.streamsMax);
    connection.write(Array.from({ length: streams }, () => requestHeaders(connection.newStream(), block, true)));
    context.count('sent', streams);
    left -= streams;
  }
}

export const watchAttacks: readonly Attack[] = [
  {
    name: 'stalled-watches-initial-events',
    reason: `${stalledWatches} watches from version 0 that read nothing: each could hold all initial events`,
    prepare: async (context) => async () => {
      await openWatches(context, namespaces.large, '&resourceVersion=0');
      await untilOver(context);
    },
  },
  {
    name: 'stalled-watches-and-writes',
    reason: `${stalledWatches} watches that read nothing while ${writes.perSecond} objects of 3 KB a second are written`,
    prepare: async (context) => {
      const ask = openAgent(context, 4);
      const write = async (): Promise<void> => {
        const annotations = { a: 'x'.repeat(writes.annotationBytes) };
        const body = JSON.stringify({ metadata: { generateName: 'watched-', annotations } });
        await ask({ method: 'POST', path: serviceAccountsPath(namespaces.attack), body }).then(
          ({ status }) => context.count(`write ${status}`),
          () => {}, // the end of the attack
        );
      };
      return async () => {
        await openWatches(context, namespaces.attack, '');
        while (!context.signal.aborted) {
          void write();
          await pause(context, 1_000 / writes.perSecond);
        }
      };
    },
  },
];
