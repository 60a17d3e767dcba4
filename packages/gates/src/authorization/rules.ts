import type { Call } from '@cluster-apiserver/base';
import type { AccessRules, UserInfo } from '@cluster-apiserver/model';
import type { Authorizer } from './authorizer.ts';

export const noRules: AccessRules = { resource: [], nonResource: [], incomplete: false };

export const everything: AccessRules = {
  resource: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
  nonResource: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
  incomplete: false,
};

/** The rules of all authorizers together. */
export async function collectRules(
  authorizers: readonly Authorizer[],
  user: UserInfo,
  namespace: string,
  call: Call,
): Promise<AccessRules> {
  const found = await Promise.all(
    authorizers.map(async (one) => (await one.rulesOf?.(user, namespace, call)) ?? { ...noRules, incomplete: true }),
  );
  return {
    resource: found.flatMap(({ resource }) => resource),
    nonResource: found.flatMap(({ nonResource }) => nonResource),
    incomplete: found.some(({ incomplete }) => incomplete),
    error: combineErrors(found.flatMap(({ error }) => error ?? [])),
  };
}

/** Undefined for none. */
export function combineErrors(errors: readonly Error[]): Error | undefined {
  if (errors.length <= 1) return errors[0];
  return new AggregateError(errors, errors.map(({ message }) => message).join('; '));
}
