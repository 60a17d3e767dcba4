import type { Authorizer } from '@cluster-apiserver/gates';
import {
  type AccessDecision,
  type AccessQuestion,
  decisionNotReady,
  pathSegment,
  type ResourceQuestion,
  StatusError,
} from '@cluster-apiserver/model';
import type { ApiResponse, Handler } from '../exchange.ts';
import type { Authenticated } from '../facts.ts';
import type { RequestInfo } from '../request-info.ts';

/** May it? What nobody allows is refused. */
export const authorize =
  (authorizer: Authorizer) =>
  (next: Handler<Authenticated>): Handler<Authenticated> => {
    const decided = (
      facts: Authenticated,
      attributes: AccessQuestion,
      decision: AccessDecision,
    ): ApiResponse | Promise<ApiResponse> => {
      requireAllowed(facts, attributes, decision);
      return next(facts);
    };
    return (facts) => {
      const attributes = attributesOf(facts);
      const decision = authorizer.authorize(attributes, facts.call);
      return decision instanceof Promise
        ? decision.then((found) => decided(facts, attributes, found))
        : decided(facts, attributes, decision);
    };
  };

/** For what a request asks for besides its own verb. Throws unless that is allowed too. */
export async function requireVerb(authorizer: Authorizer, facts: Authenticated, verb: string): Promise<void> {
  const attributes = { ...attributesOf(facts), verb };
  requireAllowed(facts, attributes, await authorizer.authorize(attributes, facts.call));
}

function requireAllowed({ audit }: Authenticated, attributes: AccessQuestion, decision: AccessDecision): void {
  const { verdict, annotations } = decision;
  if (audit && annotations) for (const [key, value] of Object.entries(annotations)) audit.annotate(key, value);
  if (verdict !== 'allow') throw refusal(attributes, decision);
}

export function attributesOf({ info, user }: Authenticated): AccessQuestion {
  const { verb, path, resource, query } = info;
  if (!resource) return { user, verb, path };
  const { group, version, plural, subresource, namespace, name } = resource;
  const question = { group, version, resource: plural, subresource, namespace, name };
  const selects = name === undefined && query.size > 0 && selectingVerbs.has(verb);
  return { user, verb, path, resource: selects ? { ...question, ...selectionOf(info) } : question };
}

const selectingVerbs: ReadonlySet<string> = new Set(['list', 'watch', 'deletecollection']);

/** The part of a collection that a request is about. A collection delete is never about one name. */
function selectionOf({ verb, query }: RequestInfo): Pick<ResourceQuestion, 'name' | 'fieldSelector' | 'labelSelector'> {
  const [fields, labels] = [query.get('fieldSelector'), query.get('labelSelector')];
  return {
    name: fields && verb !== 'deletecollection' ? requiredName(fields) : undefined,
    ...(fields && { fieldSelector: { rawSelector: fields } }),
    ...(labels && { labelSelector: { rawSelector: labels } }),
  };
}

/** The name that a field selector requires by `metadata.name=x`, if that can be one. */
function requiredName(selector: string): string | undefined {
  for (const term of selector.match(/(?:[^\\,]|\\.)+/gs) ?? []) {
    const value = /^metadata\.name==?((?:[^\\=]|\\[\\,=])*)$/s.exec(term)?.[1];
    const name = value?.replaceAll(/\\(.)/gs, '$1');
    if (name !== undefined) return name !== '' && pathSegment(name).length === 0 ? name : undefined;
  }
  return undefined;
}

/** The answer to a question that was not allowed. */
export function refusal(
  { user, verb, path, resource }: AccessQuestion,
  { verdict, reason, error }: Pick<AccessDecision, 'verdict' | 'reason' | 'error'>,
): StatusError {
  if (verdict === 'notReady') return decisionNotReady();
  // As in kube-apiserver: nobody knows whether it would have been allowed, so the client may try again.
  if (error) return new StatusError('InternalError', `Internal error occurred: ${error.message}`, {}, { cause: error });
  const who = `User ${JSON.stringify(user.name)}`;
  const because = reason ? `: ${reason}` : '';
  if (!resource)
    return new StatusError('Forbidden', `forbidden: ${who} cannot ${verb} path ${JSON.stringify(path)}${because}`, {});
  const { group, resource: plural, subresource, namespace, name } = resource;
  const what = subresource ? `${plural}/${subresource}` : plural;
  const where = namespace ? ` in the namespace ${JSON.stringify(namespace)}` : ' at the cluster scope';
  const subject = `${group ? `${plural}.${group}` : plural}${name ? ` ${JSON.stringify(name)}` : ''}`;
  return new StatusError(
    'Forbidden',
    `${subject} is forbidden: ${who} cannot ${verb} resource ${JSON.stringify(what)} in API group ${JSON.stringify(group)}${where}${because}`,
    {
      ...(name && { name }),
      ...(group && { group }),
      kind: plural,
    },
  );
}
