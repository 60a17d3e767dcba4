import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { describeWithKubectl, type Kubectl, openKubectl, rows } from './kubectl.ts';

describeWithKubectl('kubectl and namespaces', () => {
  let kubectl: Kubectl;
  beforeAll(async () => {
    kubectl = await openKubectl();
  });
  afterAll(() => kubectl.close());

  test('are created, shown, described and deleted, and deletion can be waited for', async () => {
    expect(await kubectl.stdoutOf('create ns crew')).toBe('namespace/crew created\n');
    expect(rows(await kubectl.stdoutOf('get ns crew'))).toEqual([
      ['NAME', 'STATUS', 'AGE'],
      ['crew', 'Active', expect.stringMatching(/^\d+s$/)],
    ]);
    expect(await kubectl.stdoutOf('describe ns crew')).toMatch(/Name:\s+crew\n[^]*Status:\s+Active/);
    await kubectl.stdoutOf('create sa robot -n crew');
    await kubectl.stdoutOf('delete ns crew --wait --timeout=30s');
    expect(await kubectl.run('get ns crew')).toMatchObject({ code: 1, error: expect.stringContaining('NotFound') });
    expect(await kubectl.stdoutOf('get sa -n crew -o name')).toBe('');
  });

  test('of the system cannot be deleted', async () => {
    expect(await kubectl.run('delete ns kube-system')).toMatchObject({
      code: 1,
      error: expect.stringContaining('Forbidden'),
    });
  });
});
