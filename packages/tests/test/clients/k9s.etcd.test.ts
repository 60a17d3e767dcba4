import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { CleanupStack } from '@cluster-apiserver/base';
import { kinds } from '@cluster-apiserver/kinds';
import { until } from '@cluster-apiserver/testkit/until';
import { describeIf } from '../describe-if.ts';
import { serveKinds, type TestServer } from '../serve-kinds.ts';
import { hasK9s, k9sProgram, kubeconfigOf } from './client-programs.ts';
import { defineWidgets, widgetGroup } from './widgets.ts';

// k9s in a terminal of tmux: keys are sent, and the screen is read.

const slowTestMs = 180_000;
const sawMs = 60_000;
const hasTmux = spawnSync('tmux', ['-V']).status === 0;

describeIf(
  hasK9s && hasTmux,
  'k9s',
  'node packages/toolchain/clients.mjs has not built it, or there is no tmux',
  () => {
    const cleanup = new CleanupStack();
    let server: TestServer;
    let home: string;

    beforeAll(async () => {
      server = await serveKinds(kinds);
      cleanup.defer('server', () => server.close());
      await defineWidgets(server);
      await server.request('POST', widgets, { ...widget, metadata: { name: 'first' }, spec: { size: 1 } });
      await server.request('POST', '/api/v1/namespaces/team/serviceaccounts', { metadata: { name: 'robot' } });
      home = fs.mkdtempSync(path.join(os.tmpdir(), 'k9s-'));
      cleanup.defer('home', () => fs.rmSync(home, { recursive: true, force: true }));
      const file = path.join(home, 'kubeconfig');
      fs.writeFileSync(file, kubeconfigOf({ url: server.url, ca: server.certificate, token: server.token }));
      cleanup.defer('k9s', () => void tmux('kill-server'));
      // Its first view would be pods.
      const command = `${k9sProgram} --kubeconfig ${file} --all-namespaces --command serviceaccounts`;
      tmux('-f', '/dev/null', 'new-session', '-d', '-x', '140', '-y', '40', command);
    }, slowTestMs);
    afterAll(() => cleanup.close((what, error) => console.error(what, error)), slowTestMs);

    /** With a socket, settings and files of its own. */
    const tmux = (...args: readonly string[]): string => {
      const env = { PATH: process.env.PATH, HOME: home, TERM: 'xterm-256color', LANG: 'C.UTF-8' };
      return spawnSync('tmux', ['-S', path.join(home, 'tmux'), ...args], { env, encoding: 'utf8' }).stdout;
    };
    const untilShown = (wanted: RegExp): Promise<string> =>
      until(
        `${wanted}`,
        () => {
          const screen = tmux('capture-pane', '-p');
          return wanted.test(screen) ? screen : undefined;
        },
        sawMs,
      ).catch((error: unknown) => {
        throw new Error(tmux('capture-pane', '-p'), { cause: error });
      });
    const show = async (view: string, wanted: RegExp): Promise<string> => {
      tmux('send-keys', ':');
      await untilShown(/🐶>/);
      tmux('send-keys', '-l', view);
      tmux('send-keys', 'Enter');
      return untilShown(wanted);
    };

    test(
      'shows accounts, a custom kind as it changes, and deletes an object of it',
      async () => {
        expect(await untilShown(/serviceaccounts\(all\)\[\d+\][^]*robot/)).toContain('K8s Rev: v1.36.');
        await show('widgets team', /widgets\(team\)\[1\][^]*first/);
        await server.request('POST', widgets, { ...widget, metadata: { name: 'second' }, spec: { size: 2 } });
        await untilShown(/widgets\(team\)\[2\][^]*second/);
        tmux('send-keys', 'd');
        await untilShown(/Describe\(team\/first\)[^]*Size: +1/);
        tmux('send-keys', 'Escape');
        await untilShown(/widgets\(team\)/);
        tmux('send-keys', 'C-d');
        await untilShown(/Delete widgets team\/first\?/);
        tmux('send-keys', 'Tab');
        tmux('send-keys', 'Enter');
        await untilShown(/widgets\(team\)\[1\]/);
        await show('users', /users\(all\)\[\d+\]/);
        const { body } = await server.request('GET', widgets);
        expect(body.items?.map(({ metadata }) => metadata.name)).toEqual(['second']);
      },
      slowTestMs,
    );
  },
);

const widgets = `/apis/${widgetGroup}/v1/namespaces/team/widgets`;
const widget = { apiVersion: `${widgetGroup}/v1`, kind: 'Widget' };
