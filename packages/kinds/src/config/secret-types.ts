import { createPrivateKey, X509Certificate } from 'node:crypto';
import { pemBlocks } from '@cluster-apiserver/base';
import type { Problems } from '@cluster-apiserver/model';
import { isJsonObject, MalformedTextError, parseJson } from '@cluster-apiserver/model/json';
import { decodeBase64 } from '@cluster-apiserver/model/schema';
import type { KubeObject } from '@cluster-apiserver/model/kind';

export const serviceAccountTokenType = 'kubernetes.io/service-account-token';
export const serviceAccountNameAnnotation = 'kubernetes.io/service-account.name';
const tlsType = 'kubernetes.io/tls';

interface Typed extends KubeObject {
  readonly type?: string;
  readonly data?: Readonly<Record<string, string>>;
}

/** Each type says what its data has to hold. Problems are reported without the value. */
export function validateDataOfType(type: string, { data = {}, metadata }: Typed, problems: Problems): void {
  const inData = (key: string): Problems => problems.at('data', { key });
  const need = (key: string): void => {
    if (!Object.hasOwn(data, key)) inData(key).required();
  };
  switch (type) {
    case serviceAccountTokenType:
      if (!metadata.annotations?.[serviceAccountNameAnnotation])
        problems.at('metadata', 'annotations', { key: serviceAccountNameAnnotation }).required();
      return;
    case 'kubernetes.io/dockercfg':
    case 'kubernetes.io/dockerconfigjson': {
      const key = `.${type.slice(type.indexOf('/') + 1)}`;
      const given = data[key];
      if (given === undefined) inData(key).required();
      else {
        const problem = findJsonProblem(bytesOf(given).toString());
        if (problem !== undefined) inData(key).invalid('<secret contents redacted>', problem);
      }
      return;
    }
    case 'kubernetes.io/basic-auth':
      if (!Object.hasOwn(data, 'username') && !Object.hasOwn(data, 'password'))
        for (const key of ['username', 'password']) inData(key).required();
      return;
    case 'kubernetes.io/ssh-auth':
      if (!data['ssh-privatekey']) inData('ssh-privatekey').required();
      return;
    case tlsType:
      need('tls.crt');
      need('tls.key');
      return;
    default:
  }
}

const bytesOf = (base64: string): Buffer => decodeBase64(base64) ?? Buffer.alloc(0);

/** Why a text is no JSON object, and no null either. */
function findJsonProblem(text: string): string | undefined {
  const start = /\S/.exec(text)?.[0];
  if (start === undefined) return 'unexpected end of JSON input';
  if (!/[{["\dtfn-]/.test(start)) return `invalid character '${start}' looking for beginning of value`;
  let value: unknown;
  try {
    ({ value } = parseJson(text));
  } catch (error) {
    if (error instanceof MalformedTextError) return 'invalid JSON';
    return 'too large for a configuration of registries';
  }
  if (value === null || isJsonObject(value)) return undefined;
  const found = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;
  return `json: cannot unmarshal ${found} into Go value of type map[string]interface {}`;
}

/** Warns if the parts of the data do not fit together. */
export function warnOfDataOfType({ type, data = {} }: Typed): readonly string[] {
  if (type !== tlsType) return [];
  const problem = findPairProblem(bytesOf(data['tls.crt'] ?? ''), bytesOf(data['tls.key'] ?? ''));
  return problem === undefined ? [] : [`tls: ${problem}`];
}

/** Why a server could not use the certificate and the key together. */
function findPairProblem(certificates: Buffer, key: Buffer): string | undefined {
  const ofCertificate = findBlock(certificates.toString('latin1'), (label) => label === 'CERTIFICATE');
  if (typeof ofCertificate !== 'string') {
    const [only, ...others] = ofCertificate;
    if (only === undefined) return 'failed to find any PEM data in certificate input';
    return others.length === 0 && only.endsWith('PRIVATE KEY')
      ? 'failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched'
      : `failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: [${ofCertificate.join(' ')}]`;
  }
  const ofKey = findBlock(key.toString('latin1'), (label) => label.endsWith('PRIVATE KEY'));
  if (typeof ofKey !== 'string') {
    const [only, ...others] = ofKey;
    if (only === undefined) return 'failed to find any PEM data in key input';
    return others.length === 0 && only === 'CERTIFICATE'
      ? 'found a certificate rather than a key in the PEM for the private key'
      : `failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the following types: [${ofKey.join(' ')}]`;
  }
  return findMismatch(ofCertificate, ofKey);
}

function findMismatch(certificate: string, key: string): string | undefined {
  const parsed = attempt(() => new X509Certificate(certificate));
  if (!parsed) return 'failed to parse certificate';
  const privateKey = attempt(() => createPrivateKey(key));
  if (!privateKey) return 'failed to parse private key';
  if (parsed.publicKey.asymmetricKeyType !== privateKey.asymmetricKeyType)
    return 'private key type does not match public key type';
  return parsed.checkPrivateKey(privateKey) ? undefined : 'private key does not match public key';
}

function attempt<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch {
    return undefined;
  }
}

/** The first block with such a label, or the labels of those that are there. */
function findBlock(pem: string, isWanted: (label: string) => boolean): string | readonly string[] {
  const blocks = pemBlocks(pem);
  return blocks.find(({ label }) => isWanted(label))?.text ?? blocks.map(({ label }) => label);
}
