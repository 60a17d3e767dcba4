import type { UserInfo } from '../authentication/authenticator.ts';
import type { Authorizer } from './authorizer.ts';

/** What a user may do, as a list: for showing it to people, and never for deciding by it. */
export interface Rules {
  readonly resource: readonly ResourceRule[];
  readonly nonResource: readonly NonResourceRule[];
  /** Set when somebody decides who cannot say beforehand what. */
  readonly incomplete: boolean;
}

export interface ResourceRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
}

export interface NonResourceRule {
  readonly verbs: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

export const noRules: Rules = { resource: [], nonResource: [], incomplete: false };

export const everything: Rules = {
  resource: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
  nonResource: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
  incomplete: false,
};

/** What all of them allow together. */
export async function allRules(authorizers: readonly Authorizer[], user: UserInfo, namespace: string): Promise<Rules> {
  const found = await Promise.all(
    authorizers.map(async (one) => (await one.rulesOf?.(user, namespace)) ?? { ...noRules, incomplete: true }),
  );
  return {
    resource: found.flatMap(({ resource }) => resource),
    nonResource: found.flatMap(({ nonResource }) => nonResource),
    incomplete: found.some(({ incomplete }) => incomplete),
  };
}
