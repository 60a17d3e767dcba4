import { expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { freePorts } from '@cluster-apiserver/testkit/free-ports';
import { describeIf } from '../describe-if.ts';
import { imageSections, partsOf } from '../documented-sections.ts';
import { runDocument } from '../run-document.ts';
import { readComposeFile } from './compose-file.ts';

// The image that starts a cluster in one container. `npm run compose` builds it.

const image = readComposeFile().services['apiserver-1']?.image?.replace(':', '-start:') ?? '';
const slowTestMs = 180_000;

describeIf(process.env.COMPOSE !== undefined, 'the image to try', 'npm run compose tests it', () => {
  test.each(imageSections)(
    'serves kubectl with the kubeconfig of its log, and stops in order: %s',
    async (section) => {
      const [port = 0] = await freePorts(1);
      const name = `try-${port}`;
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'start-image-'));
      const options = `start --listen=0.0.0.0 --port=${port} --data-dir=/data --print-kubeconfig`;
      const inThisTest = (command: string): string =>
        command
          .replace(/\btry\b/, name)
          .replace(
            /^docker run (.*) 127\.0\.0\.1:6443:6443 \S+$/,
            `docker run --read-only $1 127.0.0.1:${port}:${port} ${image} ${options}`,
          )
          .replace(
            /^docker logs/,
            `until docker logs ${name} | grep --quiet ^current-context; do sleep 1; done; docker logs`,
          );
      try {
        await runDocument(...partsOf(section), {
          directory: folder,
          adaptCommand: inThisTest,
          answerMs: slowTestMs,
        });
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
