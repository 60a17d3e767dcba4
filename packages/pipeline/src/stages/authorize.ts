import type { Authorizer } from '@cluster-apiserver/gates';
import { StatusError, type AccessDecision, type AccessQuestion } from '@cluster-apiserver/model';
import type { ApiResponse, Handler } from '../exchange.ts';
import type { Authenticated } from '../facts.ts';

/** May it? What nobody allows is refused. */
export const authorize =
  (authorizer: Authorizer) =>
  (next: Handler<Authenticated>): Handler<Authenticated> => {
    const decided = (
      facts: Authenticated,
      attributes: AccessQuestion,
      { verdict, reason }: AccessDecision,
    ): ApiResponse | Promise<ApiResponse> => {
      if (verdict !== 'allow') throw refusal(attributes, reason);
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
  const { verdict, reason } = await authorizer.authorize(attributes, facts.call);
  if (verdict !== 'allow') throw refusal(attributes, reason);
}

export function attributesOf({ info, user }: Authenticated): AccessQuestion {
  const { verb, path, resource } = info;
  if (!resource) return { user, verb, path };
  const { group, version, plural, subresource, namespace, name } = resource;
  return { user, verb, path, resource: { group, version, resource: plural, subresource, namespace, name } };
}

export function refusal({ user, verb, path, resource }: AccessQuestion, reason: string | undefined): StatusError {
  const who = `User ${JSON.stringify(user.name)}`;
  const because = reason ? `: ${reason}` : '';
  if (!resource)
    return new StatusError('Forbidden', `forbidden: ${who} cannot ${verb} path ${JSON.stringify(path)}${because}`, {});
  const { group, resource: plural, subresource, namespace, name } = resource;
  const what = subresource ? `${plural}/${subresource}` : plural;
  const where = namespace ? ` in the namespace ${JSON.stringify(namespace)}` : ' at the cluster scope';
  const subject = `${group ? `${what}.${group}` : what}${name ? ` ${JSON.stringify(name)}` : ''}`;
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
