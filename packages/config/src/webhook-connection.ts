import path from 'node:path';
import type { Path } from '@cluster-apiserver/model';
import { addAuthorities, addKeyPair } from './certificates.ts';
import { ConfigurationError, Findings } from './findings.ts';
import { type Content, type Kubeconfig, readKubeconfig } from './kubeconfig.ts';

/** A kubeconfig together with the contents of the files that it references. */
export interface WebhookConnection {
  readonly server: URL;
  /** TLS server name, if it differs from the host of the URL. */
  readonly tlsServerName: string | undefined;
  /** In PEM. The CAs of the system are trusted if undefined. */
  readonly certificateAuthority: Buffer | undefined;
  readonly clientCertificate: Buffer | undefined;
  readonly clientKey: Buffer | undefined;
  readonly token: string | undefined;
  /** The kubeconfig from which all this was read. */
  readonly content: Buffer;
}

export type ReadFile = (path: string) => Promise<Buffer>;

/**
 * Reads a kubeconfig and the files that it references, relative to its directory. Throws a ConfigurationError with all
 * problems, so that unusable credentials never replace working ones.
 */
export const loadWebhookConnection = async (file: string, readFile: ReadFile): Promise<WebhookConnection> =>
  (await readWebhookConnection(file, readFile)).connection;

/** Also returns the findings, with the certificates. */
export async function readWebhookConnection(
  file: string,
  readFile: ReadFile,
): Promise<{ readonly connection: WebhookConnection; readonly findings: Findings }> {
  const text = await readFile(file).catch((error: Error) => {
    throw new ConfigurationError([`cannot read ${file}: ${error.message}`]);
  });
  const findings = new Findings(text.toString(), { file });
  const config = readKubeconfig(text.toString(), findings);
  const contentOf = async (content: Content | undefined): Promise<Buffer | undefined> => {
    if (!content || 'data' in content) return content?.data;
    const name = content.file;
    const read = (): Promise<Buffer> => readFile(path.isAbsolute(name) ? name : path.join(path.dirname(file), name));
    return findings.readFile(content.path, name, read);
  };
  const [certificateAuthority, clientCertificate, clientKey, token] = await Promise.all(
    [config.certificateAuthority, config.clientCertificate, config.clientKey, config.token].map(contentOf),
  );
  const placeOf = (content: Content | undefined): Path => content?.path ?? [];
  const authorityPlace = placeOf(config.certificateAuthority);
  addAuthorities(findings, authorityPlace, certificateAuthority, 'the certificate authority');
  if (clientCertificate && clientKey)
    addKeyPair(findings, placeOf(config.clientCertificate), clientCertificate, clientKey);
  const bearer = token?.toString().trim();
  if (bearer !== undefined && !/^[\x21-\x7e]+$/.test(bearer))
    findings.add(placeOf(config.token), 'the token is empty or has characters that cannot be sent');
  findings.requireNoProblems();
  const { server, tlsServerName }: Kubeconfig = config;
  const contents = { certificateAuthority, clientCertificate, clientKey, token: bearer, content: text };
  return { connection: { server, tlsServerName, ...contents }, findings };
}
