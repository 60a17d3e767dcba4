import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { expect, test } from '@jest/globals';

interface Case {
  readonly name: string;
  readonly steps: readonly { readonly request: { readonly path: string } }[];
}
interface CaseFile {
  readonly area: string;
  readonly cases: readonly Case[];
}

const script = path.resolve(import.meta.dirname, '..', '..', '..', 'toolchain', 'mutated-cases.mjs');

function mutateCases(files: readonly CaseFile[], seed: number, count: number): readonly CaseFile[] {
  const program = `import { mutateCases } from ${JSON.stringify(script)};
    console.log(JSON.stringify(mutateCases(${JSON.stringify(files)}, ${seed}, ${count})));`;
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' });
  return JSON.parse(output) as readonly CaseFile[];
}

const target = '/api/v1/namespaces/${ns}/configmaps';
const body = { metadata: { name: 'a', labels: { k: '1' } }, data: { a: 'x' }, list: [1, { b: 2 }] };
const cases = [
  {
    name: 'a map is made',
    steps: [
      {
        title: 'first',
        request: { method: 'POST', path: target, body },
        save: { uid: '/metadata/uid' },
        expect: { status: 201 },
      },
      { request: { path: `${target}/a` }, check: [['/metadata/uid', '==', '${uid}']], expect: { status: 200 } },
    ],
  },
];
const files = [
  { area: 'config-maps', cases },
  { area: 'specification', cases },
];

test('the same seed changes the same cases in the same way, and another one others', () => {
  const [one, again, other] = [1, 1, 2].map((seed) => mutateCases(files, seed, 50));
  expect(again).toEqual(one);
  expect(other).not.toEqual(one);
});

test('each case is changed, has a name of its own and expects nothing', () => {
  const [mutated, ...others] = mutateCases(files, 3, 200);
  expect([mutated?.area, others]).toEqual(['config-maps', []]);
  const [origin] = cases;
  const plain = origin?.steps.map(({ request }) => ({ ...request, timeoutMs: undefined }));
  for (const { steps } of mutated?.cases ?? []) {
    expect(steps.map(({ request }) => ({ ...request, timeoutMs: undefined }))).not.toEqual(plain);
    for (const step of steps)
      expect(Object.keys(step).filter((name) => !['request', 'save'].includes(name))).toEqual([]);
  }
  expect(new Set(mutated?.cases.map(({ name }) => name)).size).toBe(200);
});
