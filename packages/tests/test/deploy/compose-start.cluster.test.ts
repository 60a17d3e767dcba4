import { expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { freePorts } from '@cluster-apiserver/testkit/free-ports';
import { until } from '@cluster-apiserver/testkit/until';
import { describeIf } from '../describe-if.ts';
import { readComposeFile } from './compose-file.ts';

// The image that starts a cluster in one container. `npm run compose` builds it.

const image = readComposeFile().services['apiserver-1']?.image?.replace(':', '-start:') ?? '';
const slowTestMs = 180_000;

describeIf(process.env.COMPOSE !== undefined, 'the image to try', 'npm run compose tests it', () => {
  test(
    'serves kubectl with the kubeconfig of its log, and stops in order',
    async () => {
      const [port = 0] = await freePorts(1);
      const name = `try-${port}`;
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'start-image-'));
      const command = ['start', '--listen=0.0.0.0', `--port=${port}`, '--data-dir=/data', '--print-kubeconfig'];
      docker([
        'run',
        '--detach',
        '--name',
        name,
        '--read-only',
        '--publish',
        `127.0.0.1:${port}:${port}`,
        image,
        ...command,
      ]);
      try {
        const printed = await until(
          'a kubeconfig',
          () => /^apiVersion: v1\n[^]*\ncurrent-context: \w+\n/m.exec(docker(['logs', name]))?.[0],
          slowTestMs,
        );
        const kubeconfig = path.join(folder, 'kubeconfig');
        fs.writeFileSync(kubeconfig, printed, { mode: 0o600 });
        const namespaces = spawnSync('kubectl', ['--kubeconfig', kubeconfig, 'get', 'namespaces'], {
          encoding: 'utf8',
        });
        expect(namespaces.stdout).toContain('default');
        docker(['stop', '--time', '30', name]);
        expect(docker(['inspect', '--format', '{{.State.ExitCode}}', name]).trim()).toBe('0');
      } finally {
        docker(['rm', '--force', '--volumes', name]);
        fs.rmSync(folder, { recursive: true });
      }
    },
    slowTestMs,
  );
});

function docker(args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync('docker', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`docker ${args.join(' ')}: ${stderr}`);
  return stdout;
}
