import { expect, test } from '@jest/globals';
import type { Authenticated } from '../facts.ts';
import { requireVerb } from './authorize.ts';

test('what a request asks for besides its own verb has to be allowed by that name', async () => {
  const asked: string[] = [];
  const authorizer = {
    authorize: ({ verb }: { readonly verb: string }) => {
      asked.push(verb);
      return { verdict: verb === 'delete' ? 'allow' : 'noOpinion' } as const;
    },
  };
  const resource = { group: '', version: 'v1', plural: 'events', namespace: 'a', name: 'b', subresource: undefined };
  const info = { verb: 'delete', path: '/api/v1/namespaces/a/events/b', query: new URLSearchParams(), resource };
  // Only what authorization looks at.
  const facts = { info, user: { name: 'ann', groups: [] } } as unknown as Authenticated;
  await requireVerb(authorizer, facts, 'delete');
  await expect(requireVerb(authorizer, facts, 'unsafe-delete-ignore-read-errors')).rejects.toMatchObject({
    reason: 'Forbidden',
    message: expect.stringContaining('User "ann" cannot unsafe-delete-ignore-read-errors resource "events"'),
  });
  expect(asked).toEqual(['delete', 'unsafe-delete-ignore-read-errors']);
});
