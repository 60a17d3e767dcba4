/** The workflows of the forge: their commands are scripts of this repository, and actionlint accepts them. */
import { describe, expect, test } from '@jest/globals';
import { loadYaml } from '@kubernetes/client-node';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describeIf } from '../describe-if.ts';

interface Step {
  readonly run?: string;
  readonly uses?: string;
}

interface Workflow {
  readonly jobs: Readonly<Record<string, { readonly steps: readonly Step[]; readonly 'timeout-minutes'?: number }>>;
}

const root = path.resolve(import.meta.dirname, '..', '..', '..', '..');
const folder = path.join(root, '.github', 'workflows');
const files = fs.readdirSync(folder).map((name) => path.join('.github', 'workflows', name));
const { scripts } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};

/** Programs of the forge, which only a release needs. */
const ofForge = /^(cosign|helm|gh) /;

function isScript(command: string): boolean {
  const npm = /^npm (?:run )?([a-z]+)/.exec(command)?.[1];
  if (npm !== undefined) return npm in scripts;
  const file = /^(?:node )?((?:packages|\.ci)\/?\S+)/.exec(command)?.[1];
  return file !== undefined && fs.existsSync(path.join(root, file));
}

describe.each(files)('%s', (file) => {
  const { jobs } = loadYaml<Workflow>(fs.readFileSync(path.join(root, file), 'utf8'));

  test('runs scripts of the repository', () => {
    const commands = Object.values(jobs).flatMap(({ steps }) =>
      steps.flatMap(({ run }) => run?.trim().split('\n') ?? []),
    );
    expect(commands.length).toBeGreaterThan(0);
    expect(commands.filter((command) => !isScript(command) && !ofForge.test(command))).toEqual([]);
  });

  test('ends each job after a time', () => {
    expect(Object.values(jobs).filter((job) => job['timeout-minutes'] === undefined)).toEqual([]);
  });
});

const { ACTIONLINT_BIN: actionlint, ACTIONLINT_MISSING: missing = 'npm run workflows builds actionlint' } = process.env;

describeIf(actionlint !== undefined, 'actionlint', missing, () => {
  test('accepts the workflows', () => {
    expect(execFileSync(actionlint ?? '', ['-no-color', ...files], { cwd: root, encoding: 'utf8' })).toBe('');
  });
});
