import { X509Certificate } from 'node:crypto';
import { decodePemBlock, errorMessage, pemBlocks, type SyncTask } from '@cluster-apiserver/base';
import { decodeBase64 } from '@cluster-apiserver/model/schema';

/** What is wrong with a bundle of certificates; one that can be read is enough. */
export function* findBundleProblem(base64: string): SyncTask<string | undefined> {
  const blocks = pemBlocks((decodeBase64(base64) ?? Buffer.alloc(0)).toString('latin1'));
  if (blocks.length === 0) return 'unable to load root certificates: unable to parse bytes as PEM block';
  let first: string | undefined;
  for (const block of blocks) {
    yield;
    const decoded = block.label === 'CERTIFICATE' ? decodePemBlock(block) : undefined;
    if (!decoded || decoded.hasHeaders) continue;
    try {
      if (new X509Certificate(decoded.bytes).raw.length > 0) return undefined;
    } catch (error) {
      first ??= `failed to parse certificate: ${errorMessage(error)}`;
    }
  }
  return `unable to load root certificates: ${first ?? 'no valid certificate authority data seen'}`;
}
