/** The writes of the bench kit, for loads with a fixed number of them. */

const seeded = 10_000;
const padding = 'x'.repeat(600);

export interface Write {
  readonly method: string;
  readonly path: string;
  readonly body: object;
  readonly contentType?: string;
}

/** By the kit's name of the workload. */
export const writesOfKit: Readonly<Record<string, (n: number) => Write>> = {
  'create-sa': () => ({
    method: 'POST',
    path: '/api/v1/namespaces/bench-new/serviceaccounts',
    body: {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { generateName: 'cr-', labels: { bench: 'new' }, annotations: { 'example.com/pad': padding } },
      secrets: [{ name: 's' }],
    },
  }),
  'create-event': () => ({
    method: 'POST',
    path: '/api/v1/namespaces/bench-0/events',
    body: {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { generateName: 'ev-' },
      involvedObject: { kind: 'Pod', namespace: 'bench-0', name: 'p', uid: 'a', apiVersion: 'v1' },
      reason: 'Started',
      message: 'Started a container, with a message of about the usual length',
      source: { component: 'agent', host: 'n1' },
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: '2026-01-01T00:00:00Z',
      count: 1,
      type: 'Normal',
    },
  }),
  'patch-merge': (n) => ({
    method: 'PATCH',
    path: accountPath(n),
    body: { metadata: { annotations: { 'example.com/tick': `merge-${n}` } } },
  }),
  'patch-apply': (n) => ({
    method: 'PATCH',
    path: `${accountPath(n)}?fieldManager=bench&force=true`,
    contentType: 'application/apply-patch+yaml',
    body: {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: `sa-${n % seeded}`, annotations: { 'example.com/tick': `apply-${n}` } },
    },
  }),
};

function accountPath(n: number): string {
  const account = n % seeded;
  return `/api/v1/namespaces/bench-${account % 100}/serviceaccounts/sa-${account}`;
}
