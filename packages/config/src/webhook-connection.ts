import path from 'node:path';
import { areTogether, holdsCertificates } from './certificates.ts';
import { ConfigurationError, Findings } from './findings.ts';
import { type Content, type Kubeconfig, loadKubeconfig } from './kubeconfig.ts';

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
export const loadWebhookConnection = async (file: string, readFile: ReadFile): Promise<WebhookConnection> =>
  (await readWebhookConnection(file, readFile)).connection;

/** The same, with the certificates that were found. */
export async function readWebhookConnection(
  file: string,
  readFile: ReadFile,
): Promise<{ readonly connection: WebhookConnection; readonly findings: Findings }> {
  const text = await readFile(file).catch((error: Error) => {
    throw new ConfigurationError([`cannot read ${file}: ${error.message}`]);
  });
  const findings = new Findings(text.toString(), { file });
  const config = loadKubeconfig(text.toString(), findings);
  const contentOf = async (content: Content | undefined): Promise<Buffer | undefined> => {
    if (!content || 'data' in content) return content?.data;
    const name = content.file;
    try {
      return await readFile(path.isAbsolute(name) ? name : path.join(path.dirname(file), name));
    } catch (error) {
      findings.addWithoutPath(content.path, `cannot read ${name}: ${(error as Error).message}`);
      return undefined;
    }
  };
  const [certificateAuthority, clientCertificate, clientKey, token] = await Promise.all(
    [config.certificateAuthority, config.clientCertificate, config.clientKey, config.token].map(contentOf),
  );
  const placeOf = (content: Content | undefined): string => content?.path ?? '';
  if (certificateAuthority) {
    const place = placeOf(config.certificateAuthority);
    if (holdsCertificates(certificateAuthority.toString()))
      findings.addCertificates(place, certificateAuthority.toString());
    else findings.addWithoutPath(place, 'the certificate authority holds no certificates in PEM');
  }
  if (clientCertificate && clientKey) {
    const place = placeOf(config.clientCertificate);
    if (areTogether(clientCertificate, clientKey)) findings.addCertificates(place, clientCertificate.toString());
    else findings.addWithoutPath(place, 'the client certificate and its key do not belong together, or are not in PEM');
  }
  const bearer = token?.toString().trim();
  if (bearer !== undefined && !/^[\x21-\x7e]+$/.test(bearer))
    findings.addWithoutPath(placeOf(config.token), 'the token is empty or has characters that cannot be sent');
  findings.requireNoProblems();
  const { server, tlsServerName }: Kubeconfig = config;
  const connection = { server, tlsServerName, certificateAuthority, clientCertificate, clientKey, token: bearer };
  return { connection, findings };
}
