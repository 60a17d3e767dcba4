import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { account, describeWithKubectl, event, type Kubectl, openKubectl, rows } from './kubectl.ts';

describeWithKubectl('kubectl tells events', () => {
  let kubectl: Kubectl;
  beforeAll(async () => {
    kubectl = await openKubectl();
    const [early, late] = ['2024-01-01T00:00:00Z', '2024-01-02T00:00:00Z'];
    const source = { component: 'clock' };
    // The first event by name is the last one by time.
    await kubectl.stdoutOf(
      'create -f -',
      event('a', { lastTimestamp: late, firstTimestamp: early, count: 7, source, message: 'tick' }),
    );
    await kubectl.stdoutOf('create -f -', event('b', { lastTimestamp: early, type: 'Warning', message: 'tock' }));
  });
  afterAll(() => kubectl.close());

  test('as a server-side table', async () => {
    expect(rows(await kubectl.stdoutOf('get events'))).toEqual([
      ['LAST', 'SEEN', 'TYPE', 'REASON', 'OBJECT', 'MESSAGE'],
      [expect.stringMatching(/d$/), 'Normal', 'Woke', 'serviceaccount/robot', 'tick'],
      [expect.stringMatching(/d$/), 'Warning', 'Woke', 'serviceaccount/robot', 'tock'],
    ]);
    const [heads, first] = rows(await kubectl.stdoutOf('get events -o wide'));
    expect(heads?.slice(5)).toEqual(['SUBOBJECT', 'SOURCE', 'MESSAGE', 'FIRST', 'SEEN', 'COUNT', 'NAME']);
    expect(first?.slice(4)).toEqual(['clock', 'tick', expect.stringMatching(/d$/), '7', 'a']);
  });

  test('sorted by time', async () => {
    const sorted = rows(await kubectl.stdoutOf('get events --sort-by=.lastTimestamp --no-headers'));
    expect(sorted.map((row) => row.at(-1))).toEqual(['tock', 'tick']);
  });

  test('with `kubectl events`, of one object and of one type', async () => {
    expect(rows(await kubectl.stdoutOf('events --no-headers')).map((row) => row.at(-1))).toEqual(['tock', 'tick']);
    expect(await kubectl.stdoutOf('events')).toMatch(/\(x7 over /);
    expect(rows(await kubectl.stdoutOf('events --types=Warning --no-headers')).map((row) => row.at(-1))).toEqual([
      'tock',
    ]);
    await kubectl.stdoutOf('create -f -', account('robot'));
    expect(rows(await kubectl.stdoutOf('events --for sa/robot --no-headers'))).toHaveLength(2);
    expect(await kubectl.run('events --for sa/other')).toMatchObject({
      code: 0,
      error: expect.stringContaining('No events found'),
    });
  });

  test('by fields of the involved object', async () => {
    const selected = 'get events -o name --field-selector';
    expect(await kubectl.stdoutOf(`${selected} involvedObject.name=robot,type=Warning`)).toBe('event/b\n');
    expect(await kubectl.stdoutOf(`${selected} reason!=Woke`)).toBe('');
  });

  test('of events.k8s.io, which are the same objects', async () => {
    expect(await kubectl.stdoutOf('get events.events.k8s.io -o jsonpath={.items[*].note}')).toBe('tick tock');
  });

  test('with a watch', async () => {
    const watch = kubectl.start('events -n fresh --watch');
    const involvedObject = { kind: 'ServiceAccount', name: 'robot', namespace: 'fresh' };
    await kubectl.stdoutOf('create -n fresh -f -', event('c', { involvedObject, message: 'ding' }));
    await watch.waitForOutput(/Normal +Woke +ServiceAccount\/robot +ding/);
    await watch.stop();
  });
});
