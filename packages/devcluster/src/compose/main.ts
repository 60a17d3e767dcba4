import { systemClock, systemRandom } from '@cluster-apiserver/base';
import { getOwner, setUp } from './set-up.ts';

// The one-shot service `setup` of docker-compose.yml. It runs as root, because new volumes belong to root.

const [directory = '/setup', address = 'https://127.0.0.1:6443'] = process.argv.slice(2);

const isRoot = process.getuid?.() === 0;

try {
  const { kubeconfig } = await setUp({
    directory,
    address,
    // The uid of the image, which the other services use, too.
    service: isRoot ? { uid: 65_532, gid: 65_532 } : undefined,
    // Credentials on the host belong to the owner of the checkout.
    user: isRoot ? getOwner(`${directory}/credentials`) : undefined,
    clock: systemClock,
    random: systemRandom(),
  });
  console.log(`wrote ${kubeconfig} for ${address}`);
} catch (error) {
  console.error(error);
  process.exit(1);
}
