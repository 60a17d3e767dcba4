import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { describeWithKubectl, type Kubectl, openKubectl, rows } from './kubectl.ts';

describeWithKubectl('kubectl asks', () => {
  let kubectl: Kubectl;
  beforeAll(async () => {
    kubectl = await openKubectl();
  });
  afterAll(() => kubectl.close());

  test('whoami, for itself and for an impersonated user', async () => {
    expect(rows(await kubectl.stdoutOf('auth whoami'))).toContainEqual(['Username', 'admin']);
    expect(rows(await kubectl.stdoutOf('auth whoami --as=bob --as-group=devs --as-uid=u7')).slice(1)).toEqual([
      ['Username', 'bob'],
      ['UID', 'u7'],
      ['Groups', '[devs', 'system:authenticated]'],
    ]);
  });

  test('can-i', async () => {
    expect(await kubectl.stdoutOf('auth can-i create sa')).toBe('yes\n');
    expect(await kubectl.run('auth can-i create sa --as=bob')).toMatchObject({ code: 1, out: 'no\n' });
    expect(rows(await kubectl.stdoutOf('auth can-i --list'))).toContainEqual(['*.*', '[]', '[]', '[*]']);
    expect(await kubectl.run('get sa --as=bob')).toMatchObject({
      code: 1,
      error: expect.stringContaining('User "bob"'),
    });
  });
});
