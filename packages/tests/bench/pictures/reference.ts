import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { openBrowser } from '../../test/clients/browser.ts';

const examples = join(import.meta.dirname, '..', '..', '..', '..', 'docs', 'examples');
const operation = 'createWorkshopExampleV1NamespacedLamp';

/** The page /docs at an operation of the kind of docs/examples, as a PNG. */
export async function photographReference(kubeconfig: string): Promise<Buffer> {
  const access = ['--kubeconfig', kubeconfig];
  const definition = join(examples, 'lamps.yaml');
  for (const command of [
    ['apply', '--filename', definition],
    ['wait', '--for=condition=Established', '--filename', definition],
  ])
    if (spawnSync('kubectl', [...access, ...command], { stdio: 'inherit' }).status !== 0)
      throw new Error(`kubectl ${command.join(' ')} failed`);
  const proxy = spawn('kubectl', [...access, 'proxy', '--port=0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const browser = await openBrowser();
  try {
    const [said] = (await once(proxy.stdout, 'data')) as [Buffer];
    const [address = ''] = /127\.0\.0\.1:\d+/.exec(said.toString()) ?? [];
    await browser.open(`http://${address}/docs`);
    await browser.evaluate(`{
      const link = document.querySelector('nav a[href="#${operation}"]');
      link.closest('details').open = true;
      link.click();
      link.scrollIntoView({ block: 'center' });
    }`);
    return await browser.screenshot();
  } finally {
    await browser.close();
    proxy.kill();
  }
}
