import { type EgressProxy, type EgressTls, loadEgressSelectorConfiguration } from '@cluster-apiserver/config';
import { type Dial, type ProxyTls, throughProxy } from '@cluster-apiserver/gates';
import { FlagError, type ServerFlags } from '../flags.ts';
import type { Files } from '../surroundings.ts';
import { byFlag, flagFile } from './flag-files.ts';

const flag = 'egress-selector-config-file';

/** How to get to what lies in each direction that the file names; undefined for directly. */
export async function openEgress(flags: ServerFlags, files: Files): Promise<ReadonlyMap<string, Dial | undefined>> {
  const content = await flagFile(flag, flags, files);
  if (!content) return new Map();
  const configuration = await byFlag(flag, () => loadEgressSelectorConfiguration(content.toString()));
  const dials = [...configuration].map(
    async ([direction, proxy]) => [direction, proxy && (await dialThrough(proxy, files))] as const,
  );
  return new Map(await Promise.all(dials));
}

async function dialThrough(proxy: EgressProxy, files: Files): Promise<Dial> {
  if ('socket' in proxy) return throughProxy(proxy);
  return throughProxy({ url: proxy.url, tls: proxy.tls && (await tlsOf(proxy.tls, files)) });
}

async function tlsOf({ caBundle, clientCert, clientKey }: EgressTls, files: Files): Promise<ProxyTls> {
  const read = (file: string): Promise<Buffer> =>
    files.read(file).catch((error: Error) => {
      throw new FlagError([`--${flag}: cannot read ${file}: ${error.message}`]);
    });
  return {
    ca: caBundle === undefined ? undefined : await read(caBundle),
    cert: await read(clientCert),
    key: await read(clientKey),
  };
}
