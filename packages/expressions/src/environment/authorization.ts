import { types } from '../check/type.ts';

const { string, list, map, object } = types;

const selector = (name: string) =>
  object(`kubernetes.${name}SelectorAttributes`, {
    rawSelector: string,
    requirements: list(
      object('kubernetes.SelectorRequirement', { key: string, operator: string, values: list(string) }),
    ),
  });

/** The variable of match conditions of an authorization webhook: `request`, the spec of a SubjectAccessReview. */
export const authorizationVariables = {
  request: object('kubernetes.SubjectAccessReviewSpec', {
    resourceAttributes: object('kubernetes.ResourceAttributes', {
      namespace: string,
      verb: string,
      group: string,
      version: string,
      resource: string,
      subresource: string,
      name: string,
      fieldSelector: selector('Field'),
      labelSelector: selector('Label'),
    }),
    nonResourceAttributes: object('kubernetes.NonResourceAttributes', { path: string, verb: string }),
    user: string,
    groups: list(string),
    extra: map(string, list(string)),
    uid: string,
  }),
};
