import { chain, inSpan, trackLatency } from '@cluster-apiserver/base';
import { type Authorizer, isLoggedError } from '@cluster-apiserver/gates';
import {
  type AccessDecision,
  type AccessAttributes,
  type AccessSelector,
  decisionNotReady,
  type ResourceAttributes,
  StatusError,
} from '@cluster-apiserver/model';
import { readFieldSelector, readLabelSelector } from '@cluster-apiserver/model/selector';
import { pathSegment } from '@cluster-apiserver/model/validation';
import type { Handler } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import type { RequestInfo } from '../request-info.ts';

/** Rejects the request unless the authorizer allows it. */
export const authorize =
  (authorizer: Authorizer, next: Handler<AuthenticatedContext>): Handler<AuthenticatedContext> =>
  (context) => {
    const attributes = attributesOf(context);
    const { call, latency } = context;
    const deciding = call.trace
      ? inSpan(call, 'authorization', (traced) => authorizer.authorize(attributes, traced))
      : authorizer.authorize(attributes, call);
    return chain(trackLatency(latency, 'authorization', deciding), (decision) => {
      recordDecision(context, decision);
      requireAllowed(context, attributes, decision);
      return next(context);
    });
  };

/** Builds the message of a rejection from the reason of the authorizers. */
export type Reword = (reason: string) => string;

/** Checks a verb besides that of the request. Throws Forbidden unless it is allowed. */
export async function requireVerb(
  authorizer: Authorizer,
  context: AuthenticatedContext,
  verb: string,
  reword?: Reword,
): Promise<void> {
  const attributes = { ...attributesOf(context), verb };
  requireAllowed(
    context,
    attributes,
    await inSpan(context.call, 'authorization', (call) => authorizer.authorize(attributes, call)),
    reword,
  );
}

function requireAllowed(
  { audit }: AuthenticatedContext,
  attributes: AccessAttributes,
  decision: AccessDecision,
  reword?: Reword,
): void {
  const { verdict, annotations } = decision;
  if (audit && annotations) for (const [key, value] of Object.entries(annotations)) audit.annotate(key, value);
  if (verdict !== 'allow') throw forbiddenError(attributes, decision, reword);
}

/** Records the decision on the request's own verb in its audit event. An error is neither allow nor forbid. */
function recordDecision({ audit }: AuthenticatedContext, { verdict, reason, error }: AccessDecision): void {
  if (!audit || verdict === 'notReady') return;
  const failed = error && verdict !== 'allow';
  if (!failed) audit.annotate('authorization.k8s.io/decision', verdict === 'allow' ? 'allow' : 'forbid');
  audit.annotate('authorization.k8s.io/reason', failed ? 'internal error' : (reason ?? ''));
}

export function attributesOf({ info, user }: AuthenticatedContext): AccessAttributes {
  const { verb, path, resource, query } = info;
  if (!resource) return { user, verb, path };
  const { group, version, plural, subresource, namespace, name } = resource;
  const target = { group, version, resource: plural, subresource, namespace, name };
  const selects = query.size > 0 && selectingVerbs.has(verb);
  return { user, verb, path, resource: selects ? { ...target, ...selectionOf(info) } : target };
}

/** The name that the field selector of a list or watch requires. */
export function selectedName(info: RequestInfo): string | undefined {
  if (info.query.size === 0 || !selectsByName(info)) return undefined;
  const fields = info.query.get('fieldSelector');
  const selector = fields ? readFieldSelector({ rawSelector: fields }).selector : undefined;
  return selector && requiredName(selector);
}

/**
 * A deletecollection never authorizes a single name. Below the deprecated `watch/` a name is in the path, as in
 * kube-apiserver.
 */
const selectsByName = ({ verb, resource }: RequestInfo): boolean =>
  (verb === 'list' || verb === 'watch') && resource?.isWatchPath === false && resource.name === undefined;

const selectingVerbs: ReadonlySet<string> = new Set(['list', 'watch', 'deletecollection']);

/** What a request selects of a collection. */
function selectionOf(info: RequestInfo): Partial<ResourceAttributes> {
  const [fields, labels] = [info.query.get('fieldSelector'), info.query.get('labelSelector')];
  const fieldSelector = fields ? readFieldSelector({ rawSelector: fields }).selector : undefined;
  const labelSelector = labels ? readLabelSelector({ rawSelector: labels }).selector : undefined;
  return {
    ...(fieldSelector && selectsByName(info) && { name: requiredName(fieldSelector) }),
    ...(fieldSelector && { fieldSelector }),
    ...(labelSelector && { labelSelector }),
  };
}

/** The name in `metadata.name=x`, if it is a valid one. */
function requiredName({ requirements }: AccessSelector): string | undefined {
  const name = requirements.find(({ key, operator }) => key === 'metadata.name' && operator === 'In')?.values?.[0];
  return name && pathSegment(name).length === 0 ? name : undefined;
}

/** The error of a decision that is not an allow. */
export function forbiddenError(
  { user, verb, path, resource }: AccessAttributes,
  { verdict, reason, error }: Pick<AccessDecision, 'verdict' | 'reason' | 'error'>,
  reword?: Reword,
): StatusError {
  if (verdict === 'notReady') return decisionNotReady();
  // As in kube-apiserver: the decision is unknown, so the client may retry.
  if (error) {
    const isLogged = isLoggedError(error);
    return new StatusError(
      'InternalError',
      `Internal error occurred: ${error.message}`,
      {},
      { cause: error, isLogged },
    );
  }
  const who = `User ${JSON.stringify(user.name)}`;
  const because = reason ? `: ${reason}` : '';
  if (!resource)
    return new StatusError('Forbidden', `forbidden: ${who} cannot ${verb} path ${JSON.stringify(path)}${because}`, {});
  const { group, resource: plural, subresource, namespace, name } = resource;
  const what = subresource ? `${plural}/${subresource}` : plural;
  const where = namespace ? `in the namespace ${JSON.stringify(namespace)}` : 'at the cluster scope';
  const subject = `${group ? `${plural}.${group}` : plural}${name ? ` ${JSON.stringify(name)}` : ''}`;
  const problem = reword
    ? reword(reason ?? '')
    : `${who} cannot ${verb} resource ${JSON.stringify(what)} in API group ${JSON.stringify(group)} ${where}${because}`;
  return new StatusError('Forbidden', `${subject} is forbidden: ${problem}`, {
    ...(name && { name }),
    ...(group && { group }),
    kind: plural,
  });
}
