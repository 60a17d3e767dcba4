import { loadConfiguration } from './load.ts';
import type { Written } from './written.ts';

/** Where somebody is asked who is not part of the server, and what it takes to be let in there. */
export interface Kubeconfig {
  readonly server: URL;
  /** By which name the server is known, if not by that of its URL. */
  readonly tlsServerName: string | undefined;
  /** Without it, the authorities of the system are trusted. */
  readonly certificateAuthority: Content | undefined;
  readonly clientCertificate: Content | undefined;
  readonly clientKey: Content | undefined;
  readonly token: Content | undefined;
}

/** What stands in the file itself, or in another. */
export type Content = { readonly data: Buffer } | { readonly file: string };

/**
 * Reads the context that the file says is current. What it can say and we do not do is a fault: to run programs, to ask
 * providers, or to believe whoever answers. Throws a ConfigurationError with everything that is wrong.
 */
export const loadKubeconfig = (text: string): Kubeconfig =>
  loadConfiguration(
    {
      kind: 'Config',
      groups: [''],
      versions: ['v1'],
      fields: ['preferences', 'extensions', 'clusters', 'users', 'contexts', 'current-context'],
      read: ({ clusters, users, contexts, 'current-context': current }) => {
        const context = named(current as Written, contexts as Written, 'context');
        const { cluster, user } = context?.fields(['cluster', 'user', 'namespace', 'extensions']) ?? {};
        return {
          ...clusterIn(cluster && named(cluster, clusters as Written, 'cluster')),
          ...userIn(user?.absent ? undefined : user && named(user, users as Written, 'user')),
        };
      },
    },
    text,
  );

/** A cluster that is not there is a fault already, and nobody sees what is said of it here. */
function clusterIn(
  cluster: Written | undefined,
): Pick<Kubeconfig, 'server' | 'tlsServerName' | 'certificateAuthority'> {
  if (!cluster) return { server: nowhere, tlsServerName: undefined, certificateAuthority: undefined };
  const {
    server,
    'tls-server-name': tlsServerName,
    'certificate-authority': file,
    'certificate-authority-data': data,
    'insecure-skip-tls-verify': insecure,
  } = cluster.fields([
    'server',
    'tls-server-name',
    'certificate-authority',
    'certificate-authority-data',
    'insecure-skip-tls-verify',
    'disable-compression',
    'extensions',
  ]);
  if (insecure.fact()) insecure.wrong('whoever answers would be believed, and shown all that is asked');
  return {
    server: urlIn(server),
    tlsServerName: tlsServerName.text() || undefined,
    certificateAuthority: content(file, base64In(data)),
  };
}

function userIn(user: Written | undefined): Pick<Kubeconfig, 'clientCertificate' | 'clientKey' | 'token'> {
  if (!user) return { clientCertificate: undefined, clientKey: undefined, token: undefined };
  const {
    'client-certificate': certificateFile,
    'client-certificate-data': certificateData,
    'client-key': keyFile,
    'client-key-data': keyData,
    token,
    tokenFile,
  } = user.fields([
    'client-certificate',
    'client-certificate-data',
    'client-key',
    'client-key-data',
    'token',
    'tokenFile',
    'extensions',
  ]);
  const written = token.text();
  const clientCertificate = content(certificateFile, base64In(certificateData));
  const clientKey = content(keyFile, base64In(keyData));
  if (!clientCertificate !== !clientKey) user.wrong('a client certificate and its key go together');
  return { clientCertificate, clientKey, token: content(tokenFile, written ? Buffer.from(written) : undefined) };
}

/** The member of a list by the name that another place gives. */
function named(name: Written, list: Written, member: 'context' | 'cluster' | 'user'): Written | undefined {
  const wanted = name.text() ?? '';
  if (wanted === '') name.required();
  const found = list
    .items()
    .map((item) => item.fields(['name', member]))
    .find((item) => item.name?.text() === wanted);
  if (!found && wanted !== '') name.wrong(`there is no ${member} of this name`);
  return found?.[member];
}

/** What stands in the file itself counts. */
function content(file: Written, data: Buffer | undefined): Content | undefined {
  if (data) return { data };
  const name = file.text();
  return name ? { file: name } : undefined;
}

function base64In(written: Written): Buffer | undefined {
  const text = written.text();
  if (!text) return undefined;
  if (!/^[A-Za-z0-9+/\s]+={0,2}\s*$/.test(text)) written.wrong('it is no base64');
  return Buffer.from(text, 'base64');
}

const nowhere = new URL('https://invalid');

function urlIn(written: Written): URL {
  const url = URL.parse(written.text() ?? '');
  if (url?.protocol === 'https:' && url.username === '' && url.password === '') return url;
  // A password is not repeated.
  written.wrong('expected a URL with https, without a user or a password');
  return nowhere;
}
