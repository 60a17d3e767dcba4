import {
  type AccessRules,
  badRequest,
  boolean,
  defineReview,
  field,
  type KubeObject,
  list,
  object,
  publicationOf,
  type Review,
  string,
} from '@cluster-apiserver/model';
import { authorization } from './access-attributes.ts';
import type { ReviewServices } from './services.ts';

interface SelfSubjectRulesReview extends KubeObject {
  spec: { namespace?: string };
  status: {
    resourceRules?: AccessRules['resource'];
    nonResourceRules?: AccessRules['nonResource'];
    incomplete?: boolean;
    evaluationError?: string;
  };
}

const verbs = (what: string) => field(list(string, 'atomic'), `${what}; * means everything.`, 'always');
const names = (what: string) => field(list(string, 'atomic'), `${what}; * means all.`);

const resourceRule = object(
  {
    verbs: verbs('Allowed verbs'),
    apiGroups: names('API groups of the resources'),
    resources: names('The resources'),
    resourceNames: names('Names of the objects; empty means all, too'),
  },
  {
    publication: publicationOf({ ...authorization, kind: 'ResourceRule' }, 'Verbs that are allowed on resources.', [
      'verbs',
    ]),
    numbers: { verbs: 1, apiGroups: 2, resources: 3, resourceNames: 4 },
  },
);

const nonResourceRule = object(
  { verbs: verbs('Allowed verbs'), nonResourceURLs: names('URL paths, with * as the last segment at most') },
  {
    publication: publicationOf(
      { ...authorization, kind: 'NonResourceRule' },
      'Verbs that are allowed on non-resource URLs.',
      ['verbs'],
    ),
    numbers: { verbs: 1, nonResourceURLs: 2 },
  },
);

const spec = object(
  { namespace: field(string, 'Namespace to list the rules of.') },
  {
    publication: publicationOf(
      { ...authorization, kind: 'SelfSubjectRulesReviewSpec' },
      'Namespace to list the rules of.',
    ),
    numbers: { namespace: 1 },
  },
);

const status = object(
  {
    resourceRules: field(list(resourceRule, 'atomic'), 'Verbs that are allowed on resources.', 'always'),
    nonResourceRules: field(list(nonResourceRule, 'atomic'), 'Verbs that are allowed on non-resource URLs.', 'always'),
    incomplete: field(
      boolean,
      'True if the lists may be incomplete: some authorizers cannot list their rules.',
      'always',
    ),
    evaluationError: field(string, 'Why the lists are incomplete.'),
  },
  {
    publication: publicationOf(
      { ...authorization, kind: 'SubjectRulesReviewStatus' },
      'Rules that apply to the requester, for display. To decide about one action, use a SelfSubjectAccessReview.',
      ['resourceRules', 'nonResourceRules', 'incomplete'],
    ),
    numbers: { resourceRules: 1, nonResourceRules: 2, incomplete: 3, evaluationError: 4 },
  },
);

/** What may I do? */
export const selfSubjectRulesReview = ({ rulesOf }: ReviewServices): Review =>
  defineReview<SelfSubjectRulesReview>({
    ...authorization,
    kind: 'SelfSubjectRulesReview',
    plural: 'selfsubjectrulesreviews',
    singular: 'selfsubjectrulesreview',
    namespaced: false,
    description: 'Lists the actions that the requester may perform in a namespace.',
    fields: {
      spec: field(spec, 'What is asked.', 'always'),
      status: field(status, 'Filled by the server.', 'always'),
    },
    numbers: { spec: 2, status: 3 },
    requiredFields: ['spec'],
    answer: async (review, asker, call) => {
      const { namespace = '' } = review.spec;
      if (namespace === '') throw badRequest('no namespace on request');
      const { resource, nonResource, incomplete, error } = await rulesOf(asker, namespace, call);
      const status = { resourceRules: [...resource], nonResourceRules: [...nonResource], incomplete };
      // The namespace is not answered, as upstream.
      return { ...review, spec: {}, status: { ...status, ...(error && { evaluationError: error.message }) } };
    },
  });
