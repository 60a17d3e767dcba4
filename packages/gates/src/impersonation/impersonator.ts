import { type Call, throwIfAborted } from '@cluster-apiserver/base';
import type { AccessDecision, AccessQuestion, UserInfo } from '@cluster-apiserver/model';
import type { Authorizer } from '../authorization/authorizer.ts';
import { modes, type Part } from './modes.ts';
import type { ImpersonatedUser } from './impersonated-user.ts';

/** What a caller asked for and may not do. */
export interface ImpersonationRefusal {
  readonly attributes: AccessQuestion;
  readonly verdict: AccessDecision['verdict'];
  readonly reason?: string | undefined;
}

export type Impersonation =
  | {
      readonly user: UserInfo;
      /** The constrained verb that allowed it, for the audit event; undefined for the classic `impersonate`. */
      readonly constraint?: string | undefined;
    }
  | { readonly refused: ImpersonationRefusal };

/** Decides whom the sender of a request may act for in this request. */
export type Impersonator = (wanted: ImpersonatedUser, request: AccessQuestion, call: Call) => Promise<Impersonation>;

/** Callers whose last mode is remembered: about 100 bytes each. Forgetting one costs it a few questions. */
const rememberedCallersMax = 10_000;

/**
 * Tries one mode of impersonation after the other, constrained ones before the classic verb, and starts with the one
 * that allowed the caller last: most callers only ever use one. The first refusal is the answer, so after a success by
 * the classic verb refusals name that verb.
 */
export function createImpersonator(authorizer: Authorizer): Impersonator {
  const lastModes = new Map<string, number>();
  const remember = (caller: string, mode: number): void => {
    lastModes.delete(caller);
    lastModes.set(caller, mode);
    if (lastModes.size > rememberedCallersMax) lastModes.delete(lastModes.keys().next().value as string);
  };
  return async (wanted, request, call) => {
    const caller = request.user.name;
    const last = lastModes.get(caller);
    const order = last === undefined ? allModes : [last, ...allModes.filter((mode) => mode !== last)];
    let refused: ImpersonationRefusal | undefined;
    for (const index of order) {
      const mode = modes[index] as (typeof modes)[number];
      if (!mode.applies(wanted, request.user)) continue;
      const found = await findRefusal(mode.parts(wanted, request), authorizer, call);
      if (!found) {
        remember(caller, index);
        return { user: mode.toUser(wanted), constraint: mode.constraint };
      }
      // As long as one of the modes cannot be decided, the caller should come again.
      if (!refused || (found.verdict === 'notReady' && refused.verdict !== 'notReady')) refused = found;
    }
    return { refused: refused as ImpersonationRefusal }; // the classic mode applies to everybody
  };
}

const allModes: readonly number[] = modes.map((_, index) => index);

/** The parts one after the other, as the reference asks about them. */
async function findRefusal(
  parts: readonly Part[],
  authorizer: Authorizer,
  call: Call,
): Promise<ImpersonationRefusal | undefined> {
  for (const { forbidden, wildcard, questions } of parts) {
    if (forbidden) return { ...forbidden, verdict: 'deny' };
    if (wildcard && !(await findFirstRefused([wildcard], authorizer, call))) continue;
    const refused = await findFirstRefused(questions, authorizer, call);
    if (refused) return refused;
  }
  return undefined;
}

/** Questions under way at once: each may be a webhook that everybody else asks, too. */
const concurrentMax = 8;

/** The first question alone, which most refusals answer, and the others some at a time. */
async function findFirstRefused(
  questions: readonly AccessQuestion[],
  authorizer: Authorizer,
  call: Call,
): Promise<ImpersonationRefusal | undefined> {
  for (let at = 0; at < questions.length; ) {
    throwIfAborted(call);
    const some = questions.slice(at, at === 0 ? 1 : at + concurrentMax);
    at += some.length;
    const decisions = await Promise.all(some.map(async (attributes) => authorizer.authorize(attributes, call)));
    for (const [index, decision] of decisions.entries())
      if (decision.verdict !== 'allow') return toRefusal(decision, some[index] as AccessQuestion);
  }
  return undefined;
}

/** An authorizer that fails has not allowed it: unlike for the request itself that is a refusal, with the error told. */
const toRefusal = ({ verdict, reason, error }: AccessDecision, attributes: AccessQuestion): ImpersonationRefusal => ({
  attributes,
  verdict,
  reason: [error?.message, reason].filter(Boolean).join(': ') || undefined,
});
