import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { describeWithKubectl, type Kubectl, openKubectl, rows } from './kubectl.ts';

describeWithKubectl('kubectl finds out', () => {
  let kubectl: Kubectl;
  beforeAll(async () => {
    kubectl = await openKubectl();
    await kubectl.stdoutOf('create sa doomed');
  });
  afterAll(() => kubectl.close());

  test("the server's version", async () => {
    const { serverVersion } = JSON.parse(await kubectl.stdoutOf('version -o json')) as { serverVersion: object };
    expect(serverVersion).toMatchObject({ major: '1', minor: '36' });
  });

  test('the kinds with their short names', async () => {
    const resources = rows(await kubectl.stdoutOf('api-resources --no-headers'));
    expect(resources).toContainEqual(['events', 'ev', 'v1', 'true', 'Event']);
    expect(resources).toContainEqual(['events', 'ev', 'events.k8s.io/v1', 'true', 'Event']);
    expect(resources).toContainEqual(['namespaces', 'ns', 'v1', 'false', 'Namespace']);
    expect(resources).toContainEqual(['serviceaccounts', 'sa', 'v1', 'true', 'ServiceAccount']);
    expect(await kubectl.stdoutOf('api-resources --api-group=events.k8s.io -o name')).toBe('events.events.k8s.io\n');
    expect(await kubectl.stdoutOf('api-resources -o wide')).toContain(
      'create,delete,deletecollection,get,list,patch,update,watch',
    );
    const versions = rows(await kubectl.stdoutOf('api-versions'));
    expect(versions).toEqual(expect.arrayContaining([['events.k8s.io/v1'], ['v1']]));
  });

  test('the documentation of the kinds', async () => {
    const account = await kubectl.stdoutOf('explain sa');
    expect(account).toMatch(/^KIND: +ServiceAccount\nVERSION: +v1\n/);
    // Every field has a description on the next line.
    expect(account).toMatch(/ {2}secrets\t<\[\]ObjectReference>\n {4}Secrets in the same namespace that pods/);
    const fields = account.slice(account.indexOf('FIELDS:'));
    expect(fields.match(/^ {2}\w+\t<.*>\n {4}\w/gm)).toHaveLength(fields.match(/^ {2}\w+\t/gm)?.length ?? 0);
    const events = await kubectl.stdoutOf('explain events --recursive');
    expect(events).toMatch(/involvedObject\s<ObjectReference> -required-/);
    expect(events).toMatch(/series\s<EventSeries>\n\s+count\s<integer>/);
    expect(await kubectl.stdoutOf('explain events --api-version=events.k8s.io/v1')).toContain(
      'regarding\t<ObjectReference>',
    );
    expect(await kubectl.run('explain sa.colour')).toMatchObject({
      code: 1,
      error: 'error: field "colour" does not exist\n',
    });
  });

  test('the same from OpenAPI 2, which it reads as protobuf', async () => {
    const account = await kubectl.stdoutOf('explain sa --output=plaintext-openapiv2');
    expect(account).toMatch(/ secrets\t<\[\]Object>\n {5}Secrets in the same namespace that pods/);
    expect(await kubectl.stdoutOf('explain ev.series --output=plaintext-openapiv2')).toMatch(/count\t<integer>/);
  });

  test('unknown kinds', async () => {
    expect(await kubectl.stdoutOf('get --raw /readyz')).toBe('ok');
    expect(JSON.parse(await kubectl.stdoutOf('get --raw /openapi/v3'))).toMatchObject({ paths: { 'api/v1': {} } });
    expect(await kubectl.run('get --raw /nothing')).toMatchObject({ code: 1 });
  });

  test('unchanged documents without downloading them again', async () => {
    const unchanged = async (): Promise<number> => {
      const counted = /^apiserver_request_total\{verb="GET".*code="304"\} (\d+)$/m;
      return Number(counted.exec(await kubectl.stdoutOf('get --raw /metrics'))?.[1] ?? 0);
    };
    await kubectl.stdoutOf('api-resources');
    const before = await unchanged();
    const { error } = await kubectl.run('api-resources --v=8');
    expect(requests(error)).toEqual(['GET /api?timeout=32s', 'GET /apis?timeout=32s']);
    expect(await unchanged()).toBeGreaterThanOrEqual(before + 2);
  });

  test.each<[string, string]>([
    ['get sa', 'GET /api/v1/namespaces/team/serviceaccounts?limit=500'],
    [
      'create sa direct',
      'POST /api/v1/namespaces/team/serviceaccounts?fieldManager=kubectl-create&fieldValidation=Strict',
    ],
    ['delete sa doomed --wait=false', 'DELETE /api/v1/namespaces/team/serviceaccounts/doomed'],
    ['events', 'GET /api/v1/namespaces/team/events?limit=500'],
  ])('%s, with one request and no warning', async (command, sent) => {
    await kubectl.stdoutOf('api-resources');
    const { code, error } = await kubectl.run(`${command} --v=8`);
    expect(code).toBe(0);
    expect(requests(error)).toEqual([sent]);
    expect(error).not.toMatch(/warning|fall(ing)? ?back|deprecated|Unsupported Media|Not Acceptable/i);
  });
});

/** The requests in kubectl's log. */
const requests = (log: string): string[] =>
  [...log.matchAll(/ (GET|POST|PUT|PATCH|DELETE) https:\/\/[^/]+(\S+)/g)].map(([, verb, path]) => `${verb} ${path}`);
