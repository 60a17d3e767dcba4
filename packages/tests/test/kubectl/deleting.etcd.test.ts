import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { account, describeWithKubectl, event, type Kubectl, openKubectl } from './kubectl.ts';

describeWithKubectl('kubectl deletes and waits', () => {
  let kubectl: Kubectl;
  beforeAll(async () => {
    kubectl = await openKubectl();
  });
  afterAll(() => kubectl.close());

  const names = async (namespace: string): Promise<string> => kubectl.stdoutOf(`get sa -n ${namespace} -o name`);

  test.each(['background', 'foreground', 'orphan'])('with --cascade=%s', async (cascade) => {
    await kubectl.stdoutOf(`create sa owner -n ${cascade}`);
    const uid = await kubectl.stdoutOf(`get sa owner -n ${cascade} -o jsonpath={.metadata.uid}`);
    const owner = { apiVersion: 'v1', kind: 'ServiceAccount', name: 'owner', uid, blockOwnerDeletion: true };
    await kubectl.stdoutOf(`create -n ${cascade} -f -`, account('child', { metadata: { ownerReferences: [owner] } }));
    expect(await kubectl.stdoutOf(`delete sa owner -n ${cascade} --cascade=${cascade}`)).toContain('"owner" deleted');
    if (cascade === 'background') await kubectl.stdoutOf(`wait sa/child -n ${cascade} --for=delete --timeout=20s`);
    if (cascade !== 'orphan') return expect(await names(cascade)).toBe('');
    expect(await kubectl.stdoutOf(`get sa -n ${cascade} -o jsonpath={.items[*].metadata.ownerReferences}`)).toBe('');
    expect(await names(cascade)).toBe('serviceaccount/child\n');
  });

  test('an object with a finalizer is deleted when the finalizer is removed, and not before', async () => {
    await kubectl.stdoutOf('create -f -', account('held', { metadata: { finalizers: ['example.com/hold'] } }));
    expect(await kubectl.run('delete sa held --timeout=1s')).toMatchObject({
      code: 1,
      error: expect.stringContaining('timed out waiting for the condition'),
    });
    expect(await kubectl.stdoutOf('delete sa held --wait=false')).toContain('"held" deleted');
    expect(await kubectl.stdoutOf('get sa held -o jsonpath={.metadata.deletionTimestamp}')).not.toBe('');
    const waiting = kubectl.start('wait sa/held --for=delete --timeout=20s -v=6');
    await waiting.waitForOutput(/watch=true/);
    await kubectl.stdoutOf(['patch', 'sa', 'held', '--type=merge', '-p', '{"metadata":{"finalizers":null}}']);
    await waiting.waitForOutput(/serviceaccount\/held condition met/);
    expect(await kubectl.run('delete sa held')).toMatchObject({
      code: 1,
      error: 'Error from server (NotFound): serviceaccounts "held" not found\n',
    });
    expect(await kubectl.stdoutOf('delete sa held --ignore-not-found')).toBe('');
  });

  test('by label, by field, and all', async () => {
    for (const name of ['a', 'b', 'c', 'd']) await kubectl.stdoutOf(`create sa ${name} -n many`);
    await kubectl.stdoutOf('label sa a b -n many colour=red');
    await kubectl.stdoutOf('delete sa -n many -l colour=red');
    expect(await names('many')).toBe('serviceaccount/c\nserviceaccount/d\n');
    await kubectl.stdoutOf('delete sa -n many --field-selector metadata.name=c');
    expect(await names('many')).toBe('serviceaccount/d\n');
    await kubectl.stdoutOf('delete sa -n many --all');
    expect(await kubectl.run('get sa -n many')).toMatchObject({
      out: '',
      error: 'No resources found in many namespace.\n',
    });
  });

  test('objects of a file, without validation', async () => {
    await kubectl.stdoutOf('create -n file -f -', account('a'));
    await kubectl.stdoutOf(
      'create -n file -f -',
      event('e', { involvedObject: { kind: 'Thing', name: 'a', namespace: 'file' } }),
    );
    await kubectl.stdoutOf('delete -n file -f - --now', account('a'));
    await kubectl.stdoutOf('delete event e -n file --grace-period=0 --force');
    expect(await kubectl.stdoutOf('get sa,events -n file -o name')).toBe('');
  });

  test('waits for conditions and for deletion', async () => {
    await kubectl.stdoutOf('create sa slow');
    const mount = ['wait', 'sa/slow', '--timeout=20s', '--for=jsonpath={.automountServiceAccountToken}=false'];
    const waiting = kubectl.start(mount);
    await kubectl.stdoutOf(['patch', 'sa', 'slow', '-p', '{"automountServiceAccountToken":false}']);
    await waiting.waitForOutput(/serviceaccount\/slow condition met/);
    const created = kubectl.start('wait sa/late --for=create --timeout=20s');
    await kubectl.stdoutOf('create sa late');
    await created.waitForOutput(/serviceaccount\/late condition met/);
    expect(await kubectl.run('wait sa/late --for=delete --timeout=1s')).toMatchObject({
      code: 1,
      error: expect.stringContaining('timed out waiting for the condition'),
    });
  });
});
