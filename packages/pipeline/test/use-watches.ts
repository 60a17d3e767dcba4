/** Watches without sockets: their handler over a store in memory, and clients that can stop reading. */
import { afterEach, beforeEach, expect } from '@jest/globals';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { callUntil, End, loopOf, seededRandom, systemClock } from '@cluster-apiserver/base';
import type { UserInfo } from '@cluster-apiserver/model';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { decode } from '@cluster-apiserver/model/schema';
import { create, type Registry, type Resource } from '@cluster-apiserver/registry';
import { memoryStore } from '@cluster-apiserver/testkit/memory-store';
import { type ApiRequest, ClientGoneError, type Sink } from '../src/exchange.ts';
import type { AuthenticatedContext } from '../src/request-context.ts';

import { parseRequestInfo } from '../src/request-info.ts';
import { openTestRegistry } from '../../registry/test/open-test-registry.ts';
import { robotKind } from '../../registry/test/robot-kind.ts';
import { OpenWatches } from '../src/handlers/open-watches.ts';
import { watchHandler } from '../src/handlers/watch.ts';
import type { Watched } from '../src/handlers/watch-measures.ts';
import type { WatchEnd } from '../src/watch-end.ts';

export const kind = robotKind;
export const call = callUntil(Number.POSITIVE_INFINITY);
export const watchesPerUserMax = 3;

/** A client that reads nothing while it is blocked. */
export class Client implements Sink {
  readonly leaving = new AbortController();
  readonly closing = new AbortController();
  readonly signal = this.leaving.signal;
  readonly draining = this.closing.signal;
  readonly lines: string[] = [];
  readonly bytes: Buffer[] = [];
  blocked = false;
  #backlog: Buffer[] = [];
  #waiting: (() => void)[] = [];
  ended = false;
  /** What its stream was cut off with. */
  cutBy: unknown;

  write(bytes: Buffer): void {
    this.#backlog.push(bytes);
    if (!this.blocked) this.read();
  }

  read(): void {
    for (const bytes of this.#backlog.splice(0)) {
      this.bytes.push(bytes);
      this.lines.push(...bytes.toString().split('\n').slice(0, -1));
    }
    for (const wake of this.#waiting.splice(0)) wake();
  }

  get backlogBytes(): number {
    return this.#backlog.reduce((sum, { length }) => sum + length, 0);
  }

  drained(): Promise<void> {
    return this.#backlog.length === 0 ? Promise.resolve() : new Promise((resolve) => this.#waiting.push(resolve));
  }

  get events(): string[] {
    return this.lines.map((line) => {
      const { type, object } = JSON.parse(line) as { type: string; object: KubeObject & { code?: number } };
      return `${type} ${object.metadata.name ?? object.code ?? object.metadata.resourceVersion}`;
    });
  }
}

const tester: UserInfo = { name: 'tester', groups: [] };

/** A client that takes nothing from the beginning. */
export function unreading(): Client {
  const client = new Client();
  client.blocked = true;
  return client;
}

/** What the tests of one file share; made anew before each of them. */
export interface Watches {
  readonly memory: ReturnType<typeof memoryStore>;
  /** The clock of the handler. */
  readonly clock: FakeClock;
  readonly reportedErrors: readonly unknown[];
  /** Watches that are counted as open. */
  readonly open: number;
  /** Why watches ended. */
  readonly ends: readonly (WatchEnd | undefined)[];
  /** Watches whose clients stopped reading. */
  readonly stalled: readonly Watched[];
  /** How many stalled watches each report named. */
  readonly stallReports: readonly number[];
  /** What was counted of each write into a stream. */
  readonly sent: readonly { readonly events: number; readonly bytes: number }[];
  begin(query: string, options?: WatchOptions): Promise<Client>;
  /** Creates a robot, and returns its revision. */
  make(name: string, annotations?: object): Promise<number>;
  /** Waits until the watch cache has caught up and its events have been delivered. */
  settle(): Promise<void>;
}

interface WatchOptions {
  readonly accept?: string | undefined;
  readonly webSocket?: boolean;
  readonly user?: UserInfo;
  readonly client?: Client;
  /** The client has left before the watch begins. */
  readonly hasLeft?: boolean;
}

export function useWatches(): Watches {
  const random = seededRandom(1);
  let registry: Registry;
  let resource: Resource;
  let watchRobots: ReturnType<typeof watchHandler>;
  const created = () => ({
    memory: memoryStore(systemClock),
    clock: fakeClock(),
    reportedErrors: [] as unknown[],
    open: 0,
    ends: [] as (WatchEnd | undefined)[],
    stalled: [] as Watched[],
    stallReports: [] as number[],
    sent: [] as { readonly events: number; readonly bytes: number }[],
  });
  const state = { ...created(), begin, make, settle };

  beforeEach(() => {
    Object.assign(state, created());
    registry = openTestRegistry(kind, state.memory, systemClock, random);
    resource = registry.api.stored[0] as Resource;
    watchRobots = watchHandler(resource, {
      clock: state.clock,
      random,
      minRequestTimeoutMs: 1_800_000,
      openWatches: new OpenWatches({
        clock: state.clock,
        maxPerUser: watchesPerUserMax,
        reportStalled: (count) => state.stallReports.push(count),
      }),
      measures: {
        begin: (watched) => {
          state.open += 1;
          return {
            countSent: (events, bytes) => state.sent.push({ events, bytes }),
            countStalled: () => state.stalled.push(watched),
            end: (why) => {
              state.open -= 1;
              state.ends.push(why);
            },
          };
        },
      },
      report: (error) => state.reportedErrors.push(error),
    });
  });
  afterEach(async () => {
    await registry.cache.close();
    state.memory.close();
  });

  async function begin(
    query: string,
    { accept, webSocket = false, user = tester, client = new Client(), hasLeft = false }: WatchOptions = {},
  ): Promise<Client> {
    const target = `/api/v1/namespaces/n/robots?watch=true&${query}`;
    const end = new End<object>();
    if (hasLeft) {
      client.leaving.abort(new ClientGoneError('the client left'));
      end.reach({});
    }
    const request = {
      target,
      isWebSocket: webSocket,
      header: (name: string) => (name === 'accept' ? accept : undefined),
      onEnd: (listener: () => void) => end.subscribe(listener),
    };
    const context = {
      info: parseRequestInfo('GET', target),
      call,
      auditId: 'a',
      user,
      request: request as unknown as ApiRequest,
      warnings: new Set<string>(),
    } as unknown as AuthenticatedContext;
    const { stream, status } = await watchRobots(context);
    expect(status).toBe(webSocket ? 101 : 200);
    if (!stream) throw new Error('it is no stream');
    void stream(client)
      .catch((error: unknown) => (client.cutBy = error))
      .then(() => {
        client.ended = true;
        end.reach({});
      });
    return client;
  }

  async function make(name: string, annotations = {}): Promise<number> {
    const names = { kind: 'Robot', apiVersion: 'v1' };
    const object = decode(kind.schema, { ...names, metadata: { name, annotations } }, () => {});
    const options = { namespace: 'n', dryRun: false, manager: 'm', warn: () => {} };
    return (await create(resource, object, options, call)).revision as number;
  }

  async function settle(): Promise<void> {
    await resource.collection.waitUntilFresh(undefined, call);
    // In their lane, because a busy event loop delays watches by any number of turns.
    for (let turns = 0; turns < 5; turns++) await loopOf(systemClock).schedule(() => {}, 'watch');
  }

  return state;
}
