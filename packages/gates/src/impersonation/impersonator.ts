import { BoundedCache, bytesOfText, type Call, keepText, requireValue, throwIfAborted } from '@cluster-apiserver/base';
import type { AccessDecision, AccessAttributes, UserInfo } from '@cluster-apiserver/model';
import type { Authorizer } from '../authorization/authorizer.ts';
import { type Mode, modes, type UserPart } from './modes.ts';
import type { ImpersonatedUser } from './impersonated-user.ts';

/** The permission that the requester lacks. */
export interface ImpersonationRefusal {
  readonly attributes: AccessAttributes;
  readonly verdict: AccessDecision['verdict'];
  readonly reason?: string | undefined;
}

export type Impersonation =
  | {
      readonly user: UserInfo;
      /** The constrained verb that allowed it, for the audit event; undefined for the verb `impersonate`. */
      readonly constraint?: string | undefined;
    }
  | { readonly refused: ImpersonationRefusal };

/** Decides whether a requester may impersonate a user for this request. */
export type Impersonator = (wanted: ImpersonatedUser, request: AccessAttributes, call: Call) => Promise<Impersonation>;

/** Maximum number and size of cached modes, about 100 bytes each. Eviction costs a few additional checks. */
const rememberedCallersMax = 10_000;
const rememberedBytesMax = 4 * 1024 * 1024;

/**
 * Tries the modes of impersonation in order, constrained ones before the verb `impersonate`. Starts with the mode that last
 * allowed this requester: most use only one. The first refusal is returned.
 */
export function createImpersonator(authorizer: Authorizer): Impersonator {
  const lastModes = new BoundedCache<Mode>({
    entriesMax: rememberedCallersMax,
    bytesMax: rememberedBytesMax,
    bytesOf: bytesOfText,
  });
  return async (wanted, request, call) => {
    const caller = request.user.name;
    const last = lastModes.get(caller);
    const order = last === undefined ? modes : [last, ...modes.filter((mode) => mode !== last)];
    let refused: ImpersonationRefusal | undefined;
    for (const mode of order) {
      if (!mode.applies(wanted, request.user)) continue;
      const found = await findRefusal(mode.parts(wanted, request), authorizer, call);
      if (!found) {
        if (mode !== last) lastModes.set(keepText(caller), mode);
        return { user: mode.toUser(wanted), constraint: mode.constraint };
      }
      // If one of the modes cannot be decided yet, the client should retry.
      if (!refused || (found.verdict === 'notReady' && refused.verdict !== 'notReady')) refused = found;
    }
    return { refused: requireValue(refused, 'the last mode always applies') };
  };
}

/** Checks the parts in the order of kube-apiserver. */
async function findRefusal(
  parts: readonly UserPart[],
  authorizer: Authorizer,
  call: Call,
): Promise<ImpersonationRefusal | undefined> {
  for (const { forbidden, wildcard, checks } of parts) {
    if (forbidden) return { ...forbidden, verdict: 'deny' };
    if (wildcard && !(await findFirstRefused([wildcard], authorizer, call))) continue;
    const refused = await findFirstRefused(checks, authorizer, call);
    if (refused) return refused;
  }
  return undefined;
}

/** Maximum number of concurrent checks: each may be a call to a shared webhook. */
const concurrentMax = 8;

/** Checks the first check alone, which most refusals fail, and the others concurrently. */
async function findFirstRefused(
  checks: readonly AccessAttributes[],
  authorizer: Authorizer,
  call: Call,
): Promise<ImpersonationRefusal | undefined> {
  for (let at = 0; at < checks.length; ) {
    throwIfAborted(call);
    const some = checks.slice(at, at === 0 ? 1 : at + concurrentMax);
    at += some.length;
    const answers = await Promise.all(
      some.map(async (attributes) => ({ attributes, decision: await authorizer.authorize(attributes, call) })),
    );
    for (const { attributes, decision } of answers)
      if (decision.verdict !== 'allow') return toRefusal(decision, attributes);
  }
  return undefined;
}

/** A failing authorizer is a refusal with its error as the reason, unlike for the request itself. */
const toRefusal = ({ verdict, reason, error }: AccessDecision, attributes: AccessAttributes): ImpersonationRefusal => ({
  attributes,
  verdict,
  reason: [error?.message, reason].filter(Boolean).join(': ') || undefined,
});
