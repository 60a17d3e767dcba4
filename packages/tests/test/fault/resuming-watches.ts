import { sleep, systemClock as clock } from '@cluster-apiserver/base';
import { until } from '@cluster-apiserver/testkit/until';
import type { Credentials } from '@cluster-apiserver/testkit/api-client';
import {
  http1Transport,
  http2Transport,
  type OpenWatch,
  type WatchTransport,
} from '@cluster-apiserver/testkit/open-watch';

/** Watches of single objects, which go on at another replica where theirs has stopped. */
export interface ResumingWatches {
  /** How often they were opened again. */
  readonly resumed: number;
  /** What no client may see: refused watches, errors, and events that others have not received in this order. */
  readonly faults: readonly string[];
  /** Waits until all are open. */
  opened(): Promise<unknown>;
  /** Waits until each has received what was written, and compares: nothing less, nothing else. */
  judge(written: ReadonlyMap<string, readonly number[]>): Promise<void>;
  stop(): void;
}

interface Options extends Credentials {
  readonly url: string;
  readonly collection: string;
  /** Each has as many watches as the others. */
  readonly names: readonly string[];
  readonly count: number;
  readonly revision: string;
}

const watchesPerSession = 25;
/** A client that got no response waits for so long. */
const retryMs = 50;
const allMs = 60_000;
const shownMax = 20;

export function startResumingWatches(options: Options): ResumingWatches {
  const { url, collection, names, count, revision } = options;
  const overHttp1 = http1Transport(options);
  const overHttp2 = Array.from({ length: Math.ceil(count / 2 / watchesPerSession) }, () => http2Transport(options));
  /** The revisions that the first watch of each object has received. */
  const received = new Map(names.map((name) => [name, [] as number[]]));
  const watches: { readonly name: string; place: number; isOpen: boolean; open: OpenWatch | undefined }[] = [];
  const faults: string[] = [];
  let resumed = 0;
  let isStopped = false;

  const report = (fault: string): void => {
    if (!isStopped && faults.length < shownMax) faults.push(fault);
  };

  function start(name: string, transport: WatchTransport): void {
    const order = received.get(name) ?? [];
    let last = revision;
    const watch = { name, place: 0, isOpen: false, open: undefined as OpenWatch | undefined };
    watches.push(watch);
    const receive = (text: string): void => {
      const { type, object } = JSON.parse(text) as Line;
      if (type === 'BOOKMARK') last = object.metadata.resourceVersion;
      else if (type !== 'MODIFIED') report(`a watch of ${name} after ${last}: ${text}`);
      else {
        last = object.metadata.resourceVersion;
        const expected = order[watch.place] ?? Number(last);
        if (expected !== Number(last)) report(`a watch of ${name}: ${last} instead of ${expected}`);
        order[watch.place++] = expected;
      }
    };
    const open = (): void => {
      let code = 0;
      const query = `watch=true&allowWatchBookmarks=true&resourceVersion=${last}&fieldSelector=metadata.name%3D${name}`;
      watch.open = transport.open(url, `${collection}?${query}`, {
        status: (status) => {
          code = status;
          watch.isOpen = status === 200;
          if (status !== 200) report(`a watch of ${name} after ${last}: status ${status}`);
        },
        line: (text) => {
          if (code === 200) receive(text);
        },
        closed: () => {
          if (isStopped) return;
          resumed++;
          watch.isOpen = false;
          if (code === 200) open();
          else void sleep(clock, retryMs).then(open);
          if (code === 0) report(`a watch of ${name} after ${last}: no response`);
        },
      });
    };
    open();
  }

  for (let at = 0; at < count; at++) {
    const session = at % 2 === 0 ? undefined : overHttp2[Math.floor(at / 2 / watchesPerSession)];
    start(names[at % names.length] ?? '', session ?? overHttp1);
  }
  return {
    get resumed() {
      return resumed;
    },
    faults,
    opened: () => until('all watches', () => watches.every(({ isOpen }) => isOpen) || undefined, allMs),
    judge: async (written) => {
      const due = (name: string): number => written.get(name)?.length ?? 0;
      await until('the last events', () => watches.every(({ name, place }) => place >= due(name)) || undefined, allMs);
      for (const [name, order] of received)
        if (order.join() !== (written.get(name) ?? []).join())
          report(`watches of ${name}: ${order.join()} instead of ${written.get(name)?.join()}`);
    },
    stop: () => {
      isStopped = true;
      for (const { open } of watches) open?.abort();
      for (const transport of [overHttp1, ...overHttp2]) transport.close();
    },
  };
}

interface Line {
  readonly type: string;
  readonly object: { readonly metadata: { readonly resourceVersion: string } };
}
