import { expect, test } from '@jest/globals';
import { callUntil } from '@cluster-apiserver/base';
import { AuthorizationFailedError } from '@cluster-apiserver/gates';
import type { AuthenticatedContext } from '../request-context.ts';
import { authorizeUnsafeDeletion } from '../handlers/deletion.ts';
import { parseRequestInfo } from '../request-info.ts';
import { attributesOf, forbiddenError, requireVerb, selectedName } from './authorize.ts';

test('an additional verb of a request must be authorized', async () => {
  const asked: string[] = [];
  const authorizer = {
    authorize: ({ verb }: { readonly verb: string }) => {
      asked.push(verb);
      return { verdict: verb === 'delete' ? 'allow' : 'noOpinion' } as const;
    },
  };
  const resource = { group: '', version: 'v1', plural: 'events', namespace: 'a', name: 'b', subresource: undefined };
  const info = { verb: 'delete', path: '/api/v1/namespaces/a/events/b', query: new URLSearchParams(), resource };
  // Only the properties that authorization reads.
  const context = { info, user: { name: 'ann', groups: [] }, call: callUntil(1) } as unknown as AuthenticatedContext;
  await requireVerb(authorizer, context, 'delete');
  await expect(requireVerb(authorizer, context, 'unsafe-delete-ignore-read-errors')).rejects.toMatchObject({
    reason: 'Forbidden',
    message: expect.stringContaining('User "ann" cannot unsafe-delete-ignore-read-errors resource "events"'),
  });
  const reword = (reason: string): string => `not permitted, reason: ${reason}`;
  await expect(requireVerb(authorizer, context, 'dance', reword)).rejects.toMatchObject({
    message: 'events "b" is forbidden: not permitted, reason: ',
  });
  await expect(authorizeUnsafeDeletion(context, true, authorizer)).rejects.toMatchObject({
    message: 'events "b" is forbidden: not permitted to do "unsafe-delete-ignore-read-errors"',
  });
  expect(asked).toEqual([
    'delete',
    ...['unsafe-delete-ignore-read-errors', 'dance', 'unsafe-delete-ignore-read-errors'],
  ]);
});

const [logged, other] = [new AuthorizationFailedError('hook'), new Error('rbac')];
test.each([
  ['of a webhook, which logs it', logged, true],
  ['of two webhooks', new AggregateError([logged, logged]), true],
  ['of RBAC', other, false],
  ['of RBAC and a webhook', new AggregateError([other, logged]), false],
])('an error %s is logged once', (_, error, isLogged) => {
  const refusal = forbiddenError(attributesOf(contextOf('GET', '/api')), { verdict: 'noOpinion', error });
  expect(refusal).toMatchObject({ code: 500, isLogged, cause: error });
});

const contextOf = (method: string, target: string): AuthenticatedContext =>
  ({ info: parseRequestInfo(method, target), user: { name: 'ann', groups: [] } }) as unknown as AuthenticatedContext;

test.each([
  ['/api/v1/namespaces/a/serviceaccounts/x/token', 'serviceaccounts "x" is forbidden', '"serviceaccounts/token"'],
  ['/api/v1/namespaces/x/finalize', 'namespaces "x" is forbidden', '"namespaces/finalize"'],
  ['/apis/b.io/v1/namespaces/a/robots/x/arm', 'robots.b.io "x" is forbidden', '"robots/arm"'],
  ['/apis/b.io/v1/namespaces/a/robots/x', 'robots.b.io "x" is forbidden', '"robots"'],
])(
  'a refusal names the object by its resource, and what was done by the subresource: %s',
  (path, subject, resource) => {
    const { message } = forbiddenError(attributesOf(contextOf('PUT', path)), { verdict: 'noOpinion' });
    expect(message).toContain(subject);
    expect(message).toContain(`cannot update resource ${resource}`);
  },
);

test.each([
  ['GET', '/api/v1/namespaces/a/events?fieldSelector=metadata.name%3Dx', 'x'],
  ['GET', '/api/v1/namespaces/a/events?watch=true&fieldSelector=metadata.name%3Dx', 'x'],
  ['GET', '/api/v1/watch/namespaces/a/events?fieldSelector=metadata.name%3D%3Dx', undefined],
  ['GET', '/api/v1/watch/namespaces/a/events/x?fieldSelector=metadata.name%3D%3Dy', 'x'],
  ['GET', '/apis/events.k8s.io/v1/events?fieldSelector=type%3DNormal,metadata.name%3Dx', 'x'],
  ['GET', '/api/v1/namespaces/a/events?fieldSelector=metadata.name!%3Dx', undefined],
  ['DELETE', '/api/v1/namespaces/a/events?fieldSelector=metadata.name%3Dx', undefined],
])('%s %s is about the object %j', (method, target, name) => {
  const context = contextOf(method, target);
  expect(attributesOf(context).resource?.name).toBe(name);
  expect(context.info.resource?.name ?? selectedName(context.info)).toBe(name);
});
