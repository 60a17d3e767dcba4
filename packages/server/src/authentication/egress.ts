import { type EgressProxy, Findings, readEgressSelectorConfiguration, readEgressTls } from '@cluster-apiserver/config';
import { type Dial, createProxyDial } from '@cluster-apiserver/gates';
import type { ServerFlags } from '../flags/flags.ts';
import type { Files } from '../environment.ts';
import { fileOf, readFlagFile, withFlagErrors } from '../files/flag-files.ts';

const flag = 'egress-selector-config-file';

/** How to connect to each network of the file; undefined for direct connections. */
export async function openEgress(flags: ServerFlags, files: Files): Promise<ReadonlyMap<string, Dial | undefined>> {
  const file = fileOf(flags, flag);
  if (!file) return new Map();
  const content = (await readFlagFile(file, files)).toString();
  return withFlagErrors(flag, async () => {
    const findings = new Findings(content);
    const configuration = readEgressSelectorConfiguration(content, findings);
    const dials = [...configuration].map(
      async ([direction, proxy]) => [direction, proxy && (await openDial(proxy, files, findings))] as const,
    );
    const opened = new Map(await Promise.all(dials));
    findings.requireNoProblems();
    return opened;
  });
}

/** Returns undefined and adds problems if the credentials cannot be used. */
async function openDial(proxy: EgressProxy, files: Files, findings: Findings): Promise<Dial | undefined> {
  if ('socket' in proxy) return createProxyDial(proxy);
  if (!proxy.tls) return createProxyDial({ url: proxy.url, tls: undefined });
  const tls = await readEgressTls(proxy.tls, files.read, findings);
  return tls && createProxyDial({ url: proxy.url, tls });
}
