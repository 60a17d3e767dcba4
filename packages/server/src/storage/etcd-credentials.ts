import type { CleanupStack } from '@cluster-apiserver/base';
import type { GetCredentials } from '@cluster-apiserver/storage';
import type { Files } from '../environment.ts';
import type { ServerContext } from '../configuration/context.ts';
import { type FlagFile, readFlagFile, withAllFaults } from '../files/flag-files.ts';
import { followFiles } from '../files/follow-files.ts';
import { requireCertificatePair, requireCertificates } from '../files/pem-files.ts';
import type { StorageSettings } from './storage-settings.ts';

const roles = ['ca', 'cert', 'key'] as const;
type CredentialSettings = Pick<StorageSettings, 'caFile' | 'clientCertificate'>;
type Role = (typeof roles)[number];
type Credentials = Readonly<Partial<Record<Role, Buffer>>>;

/** The TLS credentials for new connections to etcd, reloaded when their files change. */
export async function followEtcdCredentials(
  settings: CredentialSettings,
  context: ServerContext,
  cleanup: CleanupStack,
): Promise<GetCredentials> {
  const files = credentialFiles(settings);
  if (files.length === 0) return () => undefined;
  const followed = await followFiles(
    {
      name: 'etcd client credentials',
      files: files.map(({ role, ...file }) => ({ ...file, kind: kinds[role] })),
      read: () => readCredentials(files, context.environment.files),
      bytesOf: (credentials) => files.map(({ role }) => credentials[role] ?? ''),
      build: (credentials) => requireUsable(settings, credentials),
      measures: context.certificates(
        'etcd-client',
        files.map(({ role }) => uses[role]),
      ),
    },
    context,
  );
  cleanup.defer('etcd credentials', followed.close);
  return followed.current;
}

/** Throws a FlagError for files that cannot be used. */
export async function loadEtcdCredentials(settings: CredentialSettings, reader: Files): Promise<void> {
  const files = credentialFiles(settings);
  requireUsable(settings, await readCredentials(files, reader));
}

const kinds: Readonly<Record<Role, string>> = { ca: 'certificates', cert: 'certificate', key: 'private key' };
const uses = { ca: 'etcd-ca', cert: 'etcd-client', key: undefined } as const;

type CredentialFile = FlagFile & { readonly role: Role };

function credentialFiles({ caFile, clientCertificate }: CredentialSettings): readonly CredentialFile[] {
  const files = { ca: caFile, ...clientCertificate };
  return roles.flatMap((role) => (files[role] ? { role, ...files[role] } : []));
}

const readCredentials = async (files: readonly CredentialFile[], reader: Files): Promise<Credentials> =>
  Object.fromEntries(
    await withAllFaults(files.map(async ({ role, ...file }) => [role, await readFlagFile(file, reader)] as const)),
  );

/** Also throws while only one of the two files of a pair has been replaced. */
function requireUsable({ caFile, clientCertificate }: CredentialSettings, credentials: Credentials): Credentials {
  const { ca, cert, key } = credentials;
  if (caFile && ca) requireCertificates(caFile, ca);
  if (clientCertificate && cert && key) requireCertificatePair(clientCertificate, { cert, key });
  return credentials;
}
