/** What is refused first, and how often an error is listed, where kube-apiserver checks something several times. */
import { describe, expect, test } from '@jest/globals';
import { servedResources, validObject } from './resources.ts';
import { patchTypes, useServer } from './use-server.ts';

const served = useServer();
const { send, create } = served;
const { json, merge } = patchTypes;

/** How often an update lists an error of a label; other kinds check the object and the change once more each. */
const listed: Readonly<Record<string, number>> = {
  Event: 2,
  FlowSchema: 3,
  Lease: 3,
  LimitRange: 3,
  MutatingAdmissionPolicy: 3,
  MutatingAdmissionPolicyBinding: 3,
  MutatingWebhookConfiguration: 3,
  PriorityLevelConfiguration: 3,
  ResourceQuota: 3,
  ValidatingAdmissionPolicy: 3,
  ValidatingAdmissionPolicyBinding: 3,
  ValidatingWebhookConfiguration: 3,
};

describe.each(servedResources)('$apiVersion $kind', (place) => {
  const one = `${place.path}/x`;

  test.each([
    ['no JSON', '{', merge],
    ['a list', [], merge],
    ['no list', {}, json],
    ['an operation that is a text', ['x'], json],
  ])('a patch that is %s is refused after the missing object', async (_, patch, type) => {
    expect((await send('PATCH', one, patch, type)).status).toBe(404);
    await create(place);
    expect((await send('PATCH', one, patch, type)).status).toBe(400);
  });

  test('an update lists the error of a label once for each check', async () => {
    await create(place);
    const { status, body } = await send('PATCH', one, { metadata: { labels: { 'a/b/c': '' } } }, merge);
    const fields = body.details?.causes?.map(({ field }) => field);
    const count = listed[place.kind] ?? (place.isCustom ? 3 : 4);
    expect([status, fields]).toEqual([422, Array.from({ length: count }, () => 'metadata.labels')]);
  });

  test('a resourceVersion of a new object is refused after all else, and only if it is a number', async () => {
    const make = (metadata: object) => send('POST', place.path, validObject(place, metadata));
    expect((await make({ resourceVersion: '5', labels: { 'a/b/c': '' } })).status).toBe(422);
    expect((await make({ resourceVersion: '5' })).status).toBe(400);
    expect((await make({ resourceVersion: 'x' })).status).toBe(201);
  });

  test.each(['uid=other', 'resourceVersion=1'])('?%s is a precondition of a deletion without a body', async (query) => {
    await create(place);
    expect((await send('DELETE', `${one}?${query}`)).status).toBe(409);
    expect((await send('DELETE', `${one}?${query}`, {})).status).toBe(200);
  });

  test('a watch of one name refuses a selector that its name does not match', async () => {
    const path = place.path.replace(place.apiVersion, `${place.apiVersion}/watch`);
    const watch = (selector: string) =>
      send('GET', `${path}/x?timeoutSeconds=1&fieldSelector=${encodeURIComponent(selector)}`);
    expect((await watch('metadata.name=y')).status).toBe(400);
    expect((await watch('metadata.name!=x')).status).toBe(400);
  });
});
