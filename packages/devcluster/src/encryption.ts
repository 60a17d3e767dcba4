import type { Random } from '@cluster-apiserver/base';
import { readIfExists, replaceFile } from './files.ts';
import type { Home } from './home.ts';

const keyBytes = 32;

/** Created once and never overwritten: users may edit it, and replicas reload it. */
export function writeEncryptionConfiguration({ encryption }: Home, random: Random): void {
  if (readIfExists(encryption) !== undefined) return;
  replaceFile(encryption, createConfiguration(random.bytes(keyBytes).toString('base64')), 0o600);
}

const createConfiguration = (
  secret: string,
): string => `# How the objects of this cluster are stored in etcd. Made by the first start; edit it as you like: the replicas notice.
# To rotate: add a key behind the first, save; put it first, save; run "storage rewrite"; remove the old one.
# Without this file's keys the data below data/ cannot be read any more.
apiVersion: apiserver.config.platform.io/v1
kind: EncryptionConfiguration
resources:
  - resources: ['*.*']
    providers:
      - aesgcm:
          keys:
            - name: local-1
              secret: ${secret}
      - identity: {} # reads what was stored before there was a key
`;
