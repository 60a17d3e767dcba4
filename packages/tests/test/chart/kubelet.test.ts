import { expect, test } from '@jest/globals';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { startContainer } from './kubelet.ts';

test('maps mount paths in the arguments of a container, but not in the entry point of this machine', async () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'kubelet-'));
  try {
    const script = path.join(directory, 'print.mjs');
    fs.writeFileSync(script, 'console.log(JSON.stringify(process.argv.slice(2)))');
    const pod = {
      containers: [
        {
          name: 'main',
          args: [os.tmpdir(), `${os.tmpdir()}/cache/a`, `${os.tmpdir()}-other`],
          volumeMounts: [
            { name: 'scratch', mountPath: os.tmpdir() },
            { name: 'cache', mountPath: `${os.tmpdir()}/cache` },
          ],
        },
      ],
    };
    const container = startContainer({
      manifests: [],
      workload: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'one' }, spec: pod },
      container: 'main',
      podName: 'one',
      directory,
      entryPoint: [process.execPath, script],
      addresses: [],
    });
    expect({ code: await container.exited, output: container.output }).toEqual({
      code: 0,
      output: `${JSON.stringify([`${directory}/scratch`, `${directory}/cache/a`, `${os.tmpdir()}-other`])}\n`,
    });
  } finally {
    fs.rmSync(directory, { recursive: true });
  }
});
