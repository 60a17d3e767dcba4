import { badRequest } from '@cluster-apiserver/model';
import { defineReview, type Review } from '@cluster-apiserver/model/kind';
import { boolean, field, list, object, publicationOf, string } from '@cluster-apiserver/model/schema';
import { authorization } from './access-attributes.ts';
import type { ReviewServices } from './services.ts';

const verbs = field(1, list(string, 'atomic'), 'Allowed verbs; * means everything.', 'always');
const names = (number: number, what: string) => field(number, list(string, 'atomic'), `${what}; * means all.`);

const resourceRule = object(
  {
    verbs,
    apiGroups: names(2, 'API groups of the resources'),
    resources: names(3, 'The resources'),
    resourceNames: names(4, 'Names of the objects; empty means all, too'),
  },
  {
    publication: publicationOf({ ...authorization, kind: 'ResourceRule' }, 'Verbs that are allowed on resources.', [
      'verbs',
    ]),
  },
);

const nonResourceRule = object(
  { verbs, nonResourceURLs: names(2, 'URL paths, with * as the last segment at most') },
  {
    publication: publicationOf(
      { ...authorization, kind: 'NonResourceRule' },
      'Verbs that are allowed on non-resource URLs.',
      ['verbs'],
    ),
  },
);

const spec = object(
  { namespace: field(1, string, 'Namespace to list the rules of.') },
  {
    publication: publicationOf(
      { ...authorization, kind: 'SelfSubjectRulesReviewSpec' },
      'Namespace to list the rules of.',
    ),
  },
);

const statusSchema = object(
  {
    resourceRules: field(1, list(resourceRule, 'atomic'), 'Verbs that are allowed on resources.', 'always'),
    nonResourceRules: field(
      2,
      list(nonResourceRule, 'atomic'),
      'Verbs that are allowed on non-resource URLs.',
      'always',
    ),
    incomplete: field(
      3,
      boolean,
      'True if the lists may be incomplete: some authorizers cannot list their rules.',
      'always',
    ),
    evaluationError: field(4, string, 'Reason why the lists are incomplete.'),
  },
  {
    publication: publicationOf(
      { ...authorization, kind: 'SubjectRulesReviewStatus' },
      'Rules that apply to the requester, for display. To decide about one action, use a SelfSubjectAccessReview.',
      ['resourceRules', 'nonResourceRules', 'incomplete'],
    ),
  },
);

const fields = {
  spec: field(2, spec, 'Namespace whose rules are listed.', 'always'),
  status: field(3, statusSchema, 'Filled by the server.', 'always'),
};

/** Lists the rules that apply to the requester. */
export const selfSubjectRulesReview = ({ rulesOf }: ReviewServices): Review =>
  defineReview({
    ...authorization,
    kind: 'SelfSubjectRulesReview',
    plural: 'selfsubjectrulesreviews',
    singular: 'selfsubjectrulesreview',
    namespaced: false,
    description: 'Lists the actions that the requester may perform in a namespace.',
    fields,
    requiredFields: ['spec'],
    answer: async (review, asker, call) => {
      const { namespace = '' } = review.spec;
      if (namespace === '') throw badRequest('no namespace on request');
      const { resource, nonResource, incomplete, error } = await rulesOf(asker, namespace, call);
      const status = { resourceRules: [...resource], nonResourceRules: [...nonResource], incomplete };
      // Neither the namespace nor the metadata are answered, as upstream.
      return {
        ...review,
        metadata: {},
        spec: {},
        status: { ...status, ...(error && { evaluationError: error.message }) },
      };
    },
  });
