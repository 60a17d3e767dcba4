import type { CleanupStack } from '@cluster-apiserver/base';
import type { GetCredentials } from '@cluster-apiserver/storage';
import type { Files } from '../environment.ts';
import type { CertificateMeasures } from '../files/certificate-measures.ts';
import { type FlagFile, fileOf, readFlagFile, withAllFaults } from '../files/flag-files.ts';
import { type FileObservers, followFiles } from '../files/follow-files.ts';
import { requireCertificatePair, requireCertificates } from '../files/pem-files.ts';
import type { ServerFlags } from '../flags/flags.ts';

const roles = ['ca', 'cert', 'key'] as const;
type Role = (typeof roles)[number];
type Credentials = Readonly<Partial<Record<Role, Buffer>>>;

/** The TLS credentials for new connections to etcd, reloaded when their files change. */
export async function followEtcdCredentials(
  flags: ServerFlags,
  certificates: CertificateMeasures,
  context: FileObservers & { readonly environment: { readonly files: Files } },
  cleanup: CleanupStack,
): Promise<GetCredentials> {
  const files = credentialFiles(flags);
  if (files.length === 0) return () => undefined;
  const followed = await followFiles(
    {
      name: 'etcd client credentials',
      files: files.map(({ role, ...file }) => ({ ...file, kind: kinds[role] })),
      read: () => readCredentials(files, context.environment.files),
      bytesOf: (credentials) => files.map(({ role }) => credentials[role] ?? ''),
      build: (credentials) => requireUsable(files, credentials),
      measures: certificates(
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
export async function loadEtcdCredentials(flags: ServerFlags, reader: Files): Promise<void> {
  const files = credentialFiles(flags);
  requireUsable(files, await readCredentials(files, reader));
}

const kinds: Readonly<Record<Role, string>> = { ca: 'certificates', cert: 'certificate', key: 'private key' };
const uses = { ca: 'etcd-ca', cert: 'etcd-client', key: undefined } as const;

type CredentialFile = FlagFile & { readonly role: Role };

function credentialFiles(flags: ServerFlags): readonly CredentialFile[] {
  const files = {
    ca: fileOf(flags, 'etcd-cafile'),
    cert: fileOf(flags, 'etcd-certfile'),
    key: fileOf(flags, 'etcd-keyfile'),
  };
  return roles.flatMap((role) => (files[role] ? { role, ...files[role] } : []));
}

const readCredentials = async (files: readonly CredentialFile[], reader: Files): Promise<Credentials> =>
  Object.fromEntries(
    await withAllFaults(files.map(async ({ role, ...file }) => [role, await readFlagFile(file, reader)] as const)),
  );

/** Also throws while only one of the two files of a pair has been replaced. */
function requireUsable(files: readonly CredentialFile[], credentials: Credentials): Credentials {
  const [caFile, certFile, keyFile] = roles.map((role) => files.find((one) => one.role === role));
  const { ca, cert, key } = credentials;
  if (caFile && ca) requireCertificates(caFile, ca);
  if (certFile && keyFile && cert && key) requireCertificatePair(certFile, keyFile, { cert, key });
  return credentials;
}
