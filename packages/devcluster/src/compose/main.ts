import { systemClock, systemRandom } from '@cluster-apiserver/base';
import { isKeyChange, keyChanges } from './encryption-keys.ts';
import { changeEncryptionKeys, getOwner, setUp } from './set-up.ts';

// The one-shot service `setup` of docker-compose.yml. It runs as root, because new volumes belong to root.

const isRoot = process.getuid?.() === 0;
/** The uid of the image, which the other services use, too. */
const service = isRoot ? { uid: 65_532, gid: 65_532 } : undefined;
const random = systemRandom();
const [first = '/setup', second] = process.argv.slice(2);

try {
  if (first === 'encryption-key') changeKeys(second);
  else await create(first, second);
} catch (error) {
  console.error(error);
  process.exit(1);
}

async function create(directory: string, address = 'https://127.0.0.1:6443'): Promise<void> {
  // Credentials on the host belong to the owner of the checkout.
  const user = isRoot ? getOwner(`${directory}/credentials`) : undefined;
  const { kubeconfig } = await setUp({ directory, address, service, user, clock: systemClock, random });
  console.log(`wrote ${kubeconfig} for ${address}`);
}

function changeKeys(change: string | undefined): void {
  if (!isKeyChange(change)) throw new Error(`encryption-key takes ${Object.keys(keyChanges).join(', ')}`);
  const [used = '', ...others] = changeEncryptionKeys(change, { directory: '/setup', service, random });
  console.log(`${used} encrypts${others.length > 0 ? `; ${others.join(', ')} can be read` : ''}`);
}
