import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '@cluster-apiserver/testkit/until';
import { account, describeWithKubectl, event, type Kubectl, openKubectl, rows } from './kubectl.ts';

const watchLimitMs = 20_000;

describeWithKubectl('kubectl reads', () => {
  let kubectl: Kubectl;
  beforeAll(async () => {
    kubectl = await openKubectl();
    await kubectl.stdoutOf('create -f -', account('robot', { metadata: { labels: { colour: 'red' } } }));
    await kubectl.stdoutOf('create -f -', account('other', { secrets: [{ name: 'a' }] }));
    await kubectl.stdoutOf('create -n elsewhere -f -', account('third', { metadata: { labels: { colour: 'red' } } }));
  });
  afterAll(() => kubectl.close());

  test.each<[string, string, RegExp]>([
    ['as a table', 'get sa', /^NAME +AGE\nother +\d+s\nrobot +\d+s\n$/],
    ['as a wide table', 'get sa -o wide', /^NAME +AGE\nother /],
    ['without headers', 'get sa --no-headers', /^other +\d+s\nrobot +\d+s\n$/],
    ['with labels', 'get sa --show-labels', /^NAME +AGE +LABELS\nother +\d+s +<none>\nrobot +\d+s +colour=red\n$/],
    ['with a column for a label', 'get sa robot -L colour', /^NAME +AGE +COLOUR\nrobot +\d+s +red\n$/],
    ['by name', 'get sa -o name', /^serviceaccount\/other\nserviceaccount\/robot\n$/],
    ['as YAML', 'get sa other -o yaml', /^apiVersion: v1\nkind: ServiceAccount\n[^]*\nsecrets:\n- name: a\n$/],
    ['as JSON', 'get sa other -o json', /^\{\n {4}"apiVersion": "v1",\n {4}"kind": "ServiceAccount",\n/],
    ['by JSONPath', 'get sa -o jsonpath={.items[*].metadata.name}', /^other robot$/],
    ['by a template', 'get sa -o go-template={{range.items}}{{.metadata.name}};{{end}}', /^other;robot;$/],
    [
      'by custom columns',
      'get sa -o custom-columns=N:.metadata.name,C:.metadata.labels.colour',
      /^N +C\nother +<none>\nrobot +red\n$/,
    ],
    ['sorted by a field', 'get sa --sort-by=.metadata.labels.colour --no-headers', /^other.*\nrobot.*\n$/],
    ['by several names', 'get sa robot other -o name', /^serviceaccount\/robot\nserviceaccount\/other\n$/],
    ['by a label', 'get sa -l colour=red -o name', /^serviceaccount\/robot\n$/],
    ['by the absence of a label', 'get sa -l !colour -o name', /^serviceaccount\/other\n$/],
    ['by a field', 'get sa --field-selector metadata.name!=robot -o name', /^serviceaccount\/other\n$/],
    [
      'of all namespaces in pages',
      'get sa -A --chunk-size=1 --no-headers',
      /^elsewhere +third.*\n([^]*\n)?team +other.*\nteam +robot.*\n/m,
    ],
    ['of all namespaces by a label', 'get sa -A -l colour=red --no-headers', /^elsewhere +third.*\nteam +robot.*\n$/],
    ['that may be missing', 'get sa nobody --ignore-not-found', /^$/],
    [
      'as it comes',
      'get --raw /api/v1/namespaces/team/serviceaccounts?limit=1',
      /^\{"kind":"ServiceAccountList",.*"name":"other"/,
    ],
  ])('accounts %s', async (_, command, output) => {
    expect(await kubectl.stdoutOf(command)).toMatch(output);
  });

  test('several kinds in one command', async () => {
    await kubectl.stdoutOf('create -n both -f -', account('robot'));
    await kubectl.stdoutOf(
      'create -n both -f -',
      event('e', { involvedObject: { kind: 'ServiceAccount', name: 'robot', namespace: 'both' } }),
    );
    expect((await kubectl.stdoutOf('get sa,events -n both -o name')).split('\n')).toEqual([
      'serviceaccount/robot',
      'event/e',
      '',
    ]);
  });

  test('a missing object, as an error', async () => {
    expect(await kubectl.run('get sa nobody')).toMatchObject({ code: 1, error: expect.stringContaining('(NotFound)') });
    expect(await kubectl.run('get pods')).toMatchObject({
      code: 1,
      error: expect.stringContaining('the server doesn\'t have a resource type "pods"'),
    });
  });

  test('an account with its events', async () => {
    await kubectl.stdoutOf('create -n quiet -f -', account('robot'));
    const uid = await kubectl.stdoutOf('get sa robot -n quiet -o jsonpath={.metadata.uid}');
    const involvedObject = { apiVersion: 'v1', kind: 'ServiceAccount', name: 'robot', namespace: 'quiet', uid };
    await kubectl.stdoutOf('create -n quiet -f -', event('e', { involvedObject, message: 'It opened its eyes' }));
    const output = await kubectl.stdoutOf('describe sa robot -n quiet');
    expect(output).toMatch(/^Name: +robot\nNamespace: +quiet\n/);
    expect(output).toMatch(/ Normal +Woke +<unknown> +It opened its eyes\n$/);
  });

  test('a watch: existing objects as a table, then changes', async () => {
    const watch = kubectl.start('get sa -n seen -w');
    await kubectl.stdoutOf('create sa first -n seen');
    await watch.waitForOutput(/^NAME +AGE\nfirst +\d+s\n/);
    await kubectl.stdoutOf('label sa first -n seen colour=blue');
    // The header is printed once.
    expect(rows(await watch.waitForOutput(/(first.*\n){2}/)).map(([name]) => name)).toEqual(['NAME', 'first', 'first']);
    await watch.stop();
  });

  test('a watch without the list, with event types', async () => {
    await kubectl.stdoutOf('create sa before -n alone');
    const watch = kubectl.start('get sa -n alone --watch-only --output-watch-events');
    // It prints nothing before the first event, so its start cannot be observed.
    let times = 0;
    await until(
      'the watch',
      async () => {
        await kubectl.stdoutOf(`annotate sa before -n alone --overwrite times=${(times += 1)}`);
        return watch.output.includes('MODIFIED') || undefined;
      },
      watchLimitMs,
    );
    await kubectl.stdoutOf('delete sa before -n alone');
    expect(await watch.waitForOutput(/DELETED +before/)).not.toContain('ADDED');
    await watch.stop();
  });

  test('a watch of one name, as YAML', async () => {
    await kubectl.stdoutOf('create sa one -n yaml');
    const watch = kubectl.start('get sa one -n yaml -w -o yaml');
    await watch.waitForOutput(/name: one\n/);
    await kubectl.stdoutOf('create sa two -n yaml');
    await kubectl.stdoutOf('label sa one -n yaml colour=green');
    expect(await watch.waitForOutput(/colour: green\n/)).not.toContain('name: two');
    await watch.stop();
  });
});
