import { expect, test } from '@jest/globals';
import { callUntil, systemClock } from '@cluster-apiserver/base';
import type { AdmissionContext } from '@cluster-apiserver/gates';
import type { ServedKind } from '@cluster-apiserver/model/kind';
import { getPolicySources, getWebhookSources } from './applicable-sources.ts';
import { type Sources, withActive } from './active.ts';
import type { ClusterState } from './cluster-state.ts';

const resource = (group: string, plural: string) => ({ group, plural }) as ServedKind;
const accounts = resource('', 'serviceaccounts');
const admission = 'admissionregistration.k8s.io';
const call = callUntil(Number.POSITIVE_INFINITY);

/** What a write of the resource obeys. */
const inForce = (sources: Sources<string>): ((written: ServedKind) => unknown) => {
  const act = withActive(sources, (_, __, all) => all);
  return (written) => act({ resource: written, call } as AdmissionContext);
};
const base: Pick<Sources<string>, 'matcherOf' | 'cluster' | 'clock'> = {
  matcherOf: () => ({ matches: ({ context }) => context.resource, canMatch: () => true }),
  cluster: {} as ClusterState,
  clock: systemClock,
};
const fromApi = (current: readonly string[]): Sources<string>['fromApi'] => ({
  current,
  waitUntilCurrent: () => undefined,
  close: () => {},
});

test.each<[string, ServedKind, string[], string[]]>([
  ['an object', accounts, ['file', 'api'], ['file', 'api']],
  ['a policy', resource(admission, 'mutatingadmissionpolicies'), ['file'], ['file']],
  ['a binding', resource(admission, 'validatingadmissionpolicybindings'), ['file'], ['file']],
  ['webhooks', resource(admission, 'mutatingwebhookconfigurations'), ['file', 'api'], ['file']],
  ['a review of a token', resource('authentication.k8s.io', 'tokenreviews'), [], ['file', 'api']],
  ['a review of access', resource('authorization.k8s.io', 'subjectaccessreviews'), [], ['file', 'api']],
  ['a role', resource('rbac.authorization.k8s.io', 'roles'), ['file', 'api'], ['file', 'api']],
])(
  'a write of %s obeys the policies %3$j and the webhooks %4$j in their order',
  async (_, written, policies, webhooks) => {
    const sources = { ...base, fromFiles: () => ['file'], fromApi: fromApi(['api']) };
    expect(await inForce({ ...sources, applicableSources: getPolicySources })(written)).toEqual(policies);
    expect(await inForce({ ...sources, applicableSources: getWebhookSources })(written)).toEqual(webhooks);
  },
);

test('a write reuses the compiled policies as long as nothing changes', async () => {
  let files: readonly string[] = ['file'];
  const api = { ...fromApi(['api']) };
  const of = inForce({ ...base, applicableSources: getPolicySources, fromFiles: () => files, fromApi: api });
  const before = await of(accounts);
  expect(await of(accounts)).toBe(before);
  files = ['other'];
  expect(await of(accounts)).toEqual(['other', 'api']);
  Object.assign(api, { current: [] });
  expect(await of(accounts)).toEqual(['other']);
  files = [];
  expect(await of(accounts)).toBe(api.current);
});

test('only requests that API policies apply to wait until these are current', async () => {
  let isCurrent = false;
  let becomeCurrent = (): void => {};
  const current = new Promise<void>((resolve) => (becomeCurrent = resolve));
  const waiting = inForce({
    ...base,
    applicableSources: getPolicySources,
    fromFiles: () => ['file'],
    fromApi: { ...fromApi(['api']), waitUntilCurrent: () => current },
  });
  const later = Promise.resolve(waiting(accounts)).then((found) => ({ found, isCurrent }));
  expect(await waiting(resource(admission, 'mutatingadmissionpolicies'))).toEqual(['file']);
  isCurrent = true;
  becomeCurrent();
  expect(await later).toEqual({ found: ['file', 'api'], isCurrent: true });
});
