import { type Clock, type Random, requireValue } from '@cluster-apiserver/base';
import { formatTime } from '@cluster-apiserver/model';
import type { VersionInfo } from '../discovery/discovery.ts';
import type { NonResourceHandler } from '../non-resource/live-routes.ts';
import type { NonResourceRoutes } from '../non-resource/router.ts';
import { contentTypes, encode } from '../encoding/encode.ts';
import { textResponse } from '../responses.ts';
import { listFolders } from './listed-paths.ts';
import { negotiateZpage, zpageGroup } from './negotiate.ts';

export interface ZpageOptions {
  readonly component: string;
  readonly version: VersionInfo;
  readonly clock: Clock;
  readonly random: Random;
  /** The values of the flags by their names, without secrets. */
  readonly flags: Readonly<Record<string, string>>;
  /** The replicas that are known to live; undefined if they do not know of each other. */
  readonly replicas?: (() => readonly ReplicaStatus[]) | undefined;
}

/** A replica of the server, in `/statusz`. */
export interface ReplicaStatus {
  readonly identity: string;
  readonly isThisReplica: boolean;
  readonly hostname: string;
  readonly version: string;
  readonly observedRevision: string;
  readonly renewTime: string;
  /** How far its clock is ahead; undefined until a renewal was seen. */
  readonly clockOffsetSeconds?: number;
  /** Hashes by the flags that name files. */
  readonly configuration: Readonly<Record<string, string>>;
  /** The names of the hashes that are others than those of this replica. */
  readonly configurationDiffersIn: readonly string[];
}

/**
 * `/statusz` and `/flagz` as in kube-apiserver 1.36: text with varying separators, so that programs do not parse it,
 * and a structured format for programs.
 */
export function zpageRoutes(options: ZpageOptions): NonResourceRoutes {
  const { component, version, clock, random, flags, replicas } = options;
  const started = { atMs: clock.now(), monotonicMs: clock.monotonicMs() };
  const uptimeSeconds = (): number => Math.floor((clock.monotonicMs() - started.monotonicMs) / msPerSecond);
  const separator = (): string => requireValue(separators[random.below(separators.length)]);
  const about = {
    goVersion: version.goVersion,
    binaryVersion: version.gitVersion.replace(/^v/, ''),
    emulationVersion: `${version.major}.${version.minor}`,
  };
  const sortedFlags = Object.entries(flags).sort(([left], [right]) => (left < right ? -1 : 1));
  const flagSeparator = separator();
  return {
    [statusPath]: zpageHandler('Statusz', component, {
      text: (paths) => {
        const separated = separator();
        const status = formatStatus(about, started.atMs, uptimeSeconds(), paths);
        const lines = [...status, ...(replicas?.() ?? []).map(formatReplica)];
        return ['\n', ...lines.map(([name, value]) => `${name}${separated} ${value}\n`)];
      },
      members: (paths) => ({
        startTime: formatTime(started.atMs),
        uptimeSeconds: uptimeSeconds(),
        ...about,
        paths: listFolders(paths),
        ...(replicas && { replicas: replicas() }),
      }),
    }),
    [flagsPath]: zpageHandler('Flagz', component, {
      text: () => sortedFlags.map(([name, value]) => `${name}${flagSeparator}${value}\n`),
      members: () => ({ flags: Object.fromEntries(sortedFlags) }),
    }),
  };
}

const statusPath = '/statusz';
const flagsPath = '/flagz';
const separators = [':', ': ', '=', ' '];
const msPerSecond = 1000;
const warning =
  'Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.';
/** Clients may still request it. */
const deprecatedVersion = 'v1alpha1';

interface Zpage {
  /** The lines after the heading. */
  readonly text: (paths: readonly string[]) => readonly string[];
  /** The fields of the structured format. */
  readonly members: (paths: readonly string[]) => object;
}

const zpageHandler =
  (kind: 'Statusz' | 'Flagz', component: string, { text, members }: Zpage): NonResourceHandler =>
  (context, _, paths) => {
    const format = negotiateZpage(context, kind);
    const name = kind.toLowerCase();
    if (format === 'text')
      return textResponse(context.auditId, 200, `\n${component} ${name}\n${warning}\n${text(paths()).join('')}`);
    const { version, encoding } = format;
    const value = { kind, apiVersion: `${zpageGroup}/${version}`, metadata: { name: component }, ...members(paths()) };
    const deprecation = `299 - "This version of the ${name} endpoint is deprecated. Please use a newer version."`;
    return {
      status: 200,
      headers: {
        'audit-id': context.auditId,
        'cache-control': 'no-cache, private',
        'content-type': contentTypes[encoding],
        ...(version === deprecatedVersion && { warning: deprecation }),
      },
      body: encode(encoding, value),
    };
  };

const formatStatus = (
  about: Readonly<Record<'goVersion' | 'binaryVersion' | 'emulationVersion', string>>,
  startedMs: number,
  uptimeSeconds: number,
  paths: readonly string[],
): readonly (readonly [name: string, value: string])[] => [
  ['Started', formatUnixDate(startedMs)],
  ['Up', formatUptime(uptimeSeconds)],
  ['Go version', about.goVersion],
  ['Binary version', about.binaryVersion],
  ['Emulation version', about.emulationVersion],
  ['Paths', listFolders(paths).join(' ')],
];

const formatReplica = ({
  isThisReplica,
  identity,
  clockOffsetSeconds,
  configurationDiffersIn: differs,
  ...replica
}: ReplicaStatus): readonly [name: string, value: string] => [
  `Replica ${identity}`,
  [
    `host ${replica.hostname}`,
    `version ${replica.version.replace(/^v/, '')}`,
    `revision ${replica.observedRevision}`,
    `renewed ${replica.renewTime}`,
    ...(clockOffsetSeconds === undefined || isThisReplica ? [] : [`clock ${formatOffset(clockOffsetSeconds)}`]),
    ...(differs.length > 0 ? [`other configuration: ${differs.join(' ')}`] : []),
    ...(isThisReplica ? ['this replica'] : []),
  ].join(', '),
];

const formatOffset = (seconds: number): string => `${seconds < 0 ? '' : '+'}${seconds.toFixed(1)} s`;

/** `Sun Nov 22 18:00:00 UTC 2026`, the day at least two characters wide. */
function formatUnixDate(timeMs: number): string {
  const [day, date, month, year, time] = new Date(timeMs).toUTCString().replace(',', '').split(' ');
  return `${day} ${month} ${String(Number(date)).padStart(2)} ${time} UTC ${year}`;
}

const secondsPerMinute = 60;
const secondsPerHour = 3600;

/** `0 hr 01 min 05 sec` */
function formatUptime(seconds: number): string {
  const padded = (value: number): string => String(value).padStart(2, '0');
  const minutes = Math.floor(seconds / secondsPerMinute) % secondsPerMinute;
  return `${Math.floor(seconds / secondsPerHour)} hr ${padded(minutes)} min ${padded(seconds % secondsPerMinute)} sec`;
}
