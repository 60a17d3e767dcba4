import { serviceAccounts, toolboxes } from '../fault/judged-resources.ts';
import { colours, namespaces } from '../fault/mixed-load.ts';
import type { View } from './view.ts';
import type { WatcherOptions } from './watcher.ts';

/** The watchers of the campaign; each entry is one kind. */
export interface WatcherKind extends WatcherOptions {
  readonly what: string;
  readonly count: number;
  readonly protocol: 'HTTP/1.1' | 'HTTP/2';
  readonly through: 'replicas' | 'the front' | 'cut connections';
}

const everything: View = { resource: serviceAccounts };
const [oneNamespace, otherNamespace] = namespaces;
const [red, green] = colours;

const inNamespace: View = { ...everything, namespace: oneNamespace };
const inColour: View = {
  ...everything,
  query: { labelSelector: `colour=${red}` },
  matches: ({ metadata }) => metadata.labels?.['colour'] === red,
};
const inColoursOfOneNamespace: View = {
  ...everything,
  namespace: otherNamespace,
  query: { labelSelector: `colour notin (${green})` },
  matches: ({ metadata }) => metadata.labels?.['colour'] !== green,
};
const byName: View = {
  ...everything,
  query: { fieldSelector: 'metadata.name=object-1' },
  matches: ({ metadata }) => metadata.name === 'object-1',
};

/** Long enough for a watch, short enough for several reconnects. */
const staysLong = { staysEvents: 5_000 };
const staysShort = { staysEvents: 150 };
const withList = { starts: 'with a list', bookmarks: true } as const;
const overHttp1 = { protocol: 'HTTP/1.1', through: 'replicas' } as const;
const overHttp2 = { protocol: 'HTTP/2', through: 'replicas' } as const;

const ofServiceAccounts: readonly WatcherKind[] = [
  { what: 'all', count: 32, view: everything, ...withList, ...staysLong, ...overHttp1 },
  { what: 'all over HTTP/2', count: 32, view: everything, ...withList, ...staysLong, ...overHttp2 },
  {
    what: 'all through the front',
    count: 4,
    view: everything,
    ...withList,
    ...staysLong,
    ...overHttp1,
    through: 'the front',
  },
  {
    what: 'all, cut',
    count: 2,
    view: everything,
    ...withList,
    ...staysLong,
    ...overHttp1,
    through: 'cut connections',
  },
  {
    what: 'all over HTTP/2, cut',
    count: 4,
    view: everything,
    ...withList,
    ...staysLong,
    ...overHttp2,
    through: 'cut connections',
  },
  { what: 'all, restless', count: 4, view: everything, ...withList, ...staysShort, ...overHttp1 },
  { what: 'all over HTTP/2, restless', count: 4, view: everything, ...withList, ...staysShort, ...overHttp2 },
  {
    what: 'all from old revisions',
    count: 4,
    view: everything,
    starts: 'at an old revision',
    bookmarks: false,
    ...staysShort,
    ...overHttp1,
  },
  {
    what: 'all from the present',
    count: 4,
    view: everything,
    starts: 'with the present',
    bookmarks: false,
    ...staysShort,
    ...overHttp2,
  },
  {
    what: 'all from initial events',
    count: 4,
    view: everything,
    starts: 'with initial events',
    bookmarks: true,
    ...staysShort,
    ...overHttp1,
  },
  {
    what: 'a colour from initial events',
    count: 2,
    view: inColour,
    starts: 'with initial events',
    bookmarks: true,
    ...staysShort,
    ...overHttp2,
  },
  { what: 'a namespace', count: 4, view: inNamespace, ...withList, ...staysLong, ...overHttp2 },
  { what: 'a colour', count: 4, view: inColour, ...withList, ...staysLong, ...overHttp1 },
  {
    what: 'a colour from the present',
    count: 2,
    view: inColour,
    starts: 'with the present',
    bookmarks: false,
    ...staysShort,
    ...overHttp1,
  },
  { what: 'colours of a namespace', count: 4, view: inColoursOfOneNamespace, ...withList, ...staysShort, ...overHttp2 },
  { what: 'a name', count: 2, view: byName, ...withList, ...staysLong, ...overHttp1 },
];

/** One of each kind watches the custom resource. */
const ofToolboxes = ofServiceAccounts.map(
  (kind): WatcherKind => ({
    ...kind,
    what: `toolboxes, ${kind.what}`,
    count: 1,
    view: { ...kind.view, resource: toolboxes },
  }),
);

export const watcherKinds: readonly WatcherKind[] = [...ofServiceAccounts, ...ofToolboxes];
