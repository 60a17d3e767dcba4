import { createPrivateKey, X509Certificate } from 'node:crypto';
import path from 'node:path';
import { holdsCertificates } from './certificates.ts';
import { type Content, type Kubeconfig, loadKubeconfig } from './kubeconfig.ts';
import { ConfigurationError } from './load.ts';

/** A connection file together with the contents of the files that it names. */
export interface WebhookConnection {
  readonly server: URL;
  /** By which name the server is known, if not by that of its URL. */
  readonly tlsServerName: string | undefined;
  /** In PEM. Without it, the authorities of the system are trusted. */
  readonly certificateAuthority: Buffer | undefined;
  readonly clientCertificate: Buffer | undefined;
  readonly clientKey: Buffer | undefined;
  readonly token: string | undefined;
}

export type ReadFile = (path: string) => Promise<Buffer>;

/**
 * Reads a connection file and the files that it names, which are relative to it. Throws a ConfigurationError with
 * everything that is wrong, so that credentials that cannot work are noticed before they replace those that do.
 */
export async function loadWebhookConnection(file: string, readFile: ReadFile): Promise<WebhookConnection> {
  const faults: string[] = [];
  const read = async (name: string): Promise<Buffer | undefined> => {
    try {
      return await readFile(path.isAbsolute(name) ? name : path.join(path.dirname(file), name));
    } catch (error) {
      faults.push(`cannot read ${name}: ${(error as Error).message}`);
      return undefined;
    }
  };
  const text = await readFile(file).catch((error: Error) => {
    throw new ConfigurationError([`cannot read ${file}: ${error.message}`]);
  });
  const config = loadKubeconfig(text.toString());
  const contentOf = async (content: Content | undefined): Promise<Buffer | undefined> =>
    content && ('data' in content ? content.data : read(content.file));
  const [certificateAuthority, clientCertificate, clientKey, token] = await Promise.all(
    [config.certificateAuthority, config.clientCertificate, config.clientKey, config.token].map(contentOf),
  );
  if (certificateAuthority && !holdsCertificates(certificateAuthority.toString()))
    faults.push('the certificate authority holds no certificates in PEM');
  if (clientCertificate && clientKey && !areTogether(clientCertificate, clientKey))
    faults.push('the client certificate and its key do not belong together, or are not in PEM');
  const bearer = token?.toString().trim();
  if (bearer !== undefined && !/^[\x21-\x7e]+$/.test(bearer))
    faults.push('the token is empty or has characters that cannot be sent');
  if (faults.length > 0) throw new ConfigurationError(faults);
  const { server, tlsServerName }: Kubeconfig = config;
  return { server, tlsServerName, certificateAuthority, clientCertificate, clientKey, token: bearer };
}

function areTogether(certificate: Buffer, key: Buffer): boolean {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false; // OpenSSL's reasons could show a piece of the key
  }
}
