/** Every decision of two webhooks in a chain, against a model that says in words what each of them decides. */
import { expect, test } from '@jest/globals';
import type { AccessDecision } from '@cluster-apiserver/model';
import { alwaysAllow, type Authorizer, uniteAuthorizers } from '../../src/index.ts';
import {
  call,
  condition,
  fails,
  hangs,
  questionOf,
  says,
  type Script,
  scriptedWebhook,
  SkippingClock,
} from './scripted-webhook.ts';

const clock = new SkippingClock();

const answers: Readonly<Record<string, Script>> = {
  allow: says({ allowed: true }),
  deny: says({ allowed: false, denied: true }),
  noOpinion: says({ allowed: false }),
  both: says({ allowed: true, denied: true }),
  malformed: () => ({ status: 200, body: '{}' }),
  error: fails(500),
  timeout: hangs(clock),
};
const conditions: Readonly<Record<string, readonly string[]>> = {
  none: [],
  true: ['true', "user == 'ann'"],
  false: ['true', "user == 'bob'"],
  error: ["resourceAttributes.verb == 'get'", 'true'],
  'error and false': ["request.resourceAttributes.verb == 'get'", 'false'],
  'false and error': ['false', "extra['a'] == ['b']"],
};
const policies = ['NoOpinion', 'Deny'] as const;

interface Setting {
  readonly answer: string;
  readonly when: string;
  readonly failurePolicy: (typeof policies)[number];
}

interface Expected {
  readonly verdict: AccessDecision['verdict'];
  readonly failed: boolean;
  readonly asked: boolean;
}

/** The specification: conditions first, then the answer, and the failure policy for what is none. */
function modelOf({ answer, when, failurePolicy }: Setting): Expected {
  const onFailure = failurePolicy === 'Deny' ? 'deny' : 'noOpinion';
  const skipped: Expected = { verdict: 'noOpinion', failed: false, asked: false };
  if (when === 'false' || when === 'error and false' || when === 'false and error') return skipped;
  if (when === 'error') return failurePolicy === 'Deny' ? { verdict: 'deny', failed: true, asked: false } : skipped;
  switch (answer) {
    case 'allow':
    case 'deny':
    case 'noOpinion':
      return { verdict: answer, failed: false, asked: true };
    case 'both':
      return { verdict: 'deny', failed: true, asked: true };
    default:
      return { verdict: onFailure, failed: true, asked: true };
  }
}

/** The first decision counts. Without one, a failure of any of them is a failure. */
function chainModelOf(all: readonly Expected[]): Omit<Expected, 'asked'> & { readonly asked: readonly boolean[] } {
  const at = all.findIndex(({ verdict }) => verdict !== 'noOpinion');
  const decided = all[at];
  const asked = all.map((one, index) => one.asked && (at < 0 || index <= at));
  if (decided) return { verdict: decided.verdict, failed: decided.failed, asked };
  return { verdict: 'noOpinion', failed: all.some(({ failed }) => failed), asked };
}

const settings: readonly Setting[] = Object.keys(answers).flatMap((answer) =>
  Object.keys(conditions).flatMap((when) => policies.map((failurePolicy) => ({ answer, when, failurePolicy }))),
);

const open = ({ answer, when, failurePolicy }: Setting) =>
  scriptedWebhook(clock, answers[answer] as Script, {
    failurePolicy,
    matchConditions: (conditions[when] ?? []).map(condition),
  });

const decide = async (authorizers: readonly Authorizer[]): Promise<Pick<Expected, 'verdict' | 'failed'>> => {
  const { verdict, error } = await uniteAuthorizers(authorizers).authorize(questionOf('ann'), call);
  return { verdict, failed: error !== undefined };
};

test('two chained webhooks decide as the model does, whatever they answer', async () => {
  const differing: unknown[] = [];
  let count = 0;
  for (const first of settings)
    for (const second of settings) {
      const hooks = [open(first), open(second)];
      const { verdict, failed } = await decide(hooks.map(({ authorizer }) => authorizer));
      const found = { verdict, failed, asked: hooks.map(({ asked }) => asked.length > 0) };
      const expected = chainModelOf([modelOf(first), modelOf(second)]);
      count++;
      if (JSON.stringify(found) !== JSON.stringify(expected)) differing.push({ first, second, found, expected });
    }
  expect(count).toBe((7 * 6 * 2) ** 2);
  expect(differing).toEqual([]);
});

test.each(settings)('before an authorizer that allows everything: %j', async (setting) => {
  const { verdict, failed } = modelOf(setting);
  const found = await decide([open(setting).authorizer, alwaysAllow]);
  expect(found).toEqual(verdict === 'deny' ? { verdict, failed } : { verdict: 'allow', failed: false });
});
