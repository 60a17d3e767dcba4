import { labelNames, subdomainNames } from '@cluster-apiserver/model/validation';
import {
  AuthorizerValue,
  type CheckedResource,
  type DecisionValue,
  GroupCheck,
  PathCheck,
  ResourceCheck,
} from '../values/authorizer.ts';
import { type Budget, expressionStepsMax } from '../run/budget.ts';
import { EvaluationError } from '../values/value.ts';
import { defineMethod, type Overload } from './overload.ts';

/** As in kube-apiserver, two checks are all that an expression is granted. */
const checkSteps = Math.floor(expressionStepsMax * 0.35);

const authorizer = 'kubernetes.authorization.Authorizer';
const pathCheck = 'kubernetes.authorization.PathCheck';
const groupCheck = 'kubernetes.authorization.GroupCheck';
const resourceCheck = 'kubernetes.authorization.ResourceCheck';
const decision = 'kubernetes.authorization.Decision';

/** Whether users may do something: `authorizer.group('').resource('pods').namespace('a').check('get').allowed()`. */
export const authorizers: readonly Overload[] = [
  defineMethod(authorizer, `path(string) -> ${pathCheck}`, (of: AuthorizerValue, path: string) => {
    if (path.trim() === '') throw new EvaluationError('path must not be empty');
    return new PathCheck(of, path);
  }),
  defineMethod(
    authorizer,
    `group(string) -> ${groupCheck}`,
    (of: AuthorizerValue, group: string) => new GroupCheck(of, group),
  ),
  defineMethod(authorizer, `serviceAccount(string, string) -> ${authorizer}`, asServiceAccount),
  defineMethod(groupCheck, `resource(string) -> ${resourceCheck}`, (of: GroupCheck, resource: string) => {
    if (resource.trim() === '') throw new EvaluationError('resource must not be empty');
    return new ResourceCheck(of.authorizer, { group: of.group, resource });
  }),
  ...(['subresource', 'namespace', 'name', 'fieldSelector', 'labelSelector'] as const).map((part) =>
    defineMethod(resourceCheck, `${part}(string) -> ${resourceCheck}`, (of: ResourceCheck, value: string) =>
      of.with({ [part]: value } satisfies Partial<CheckedResource>),
    ),
  ),
  ...[pathCheck, resourceCheck].map((type) =>
    defineMethod(
      type,
      `check(string) -> ${decision}`,
      (of: PathCheck | ResourceCheck, verb: string, budget: Budget) => {
        budget.chargeElsewhere(checkSteps);
        return of.check(verb);
      },
    ),
  ),
  defineMethod(decision, 'allowed() -> bool', (of: DecisionValue) => of.decision.verdict === 'allow'),
  defineMethod(decision, 'reason() -> string', (of: DecisionValue) => of.decision.reason ?? ''),
  defineMethod(decision, 'errored() -> bool', (of: DecisionValue) => of.decision.error !== undefined),
  defineMethod(decision, 'error() -> string', (of: DecisionValue) => of.decision.error?.message ?? ''),
];

function asServiceAccount({ checks }: AuthorizerValue, namespace: string, name: string): AuthorizerValue {
  if (subdomainNames.whole(name).length > 0) throw new EvaluationError('Invalid service account name');
  if (labelNames.whole(namespace).length > 0) throw new EvaluationError('Invalid service account namespace');
  return new AuthorizerValue(checks, {
    name: `system:serviceaccount:${namespace}:${name}`,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
  });
}
