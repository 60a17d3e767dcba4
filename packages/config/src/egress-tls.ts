import { errorMessage } from '@cluster-apiserver/base';
import { isKeyPair, holdsCertificates } from './certificates.ts';
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
  const read = async (field: string, file: string): Promise<Buffer | undefined> => {
    if (file === '') return undefined; // already reported as missing
    try {
      return await readFile(file);
    } catch (error) {
      findings.add([...path, field], `cannot read ${file}: ${errorMessage(error)}`);
      return undefined;
    }
  };
  const [ca, cert, key] = await Promise.all([
    caBundle === undefined ? undefined : read('caBundle', caBundle),
    read('clientCert', clientCert),
    read('clientKey', clientKey),
  ]);
  if (ca) {
    if (holdsCertificates(ca.toString())) findings.addCertificates([...path, 'caBundle'], ca.toString());
    else findings.add([...path, 'caBundle'], `${caBundle} holds no certificates in PEM`);
  }
  if (!cert || !key) return undefined;
  if (isKeyPair(cert, key)) findings.addCertificates([...path, 'clientCert'], cert.toString());
  else findings.add(path, 'the client certificate and its key do not belong together, or are not in PEM');
  return { ca, cert, key };
}
