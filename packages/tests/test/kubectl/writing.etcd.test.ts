import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { account, describeWithKubectl, type Kubectl, openKubectl } from './kubectl.ts';

describeWithKubectl('kubectl writes', () => {
  let kubectl: Kubectl;
  beforeAll(async () => {
    kubectl = await openKubectl();
  });
  afterAll(() => kubectl.close());

  const secrets = (...names: string[]): { readonly secrets: object } => ({ secrets: names.map((name) => ({ name })) });
  const get = (name: string, template: string): Promise<string> =>
    kubectl.stdoutOf(['get', 'sa', name, '-o', `jsonpath=${template}`]);

  const list = (items: readonly string[]): string =>
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items: items.map((item) => JSON.parse(item) as object) });

  test('with protobuf bodies', async () => {
    expect(await kubectl.stdoutOf('create sa generated')).toBe('serviceaccount/generated created\n');
    expect(await kubectl.run('create sa generated')).toMatchObject({
      code: 1,
      error: 'error: failed to create serviceaccount: serviceaccounts "generated" already exists\n',
    });
  });

  test('with server-side validation', async () => {
    const strange = account('strange', { colour: 'red' });
    expect(await kubectl.run('create -f -', strange)).toMatchObject({
      code: 1,
      error: expect.stringContaining('unknown field "colour"'),
    });
    expect(await kubectl.run('create -f - --validate=warn --dry-run=server', strange)).toMatchObject({
      code: 0,
      error: expect.stringContaining('Warning: unknown field "colour"'),
    });
    expect(await kubectl.run('create -f -', account('Not_A_Name'))).toMatchObject({
      code: 1,
      error: expect.stringContaining('is invalid: metadata.name: Invalid value: "Not_A_Name"'),
    });
  });

  test('nothing in a dry run', async () => {
    expect(await kubectl.stdoutOf('create sa dry --dry-run=server')).toBe(
      'serviceaccount/dry created (server dry run)\n',
    );
    expect(await kubectl.stdoutOf('apply --dry-run=server -f -', account('dry'))).toBe(
      'serviceaccount/dry created (server dry run)\n',
    );
    expect(await kubectl.run('get sa dry')).toMatchObject({ code: 1 });
  });

  test('with client-side apply, merged by the published merge keys', async () => {
    expect(await kubectl.stdoutOf('apply -f -', account('applied', secrets('one')))).toBe(
      'serviceaccount/applied created\n',
    );
    expect(await kubectl.stdoutOf('apply -f -', account('applied', secrets('one')))).toBe(
      'serviceaccount/applied unchanged\n',
    );
    await kubectl.stdoutOf(['patch', 'sa', 'applied', '-p', JSON.stringify(secrets('mine'))]);
    expect(await kubectl.stdoutOf('apply -f -', account('applied', secrets('two')))).toBe(
      'serviceaccount/applied configured\n',
    );
    // Entries that it no longer applies are gone; entries of others stay.
    expect((await get('applied', '{.secrets[*].name}')).split(' ').toSorted()).toEqual(['mine', 'two']);
  });

  test('with server-side apply, which reports conflicts unless forced', async () => {
    const coloured = (colour: string): string => account('owned', { metadata: { labels: { colour } } });
    const apply = 'apply --server-side -f - --field-manager';
    expect(await kubectl.stdoutOf(`${apply}=one`, coloured('red'))).toBe('serviceaccount/owned serverside-applied\n');
    expect(await kubectl.run(`${apply}=two`, coloured('blue'))).toMatchObject({
      code: 1,
      error: expect.stringContaining('conflict with "one": .metadata.labels.colour'),
    });
    expect(await kubectl.stdoutOf(`${apply}=two --force-conflicts`, coloured('blue'))).toContain('serverside-applied');
    expect(await get('owned', '{.metadata.labels.colour}')).toBe('blue');
    expect(
      await kubectl.stdoutOf('get sa owned --show-managed-fields -o jsonpath={.metadata.managedFields[*].manager}'),
    ).toBe('two');
  });

  test('with server-side apply after client-side apply', async () => {
    await kubectl.stdoutOf('apply -f -', account('migrated', secrets('one')));
    expect(await kubectl.stdoutOf('apply --server-side -f -', account('migrated', secrets('two')))).toBe(
      'serviceaccount/migrated serverside-applied\n',
    );
    expect(await get('migrated', '{.secrets[*].name}')).toBe('two');
  });

  test('lists, with client-side validation by OpenAPI 2', async () => {
    const good = account('listed');
    expect(await kubectl.run('apply -f -', list([good, account('other', { colour: 'red' })]))).toMatchObject({
      code: 1,
      error: expect.stringContaining('unknown field "colour" in io.k8s.api.core.v1.ServiceAccount'),
    });
    expect(await kubectl.run('get sa listed')).toMatchObject({ code: 1 });
    expect(await kubectl.stdoutOf('apply -f -', list([good, account('other')]))).toBe(
      'serviceaccount/listed created\nserviceaccount/other created\n',
    );
  });

  test('only the objects of its files, and prunes the rest', async () => {
    const all = (...names: string[]): string =>
      list(names.map((name) => account(name, { metadata: { labels: { set: 'a' } } })));
    await kubectl.stdoutOf('apply -f -', all('kept', 'pruned'));
    const prune = 'apply -f - --prune -l set=a --prune-allowlist=core/v1/ServiceAccount';
    expect(await kubectl.stdoutOf(prune, all('kept'))).toBe(
      'serviceaccount/kept unchanged\nserviceaccount/pruned pruned\n',
    );
    expect(await kubectl.stdoutOf('get sa -l set=a -o name')).toBe('serviceaccount/kept\n');
  });

  test.each(['', '--server-side'])('nothing, but shows the difference %s', async (side) => {
    const name = side === '' ? 'here' : 'there';
    await kubectl.stdoutOf(`apply ${side} -f -`.replace('  ', ' '), account(name, secrets('one')));
    const diff = `diff ${side} -f -`.replace('  ', ' ');
    expect(await kubectl.run(diff, account(name, secrets('one')))).toMatchObject({ code: 0, out: '' });
    const { code, out } = await kubectl.run(diff, account(name, secrets('two')));
    expect([code, out]).toEqual([1, expect.stringMatching(/^-- name: one\n\+- name: two$/m)]);
    expect(await get(name, '{.secrets[*].name}')).toBe('one');
  });

  test('edited objects', async () => {
    await kubectl.stdoutOf('create -f -', account('edited', { metadata: { labels: { colour: 'red' } } }));
    expect(await kubectl.edit('edit sa edited', 's/red/blue/')).toMatchObject({
      out: 'serviceaccount/edited edited\n',
    });
    expect(await get('edited', '{.metadata.labels.colour}')).toBe('blue');
    expect(await kubectl.edit('edit sa edited', 's/red/blue/')).toMatchObject({
      code: 0,
      error: expect.stringContaining('no changes made'),
    });
    expect(await kubectl.edit('edit sa edited', 's/labels:/labelz:/')).toMatchObject({
      code: 1,
      error: expect.stringContaining('unknown field "metadata.labelz"'),
    });
  });

  test.each([
    ['strategic', { secrets: [{ name: 'b' }] }, 'b a'],
    ['merge', { secrets: [{ name: 'b' }] }, 'b'],
    ['json', [{ op: 'add', path: '/secrets/-', value: { name: 'b' } }], 'a b'],
  ])('a %s patch', async (type, patch, names) => {
    const name = `patched-${type}`;
    await kubectl.stdoutOf('create -f -', account(name, secrets('a')));
    const command = ['patch', 'sa', name, '--type', type, '-p', JSON.stringify(patch)];
    expect(await kubectl.stdoutOf(command)).toBe(`serviceaccount/${name} patched\n`);
    expect(await get(name, '{.secrets[*].name}')).toBe(names);
    if (type !== 'json') expect(await kubectl.stdoutOf(command)).toBe(`serviceaccount/${name} patched (no change)\n`);
  });

  test('labels and annotations', async () => {
    await kubectl.stdoutOf('create sa marked');
    expect(await kubectl.stdoutOf('label sa marked colour=red')).toBe('serviceaccount/marked labeled\n');
    expect(await kubectl.run('label sa marked colour=blue')).toMatchObject({
      code: 1,
      error: expect.stringContaining('--overwrite is false'),
    });
    await kubectl.stdoutOf('label sa marked colour=blue --overwrite');
    expect(await kubectl.stdoutOf('label sa marked --list')).toBe('colour=blue\n');
    expect(await kubectl.stdoutOf('label sa marked colour-')).toBe('serviceaccount/marked unlabeled\n');
    expect(await kubectl.stdoutOf(['annotate', 'sa', 'marked', 'note=a word'])).toBe(
      'serviceaccount/marked annotated\n',
    );
    expect(await kubectl.stdoutOf('annotate sa marked --list')).toBe('note=a word\n');
    expect(await kubectl.run('label sa marked colour=red --resource-version=1')).toMatchObject({
      code: 1,
      error: expect.stringContaining('(Conflict)'),
    });
  });

  test('replacements', async () => {
    await kubectl.stdoutOf('create -f -', account('replaced', secrets('one')));
    const uid = await get('replaced', '{.metadata.uid}');
    expect(await kubectl.stdoutOf('replace -f -', account('replaced', secrets('two')))).toBe(
      'serviceaccount/replaced replaced\n',
    );
    expect(await get('replaced', '{.secrets[*].name} {.metadata.uid}')).toBe(`two ${uid}`);
    expect(await kubectl.stdoutOf('replace --force -f -', account('replaced'))).toContain('replaced');
    expect(await get('replaced', '{.metadata.uid}')).not.toBe(uid);
  });
});
