/**
 * What a decision of RBAC costs with 1,000 roles and 10,000 bindings, and what a change of them does, in CPU time.
 * `node --conditions=source packages/gates/bench/rbac.ts`
 */
import type { AccessAttributes } from '@cluster-apiserver/model';
import { PolicyIndex } from '../src/index.ts';

const [roles, bindings, namespaces, users] = [1_000, 10_000, 500, 2_000];
const rounds = 200_000;

const index = new PolicyIndex();
const rule = (at: number) => ({
  verbs: ['get', 'list', 'watch'],
  apiGroups: ['', `g${at % 7}`],
  resources: [`r${at}`, 'x'],
});
const set = (at: number): void =>
  index.setRole({ namespace: undefined, name: `role${at}`, rules: Array.from({ length: 5 }, (_, i) => rule(at + i)) });
const bind = (at: number): void =>
  index.setBinding({
    namespace: at % 10 === 0 ? undefined : `ns${at % namespaces}`,
    name: `b${at}`,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: `role${at % roles}` },
    subjects: [
      { kind: 'ServiceAccount', namespace: `ns${at % namespaces}`, name: `a${at % users}` },
      { kind: 'Group', name: `team${at % 300}` },
    ],
  });
const question = (at: number, resource: string): AccessAttributes => ({
  user: {
    name: `system:serviceaccount:ns${at % namespaces}:a${at % users}`,
    groups: [
      'system:serviceaccounts',
      `system:serviceaccounts:ns${at % namespaces}`,
      `team${at % 300}`,
      'system:authenticated',
    ],
  },
  verb: 'get',
  path: '',
  resource: {
    group: '',
    version: 'v1',
    resource,
    subresource: undefined,
    namespace: `ns${at % namespaces}`,
    name: 'n',
  },
});

const measure = (what: string, count: number, work: (at: number) => void): void => {
  const began = process.cpuUsage();
  for (let at = 0; at < count; at++) work(at);
  const us = process.cpuUsage(began).user / count;
  process.stdout.write(`${what.padEnd(40)} ${us.toFixed(2)} µs\n`);
};

measure('a role is added', roles, set);
measure('a binding is added', bindings, bind);
const allowed = Array.from({ length: 1_000 }, (_, at) => question(at, 'x'));
const refused = Array.from({ length: 1_000 }, (_, at) => question(at, 'none'));
for (const round of ['cold', 'warm']) {
  measure(`a question that is allowed, ${round}`, rounds, (at) =>
    index.authorize(allowed[at % 1_000] as AccessAttributes),
  );
  measure(`a question that is refused, ${round}`, rounds, (at) =>
    index.authorize(refused[at % 1_000] as AccessAttributes),
  );
}
measure('a role is changed', roles, set);
measure('a binding is changed', bindings, bind);
