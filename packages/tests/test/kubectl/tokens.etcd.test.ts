import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { withAccountTokens } from '../service-accounts/with-account-tokens.ts';
import { describeWithKubectl, type Kubectl, openKubectl, rows } from './kubectl.ts';

describeWithKubectl('kubectl asks for tokens', () => {
  let kubectl: Kubectl;
  beforeAll(async () => {
    kubectl = await openKubectl(withAccountTokens());
    await kubectl.stdoutOf('create sa robot');
  });
  afterAll(() => kubectl.close());

  test('that authenticates as the account', async () => {
    const token = await kubectl.stdoutOf('create token robot --duration=20m');
    expect(rows(await kubectl.stdoutOf(`auth whoami --token=${token.trim()}`))).toContainEqual([
      'Username',
      'system:serviceaccount:team:robot',
    ]);
  });

  test.each([
    ['bound to a missing object', '--bound-object-kind=Secret --bound-object-name=none', 'secrets "none" not found'],
    ['for a minute', '--duration=1m', 'may not specify a duration less than 10 minutes'],
  ])('but not %s', async (_which, flags, error) => {
    expect(await kubectl.run(`create token robot ${flags}`)).toMatchObject({
      code: 1,
      error: expect.stringContaining(error),
    });
  });
});
