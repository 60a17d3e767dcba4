/** All kinds with active admission policies behind the whole pipeline, without sockets and etcd. */
import { type Clock, seededRandom, systemClock } from '@cluster-apiserver/base';
import {
  type Admission,
  createAdmission,
  type AdmissionPlugin,
  type Authorizer,
  type HttpsClient,
  createParamRights,
} from '@cluster-apiserver/gates';
import { kinds } from '@cluster-apiserver/kinds';
import type { UserInfo } from '@cluster-apiserver/model';
import type { Kind, KubeObject } from '@cluster-apiserver/model/kind';
import {
  createMutatingAdmissionPolicy,
  createMutatingAdmissionWebhook,
  createClusterState,
  type StaticPolicies,
  type StaticSource,
  createValidatingAdmissionPolicy,
  createValidatingAdmissionWebhook,
  WebhookClients,
} from '@cluster-apiserver/policies';
import { getCached, type Resource } from '@cluster-apiserver/registry';
import type { Store } from '@cluster-apiserver/storage';
import type { JsonResponse } from '@cluster-apiserver/testkit/json-response';
import { openPipeline } from '../../../pipeline/test/open-pipeline.ts';

export interface PolicyServer {
  request(method: string, path: string, body?: object, type?: string): Promise<JsonResponse>;
  /** Activates a policy named p0001, p0002 and so on. Returns a function that deactivates it. */
  enforce(type: PolicyType, spec: object, bindingSpec?: object): Promise<() => Promise<void>>;
  /** Audit annotations of policies since the previous call. */
  takeAnnotations(): readonly string[];
  /** Metrics of policies since the previous call: expressions and match conditions. */
  takeCounted(): readonly string[];
  /** The user of the following requests. */
  user: UserInfo;
  readonly store: Store;
  /** Reported internal errors. */
  readonly internalErrors: unknown[];
  close(): Promise<void>;
}

export type PolicyType = 'validating' | 'mutating';

export interface PolicyServerOptions {
  readonly clock?: Clock;
  readonly authorizer?: Authorizer;
  /** Kinds besides those of the server. */
  readonly moreKinds?: readonly Kind[];
  /** Plugins after the mutating policies. */
  readonly laterPlugins?: readonly AdmissionPlugin[];
  /** Handles the calls of all webhooks. */
  readonly webhook?: HttpsClient['send'];
  readonly fromFiles?: {
    readonly validating?: StaticSource<StaticPolicies>;
    readonly validatingWebhooks?: StaticSource<readonly KubeObject[]>;
  };
}

export const registration = '/apis/admissionregistration.k8s.io/v1';
const policiesOf = { validating: 'validatingadmissionpolicies', mutating: 'mutatingadmissionpolicies' } as const;
const bindingsOf = {
  validating: 'validatingadmissionpolicybindings',
  mutating: 'mutatingadmissionpolicybindings',
} as const;

const allowAll: Authorizer = { authorize: () => ({ verdict: 'allow' }) };
const noOpinion: Authorizer = { authorize: () => ({ verdict: 'noOpinion' }) };

export async function openPolicyServer({
  clock = systemClock,
  authorizer = noOpinion,
  laterPlugins: later = [],
  moreKinds = [],
  webhook = () => Promise.reject(new Error('unexpected webhook call')),
  fromFiles = {},
}: PolicyServerOptions = {}): Promise<PolicyServer> {
  let activePlugins: Admission = createAdmission([]);
  let user: UserInfo = { name: 'alice', groups: ['system:authenticated'] };
  let annotations: string[] = [];
  const annotate = (key: string, value: string): void => void annotations.push(`${key}=${value}`);
  const checks = {
    authorizer: allowAll,
    admission: {
      mutate: (context: Parameters<Admission['mutate']>[0]) => activePlugins.mutate({ ...context, annotate }),
      validate: (context: Parameters<Admission['validate']>[0]) => activePlugins.validate({ ...context, annotate }),
    },
  };
  const pipeline = await openPipeline({
    clock,
    kinds: [...kinds({ eventLifetimeSeconds: 3_600 }), ...moreKinds],
    routes: { checks, unsafeDeletionAuthorizer: allowAll },
    chain: { authenticator: { authenticate: () => user } },
  });
  const { resources, reportedErrors: faults } = pipeline;
  const resourceOf = (plural: string): Resource => resources.find(({ served }) => served.plural === plural) as Resource; // all kinds are served
  const cluster = createClusterState({ api: pipeline.api, authorizer });
  const compileFailed = (error: unknown): void => void pipeline.reportedErrors.push(error);
  let counted: string[] = [];
  const count = (...what: readonly unknown[]): void => void counted.push(what.join(' '));
  const conditions = {
    evaluated: () => {},
    excluded: (name: string, operation: string) => count('excluded', name, operation),
    failed: (name: string, operation: string) => count('failed', name, operation),
  };
  const pluginOptions = (type: PolicyType) => ({
    policies: resourceOf(policiesOf[type]),
    bindings: resourceOf(bindingsOf[type]),
    staticObjects: type === 'validating' ? fromFiles.validating : undefined,
    clock,
    cluster,
    measures: {
      conditions,
      checked: (...what: readonly unknown[]) => count('checked', ...what.slice(0, -1)), // without the duration
    },
    compileFailed,
  });
  const mutating = createMutatingAdmissionPolicy(pluginOptions('mutating'));
  const validating = createValidatingAdmissionPolicy(pluginOptions('validating'));
  const webhookOptions = {
    cluster,
    clients: new WebhookClients({
      open: () => ({ send: webhook, retire: () => {}, close: () => {} }),
      resolveService: () => undefined,
    }),
    measures: {
      called: () => {},
      rejected: () => {},
      failedOpen: () => {},
      conditions,
    },
    reportCall: () => {},
    compileFailed,
    clock,
    random: seededRandom(1),
  };
  const mutatingWebhooks = createMutatingAdmissionWebhook({
    ...webhookOptions,
    configurations: resourceOf('mutatingwebhookconfigurations'),
    staticObjects: undefined,
  });
  const validatingWebhooks = createValidatingAdmissionWebhook({
    ...webhookOptions,
    configurations: resourceOf('validatingwebhookconfigurations'),
    staticObjects: fromFiles.validatingWebhooks,
  });
  const rights = createParamRights({
    authorizer,
    resourceOf: (apiVersion, kind) =>
      resources.find(({ served }) => served.apiVersion === apiVersion && served.kind === kind)?.served.plural,
    findPolicy: (kind, name) => {
      const found = resources.find((resource) => resource.kind.kind === kind);
      return found && getCached(found, undefined, name)?.object;
    },
    refresh: async (call) => resourceOf(policiesOf.validating).collection.waitUntilFresh(undefined, call),
  });
  activePlugins = createAdmission([rights, mutating, mutatingWebhooks, ...later, validating, validatingWebhooks]);

  let policies = 0;
  return {
    request: pipeline.askJson,
    enforce: async (type, spec, bindingSpec = {}) => {
      const name = `p${String(++policies).padStart(4, '0')}`; // p9 would be applied after p10
      const actions = type === 'validating' && { validationActions: ['Deny'] };
      const objects = [
        [policiesOf[type], { metadata: { name }, spec: withDefaults(type, spec) }],
        [bindingsOf[type], { metadata: { name }, spec: { policyName: name, ...actions, ...bindingSpec } }],
      ] as const;
      for (const [plural, object] of objects)
        await expectStatus(201, pipeline.askJson('POST', `${registration}/${plural}`, object));
      return async () => {
        for (const [plural] of objects)
          await expectStatus(200, pipeline.askJson('DELETE', `${registration}/${plural}/${name}`));
      };
    },
    takeAnnotations: () => {
      const taken = annotations;
      annotations = [];
      return taken;
    },
    takeCounted: () => {
      const taken = counted;
      counted = [];
      return taken;
    },
    get user() {
      return user;
    },
    set user(next) {
      user = next;
    },
    store: pipeline.store,
    internalErrors: faults,
    close: async () => {
      for (const plugin of [mutating, mutatingWebhooks, validating, validatingWebhooks]) plugin.close();
      await pipeline.close();
    },
  };
}

/** Matches creates and updates of service accounts by default. */
const withDefaults = (type: PolicyType, spec: object): object => ({
  matchConstraints: {
    resourceRules: [
      { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['serviceaccounts'] },
    ],
  },
  ...(type === 'mutating' && { reinvocationPolicy: 'Never' }),
  ...spec,
});

async function expectStatus(status: number, answer: Promise<JsonResponse>): Promise<void> {
  const found = await answer;
  if (found.status !== status) throw new Error(`${found.status} instead of ${status}: ${found.body.message}`);
}
