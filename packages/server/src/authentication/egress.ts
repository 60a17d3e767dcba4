import { type EgressProxy, Findings, readEgressSelectorConfiguration, readEgressTls } from '@cluster-apiserver/config';
import { type Dial, createProxyDial } from '@cluster-apiserver/gates';
import type { Files } from '../environment.ts';
import { type FlagFile, withFlagErrors } from '../files/flag-files.ts';
import type { FlagFileReader } from '../files/startup-files.ts';

/** How to connect to each network of the file; undefined for direct connections. */
export async function loadEgress(
  file: FlagFile | undefined,
  { read, files }: FlagFileReader,
): Promise<ReadonlyMap<string, Dial | undefined>> {
  if (!file) return new Map();
  const content = (await read(file, { kind: 'EgressSelectorConfiguration' })).toString();
  return withFlagErrors(file.flag, async () => {
    const findings = new Findings(content);
    const configuration = readEgressSelectorConfiguration(content, findings);
    const dials = [...configuration].map(
      async ([direction, proxy]) => [direction, proxy && (await createDial(proxy, files, findings))] as const,
    );
    const opened = new Map(await Promise.all(dials));
    findings.requireNoProblems();
    return opened;
  });
}

/** Returns undefined and adds problems if the credentials cannot be used. */
async function createDial(proxy: EgressProxy, files: Files, findings: Findings): Promise<Dial | undefined> {
  if ('socket' in proxy) return createProxyDial(proxy);
  if (!proxy.tls) return createProxyDial({ url: proxy.url, tls: undefined });
  const tls = await readEgressTls(proxy.tls, files.read, findings);
  return tls && createProxyDial({ url: proxy.url, tls });
}
