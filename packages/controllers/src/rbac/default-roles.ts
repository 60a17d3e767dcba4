/**
 * The default roles of every cluster: upstream's, as far as they concern the kinds that this server serves. Rules about
 * others, such as pods, are left out of the user-facing roles.
 */
import { type PolicyRule, rbacGroup, type RbacSubject } from '@cluster-apiserver/model';

export interface DefaultRole {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly rules?: readonly PolicyRule[];
  /** The rules are those of the ClusterRoles with this label. */
  readonly aggregatesLabel?: string;
}

/** Grants the ClusterRole of its name everywhere. */
export interface DefaultBinding {
  readonly name: string;
  readonly subjects: readonly RbacSubject[];
}

/** On all of them. */
export const defaultLabels = { 'kubernetes.io/bootstrapping': 'rbac-defaults' };

/** With `false` an operator keeps a role or binding as it is. */
export const autoUpdateAnnotation = 'rbac.authorization.kubernetes.io/autoupdate';

const core = '';
const [events, authentication, authorization] = ['events.k8s.io', 'authentication.k8s.io', 'authorization.k8s.io'];
const [apps, certificates, coordination] = ['apps', 'certificates.k8s.io', 'coordination.k8s.io'];
const read = ['get', 'list', 'watch'];
const write = ['create', 'delete', 'deletecollection', 'patch', 'update'];

const on = (group: string, resources: readonly string[], verbs: readonly string[]): PolicyRule => ({
  verbs,
  apiGroups: [group],
  resources,
});
const at = (...nonResourceURLs: string[]): PolicyRule => ({ verbs: ['get'], nonResourceURLs });

const aggregateTo = (role: 'admin' | 'edit' | 'view'): string => `${rbacGroup}/aggregate-to-${role}`;
const isPartOf = (role: 'admin' | 'edit' | 'view') => ({ labels: { [aggregateTo(role)]: 'true' } });

export const defaultRoles: readonly DefaultRole[] = [
  { name: 'cluster-admin', rules: [on('*', ['*'], ['*']), { verbs: ['*'], nonResourceURLs: ['*'] }] },

  // For users who work in a namespace. They aggregate other roles by label.
  { name: 'admin', aggregatesLabel: aggregateTo('admin') },
  { name: 'edit', aggregatesLabel: aggregateTo('edit'), ...isPartOf('admin') },
  { name: 'view', aggregatesLabel: aggregateTo('view'), ...isPartOf('edit') },
  {
    name: 'system:aggregate-to-admin',
    ...isPartOf('admin'),
    rules: [
      on(authorization, ['localsubjectaccessreviews'], ['create']),
      on(rbacGroup, ['rolebindings', 'roles'], [...read, ...write]),
    ],
  },
  {
    name: 'system:aggregate-to-edit',
    ...isPartOf('edit'),
    rules: [
      // A user who may run pods as a service account can act as it anyway.
      on(core, ['serviceaccounts'], ['impersonate']),
      on(core, ['secrets'], read),
      on(core, ['configmaps', 'events', 'secrets', 'serviceaccounts'], write),
      on(core, ['serviceaccounts/token'], ['create']),
      on(coordination, ['leases'], [...read, ...write]),
    ],
  },
  {
    name: 'system:aggregate-to-view',
    ...isPartOf('view'),
    rules: [
      // No secrets: the token of a service account would grant its rights.
      on(core, ['configmaps', 'events', 'namespaces', 'namespaces/status', 'serviceaccounts'], read),
      on(core, ['limitranges', 'resourcequotas', 'resourcequotas/status'], read),
      on(apps, ['controllerrevisions'], read),
      on(events, ['events'], read),
    ],
  },

  // For all users.
  {
    name: 'system:basic-user',
    rules: [
      on(authorization, ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'], ['create']),
      on(authentication, ['selfsubjectreviews'], ['create']),
    ],
  },
  {
    name: 'system:discovery',
    rules: [
      at(
        ...['/api', '/api/*', '/apis', '/apis/*', '/healthz', '/livez', '/openapi', '/openapi/*'],
        ...['/readyz', '/version', '/version/'],
      ),
    ],
  },
  // A page for people, which kube-apiserver does not have. Unbound, so that users have the rules that they have there.
  { name: 'system:api-reference', rules: [at('/docs')] },
  {
    name: 'system:public-info-viewer',
    // Clients outside the cluster verify tokens of service accounts by the issuer's discovery document.
    rules: [at('/healthz', '/livez', '/readyz', '/version', '/version/'), at('/.well-known', '/.well-known/*')],
  },

  // For those who approve requests for certificates, each of one signer.
  ...['kube-apiserver-client', 'kube-apiserver-client-kubelet', 'kubelet-serving', 'legacy-unknown'].map((signer) => ({
    name: `system:certificates.k8s.io:${signer}-approver`,
    rules: [{ ...on(certificates, ['signers'], ['approve']), resourceNames: [`kubernetes.io/${signer}`] }],
  })),

  // For other servers.
  {
    name: 'system:service-account-issuer-discovery',
    rules: [
      at(
        '/.well-known/openid-configuration',
        '/.well-known/openid-configuration/',
        '/openid/v1/jwks',
        '/openid/v1/jwks/',
      ),
    ],
  },
  {
    name: 'system:monitoring',
    rules: [
      at(
        ...['/flagz', '/healthz', '/healthz/*', '/livez', '/livez/*', '/metrics', '/metrics/slis'],
        ...['/readyz', '/readyz/*', '/statusz'],
      ),
      on(core, ['nodes/metrics'], ['get']),
    ],
  },
  {
    name: 'system:auth-delegator',
    rules: [on(authentication, ['tokenreviews'], ['create']), on(authorization, ['subjectaccessreviews'], ['create'])],
  },
];

const groups = (...names: string[]): RbacSubject[] =>
  names.map((name) => ({ kind: 'Group', apiGroup: rbacGroup, name }));

export const defaultBindings: readonly DefaultBinding[] = [
  { name: 'cluster-admin', subjects: groups('system:masters') },
  { name: 'system:monitoring', subjects: groups('system:monitoring') },
  { name: 'system:discovery', subjects: groups('system:authenticated') },
  { name: 'system:basic-user', subjects: groups('system:authenticated') },
  { name: 'system:public-info-viewer', subjects: groups('system:authenticated', 'system:unauthenticated') },
  { name: 'system:service-account-issuer-discovery', subjects: groups('system:serviceaccounts') },
];
