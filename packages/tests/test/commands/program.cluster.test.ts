import { expect, test } from '@jest/globals';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

// cluster-apiserver as a user has it: the built command, that of the checkout, and the package that strangers install.

const root = path.resolve(import.meta.dirname, '..', '..', '..', '..');
const program = path.join(root, 'packages', 'devcluster', 'dist', 'cluster-apiserver.js');
const run = promisify(execFile);
const versionLine = /^cluster-apiserver \d+\.\d+\.\d+\S*( \(commit \w+, \S+\))?\n$/;
/** A package is made and installed, or a cluster started and stopped, beside other tests. */
const slowTestMs = 180_000;

test.each([['version'], ['--version']])('%s prints the version and starts no server', async (argument) => {
  const { stdout } = await run(process.execPath, [program, argument]);
  expect(stdout).toMatch(versionLine);
});

test.each([[['help']], [['--help']]])('%j prints the usage, and the commands before the flags', async (args) => {
  const { stdout } = await run(process.execPath, [program, ...args]);
  expect(stdout).toMatch(/^A Kubernetes-style API server on etcd\.\n\nUsage:\n[^]*\nCommands:\n[^]*\nGeneric flags:\n/);
});

test.each([
  ['start', 'cluster-apiserver start [OPTIONS]'],
  ['config', 'cluster-apiserver config check'],
  ['storage', 'cluster-apiserver storage inspect'],
])('help %s prints the options of the command, as %s --help does', async (command, expected) => {
  const [help, ofCommand] = await Promise.all(
    [
      ['help', command],
      [command, '--help'],
    ].map((args) => run(process.execPath, [program, ...args])),
  );
  expect(help?.stdout).toContain(expected);
  expect(ofCommand?.stdout).toBe(help?.stdout);
});

test('an unknown command is refused with the nearest one', async () => {
  await expect(run(process.execPath, [program, 'strorage'])).rejects.toMatchObject({
    code: 1,
    stderr: 'cluster-apiserver: unknown command: strorage; did you mean storage? (cluster-apiserver help lists all)\n',
  });
});

test('the checkout has the command, which takes paths as where it is called', async () => {
  const { bin } = JSON.parse(fs.readFileSync(path.join(root, 'packages', 'toolchain', 'package.json'), 'utf8')) as {
    readonly bin: Readonly<Record<string, string>>;
  };
  const command = path.join(root, 'packages', 'toolchain', bin['cluster-apiserver'] ?? '');
  const { stdout } = await run(process.execPath, [command, 'version']);
  expect(stdout).toMatch(versionLine);
  const folder = newFolder();
  try {
    fs.copyFileSync(
      path.join(root, 'docs', 'examples', 'configuration', 'audit-policy.yaml'),
      path.join(folder, 'mine.yaml'),
    );
    const checked = await run(process.execPath, [command, 'config', 'check', 'mine.yaml'], { cwd: folder });
    expect(checked.stdout).toContain('mine.yaml');
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
});

test(
  'start brings up a cluster with one replica, prints a kubeconfig, and changes nothing outside of its folder',
  async () => {
    const folder = newFolder();
    const child = spawn(process.execPath, [program, 'start', '--port=0', '--print-kubeconfig'], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(child, 'close');
    try {
      let output = '';
      for await (const text of child.stdout.setEncoding('utf8'))
        if (/current-context: local/.test((output += text))) break;
      const url = /The cluster is ready at (\S+)/.exec(output)?.[1] ?? '';
      expect(output.match(/^ {2}replicas .*$/m)?.[0].match(/pid/g)).toHaveLength(1);
      expect(output).toContain(`server: ${url}`);
      expect(fs.readFileSync(path.join(folder, '.cluster', 'kubeconfig'), 'utf8')).toContain(`server: ${url}`);
      expect(fs.readdirSync(folder)).toEqual(['.cluster']);
    } finally {
      child.kill('SIGTERM');
      await ended;
      fs.rmSync(folder, { recursive: true, force: true });
    }
  },
  slowTestMs,
);

test(
  'the package installs in an empty folder and has the command, with the commit',
  async () => {
    const folder = await installPackage('cluster-apiserver');
    try {
      const { stdout: version } = await run('npx', ['cluster-apiserver', 'version'], { cwd: folder });
      expect(version).toMatch(versionLine);
      const { stdout: help } = await run('npx', ['cluster-apiserver', 'start', '--help'], { cwd: folder });
      expect(help).toContain('--print-kubeconfig');
      const installed = path.join(folder, 'node_modules', 'cluster-apiserver', 'package.json');
      const { dependencies } = JSON.parse(fs.readFileSync(installed, 'utf8')) as {
        readonly dependencies: Readonly<Record<string, string>>;
      };
      expect(Object.values(dependencies).filter((one) => !/^\d+\.\d+\.\d+(-rc\.\d+)?$/.test(one))).toEqual([]);
    } finally {
      fs.rmSync(folder, { recursive: true, force: true });
    }
  },
  slowTestMs,
);

test(
  'the package of expressions needs no part of the server, and its page shows what it does',
  async () => {
    const folder = await installPackage('expressions');
    try {
      const page = fs.readFileSync(path.join(root, 'packages', 'expressions', 'README.md'), 'utf8');
      const example = /^```js\n([^]*?)^```$/m.exec(page)?.[1] ?? '';
      fs.writeFileSync(path.join(folder, 'example.mjs'), example);
      const { stdout } = await run(process.execPath, ['example.mjs'], { cwd: folder });
      expect(stdout.trim().split('\n')).toEqual(
        Array.from(example.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm), ([, line]) => line),
      );
      const installed = path.join(folder, 'node_modules');
      expect(fs.readdirSync(installed).filter((name) => !name.startsWith('.'))).toEqual([
        '@cluster-apiserver',
        're2js',
      ]);
      const inside = path.join(installed, '@cluster-apiserver', 'expressions', 'node_modules', '@cluster-apiserver');
      expect(fs.readdirSync(inside).toSorted()).toEqual(['base', 'model']);
    } finally {
      fs.rmSync(folder, { recursive: true, force: true });
    }
  },
  slowTestMs,
);

/** Makes the package and installs it in a new folder, which is returned. */
async function installPackage(name: string): Promise<string> {
  const folder = newFolder();
  const pack = path.join(root, 'packages', 'toolchain', 'pack.mjs');
  const { stdout } = await run(process.execPath, [pack, name], { cwd: root });
  const archive = path.join(root, stdout.trim().split('\n').at(-1) ?? '');
  fs.writeFileSync(path.join(folder, 'package.json'), '{"private":true}');
  const options = ['--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts'];
  await run('npm', ['install', ...options, archive], { cwd: folder });
  return folder;
}

const newFolder = (): string => fs.mkdtempSync(path.join(os.tmpdir(), 'program-'));
