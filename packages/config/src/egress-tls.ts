import { addAuthorities, addKeyPair } from './certificates.ts';
import type { EgressTls } from './egress-selector-configuration.ts';
import type { Findings } from './findings.ts';
import type { ReadFile } from './webhook-connection.ts';

/** The contents of the files, in PEM. */
export interface EgressTlsFiles {
  readonly ca: Buffer | undefined;
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Reads the TLS files of a proxy. Returns undefined and adds problems if they cannot be used. */
export async function readEgressTls(
  { path, caBundle, clientCert, clientKey }: EgressTls,
  readFile: ReadFile,
  findings: Findings,
): Promise<EgressTlsFiles | undefined> {
  const read = async (field: string, file: string | undefined): Promise<Buffer | undefined> =>
    file ? findings.readFile([...path, field], file, () => readFile(file)) : undefined;
  const [ca, cert, key] = await Promise.all([
    read('caBundle', caBundle),
    read('clientCert', clientCert),
    read('clientKey', clientKey),
  ]);
  addAuthorities(findings, [...path, 'caBundle'], ca, caBundle ?? '');
  if (!cert || !key) return undefined;
  addKeyPair(findings, [...path, 'clientCert'], cert, key, path);
  return { ca, cert, key };
}
