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
    verbs: verbs('What may be done'),
    apiGroups: names('The groups of the resources'),
    resources: names('The resources'),
    resourceNames: names('The objects by their names; none means all, too'),
  },
  {
    publication: publicationOf({ ...authorization, kind: 'ResourceRule' }, 'What may be done with resources.', [
      'verbs',
    ]),
    numbers: { verbs: 1, apiGroups: 2, resources: 3, resourceNames: 4 },
  },
);

const nonResourceRule = object(
  { verbs: verbs('What may be done'), nonResourceURLs: names('The paths, with * as their last part at most') },
  {
    publication: publicationOf(
      { ...authorization, kind: 'NonResourceRule' },
      'What may be done at paths that are no resources.',
      ['verbs'],
    ),
    numbers: { verbs: 1, nonResourceURLs: 2 },
  },
);

const spec = object(
  { namespace: field(string, 'The namespace that is asked about.') },
  {
    publication: publicationOf({ ...authorization, kind: 'SelfSubjectRulesReviewSpec' }, 'Where.'),
    numbers: { namespace: 1 },
  },
);

const status = object(
  {
    resourceRules: field(list(resourceRule, 'atomic'), 'What may be done with resources.', 'always'),
    nonResourceRules: field(
      list(nonResourceRule, 'atomic'),
      'What may be done at paths that are no resources.',
      'always',
    ),
    incomplete: field(boolean, 'Whether more may be allowed than can be listed.', 'always'),
    evaluationError: field(string, 'Why it is not all.'),
  },
  {
    publication: publicationOf(
      { ...authorization, kind: 'SubjectRulesReviewStatus' },
      'What may be done. For showing it to people: whoever decides by it asks about the one thing instead.',
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
    description: 'Asks for what oneself may do in a namespace.',
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
