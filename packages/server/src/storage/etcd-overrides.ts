import { kinds } from '@cluster-apiserver/kinds';
import type { Kind } from '@cluster-apiserver/model/kind';
import { type FlagValues, toEtcdUrl } from '../flags/flag.ts';
import type { etcdFlags } from './etcd-flags.ts';

/** One etcd cluster, and the kinds that it holds. */
export interface EtcdSettings {
  /** As in metrics and in the log. */
  readonly id: string;
  readonly endpoints: readonly string[];
  /** Of the kinds: `plural.group`, or the plural alone. */
  readonly resources: ReadonlySet<string>;
}

const flag = 'etcd-servers-overrides';

/** The etcds that the flags name: the one of most kinds, and one for each distinct set of URLs of the overrides. */
export function etcdsOf(
  values: Pick<FlagValues<typeof etcdFlags>, 'etcd-servers' | typeof flag>,
  problems: string[],
): readonly [EtcdSettings, ...EtcdSettings[]] {
  const endpoints = values['etcd-servers'];
  const mainKey = keyOf(endpoints);
  const byUrls = new Map<string, { readonly endpoints: readonly string[]; readonly resources: Set<string> }>();
  const seen = new Set<string>();
  for (const item of values[flag]) {
    const read = readOverride(item);
    const problem =
      typeof read === 'string' ? read : seen.has(read.resource) ? 'the kind has another override' : undefined;
    if (problem !== undefined) problems.push(`--${flag}: ${item}: ${problem}`);
    if (typeof read === 'string') continue;
    seen.add(read.resource);
    const key = keyOf(read.endpoints);
    if (key === mainKey) continue;
    const etcd = byUrls.get(key) ?? { endpoints: read.endpoints, resources: new Set() };
    etcd.resources.add(read.resource);
    byUrls.set(key, etcd);
  }
  const others = [...byUrls.values()].map((etcd, index) => ({ id: `etcd-${index + 1}`, ...etcd }));
  return [{ id: 'etcd-0', endpoints, resources: new Set() }, ...others];
}

/** Whether an etcd holds a kind, under the name of any version of it. */
export const holdsKind = ({ resources }: EtcdSettings, { versions }: Kind): boolean =>
  versions.some(({ group, plural }) => resources.has(nameOf(group, plural)));

/** The etcd of a kind. */
export const etcdOfKind = <Etcd extends EtcdSettings>(etcds: readonly [Etcd, ...Etcd[]], kind: Kind): Etcd =>
  etcds.find((etcd) => holdsKind(etcd, kind)) ?? etcds[0];

interface Override {
  readonly resource: string;
  readonly endpoints: readonly string[];
}

/** Returns what is wrong with it, else. */
function readOverride(item: string): Override | string {
  const [, group, plural, urls] = /^([^/#]*)\/([^/#]+)#(.*)$/.exec(item) ?? [];
  if (group === undefined || plural === undefined || urls === undefined)
    return 'expected group/resource#url;url, such as /events#http://127.0.0.1:2379';
  const endpoints = urls.split(';').map((url) => ({ url, endpoint: toEtcdUrl(url.trim()) }));
  const wrong = endpoints.find(({ endpoint }) => endpoint === undefined);
  if (wrong) return `${JSON.stringify(wrong.url)} is no URL such as http://127.0.0.1:2379`;
  if (isUnknown(group, plural)) return `there is no kind ${nameOf(group, plural)}`;
  return { resource: nameOf(group, plural), endpoints: endpoints.flatMap(({ endpoint }) => endpoint ?? []) };
}

/** A custom kind may come at any time, but not in a group of the server itself. */
function isUnknown(group: string, plural: string): boolean {
  const versions = kinds({ eventLifetimeSeconds: 0 }).flatMap((kind) => kind.versions);
  const isOwn = !group.includes('.') || versions.some((one) => one.group === group);
  return isOwn && !versions.some((one) => one.group === group && one.plural === plural);
}

const nameOf = (group: string, plural: string): string => (group === '' ? plural : `${plural}.${group}`);

/** Equal for the same URLs in another order. */
const keyOf = (endpoints: readonly string[]): string =>
  [...new Set(endpoints.map((one) => one.replace(/\/$/, '')))].sort().join();
