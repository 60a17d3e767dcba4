import type { AuditEvent } from './event.ts';
import { EventQueue, type EventQueueOptions } from './event-queue.ts';

/** Gives reserved room back. */
export type Release = () => void;

/** Receives audit events. */
export interface AuditBackend {
  /** Whether requests wait for their events. */
  readonly isBlocking: boolean;
  /** Maximum size of an object in an event; 0 if the backend writes no objects. */
  readonly objectCharactersMax: number;
  /** In blocking modes: whether a request may begin. False if the backend has no room for its events in time. */
  waitForRoom(): boolean | Promise<boolean>;
  /**
   * In blocking modes: takes room for the objects of an event before they are serialized. Undefined if there is none in
   * time; the event is then recorded without them. The returned function releases the space.
   */
  reserve(characters: number): Release | undefined | Promise<Release | undefined>;
  /** Whether the request may continue: in `batch` and `blocking` mode always, in `blocking-strict` if the event is recorded. */
  process(event: AuditEvent): boolean | Promise<boolean>;
  /** Makes `close` wait for an event that is still being created. */
  track(event: Promise<unknown>): void;
  close(): Promise<void>;
}

/**
 * What happens if an event cannot be recorded. `batch`: requests do not wait for their events, and failures are counted.
 * `blocking`: requests wait, and continue in any case. `blocking-strict`: requests wait, and are rejected if their first
 * event cannot be recorded. In both blocking modes load loses no event: requests wait for room in the queue before they
 * begin, and an event without room for its objects is recorded without them.
 */
export const auditModes = ['batch', 'blocking', 'blocking-strict'] as const;
export type AuditMode = (typeof auditModes)[number];

export interface BackendOptions extends Omit<EventQueueOptions, 'charactersMax' | 'lost' | 'sent'> {
  readonly mode: AuditMode;
  /** Format of the events. */
  readonly format: 'json' | 'legacy';
  /** A larger event is sent without its objects, and is lost if it is still too large; undefined for no limit. */
  readonly eventCharactersMax: number | undefined;
  readonly measures: BackendMeasures;
}

export interface BackendMeasures {
  /** Events were lost. */
  lost(error: unknown, events: number): void;
  /** The backend accepted a batch. */
  sent(): void;
}

/** Fits some thousand events of the level Metadata, or a few of the largest objects. */
const queuedCharactersMax = 32 * 1024 * 1024;
/** No stored object is larger, but lists are. Serializing more would take too long. */
const unlimitedObjectCharacters = 10 * 1024 * 1024;
/** Maximum time to flush at shutdown. */
const closeMs = 10_000;

/** A backend with its queue. */
export function openBackend(options: BackendOptions): AuditBackend & { readonly queuedEvents: number } {
  const { mode, format, eventCharactersMax, measures } = options;
  const lost = (error: unknown, events: number): void => measures.lost(error, events);
  const queue = new EventQueue({ ...options, charactersMax: queuedCharactersMax, lost, sent: () => measures.sent() });
  const pending = new Set<Promise<unknown>>();

  /** Undefined if the event is too large even without its objects. */
  const textOf = (event: AuditEvent): string | undefined => {
    if (format === 'legacy') return event.formatLegacyLine();
    if (eventCharactersMax === undefined || event.json.length <= eventCharactersMax) return event.json;
    const truncated = event.hasObjects ? event.truncatedJson() : event.json;
    return truncated.length <= eventCharactersMax ? truncated : undefined;
  };
  const noRoomNeeded = (): void => {};

  return {
    isBlocking: mode !== 'batch',
    objectCharactersMax: format === 'legacy' ? 0 : (eventCharactersMax ?? unlimitedObjectCharacters),
    get queuedEvents() {
      return queue.events;
    },
    waitForRoom: () => mode === 'batch' || queue.waitForRoom(),
    reserve: (characters) => (mode === 'batch' ? noRoomNeeded : queue.reserve(characters)),
    process: (event) => {
      const text = textOf(event);
      if (text === undefined) {
        lost(new Error('the event is too large even after truncating'), 1);
        return true;
      }
      if (mode === 'batch') {
        if (!queue.add(text)) lost(new Error('the queue is full'), 1);
        return true;
      }
      return new Promise<boolean>((resolve) => {
        const done = (isSent: boolean): void => resolve(isSent || mode === 'blocking');
        if (queue.addAlways(text, done)) return;
        lost(new Error('the queue is closed'), 1);
        done(false);
      });
    },
    track: (event) => {
      pending.add(event);
      void event.finally(() => pending.delete(event)).catch(() => {}); // its creator handles the error
    },
    close: async () => {
      await Promise.allSettled(pending);
      await queue.close(closeMs);
    },
  };
}

/** Passes events to all backends. An event counts as recorded only if all of them have recorded it. */
export function uniteBackends(backends: readonly [AuditBackend, ...AuditBackend[]]): AuditBackend {
  return backends.length === 1 ? backends[0] : createUnion(backends);
}

const createUnion = (backends: readonly AuditBackend[]): AuditBackend => ({
  isBlocking: backends.some(({ isBlocking }) => isBlocking),
  objectCharactersMax: Math.max(...backends.map(({ objectCharactersMax }) => objectCharactersMax)),
  waitForRoom: () => {
    const outcomes = backends.map((backend) => backend.waitForRoom());
    return outcomes.every((outcome) => typeof outcome === 'boolean') ? outcomes.every(Boolean) : areAllTrue(outcomes);
  },
  reserve: (characters) => {
    const reserved = backends.map((backend) => backend.reserve(characters));
    const settled = reserved.filter((one): one is Release | undefined => !(one instanceof Promise));
    return settled.length === reserved.length
      ? uniteReleases(settled)
      : Promise.all(reserved.map((one) => Promise.resolve(one))).then(uniteReleases);
  },
  process: (event) => {
    const outcomes = backends.map((backend) => backend.process(event));
    if (outcomes.every((outcome) => typeof outcome === 'boolean')) return outcomes.every(Boolean);
    return areAllTrue(outcomes);
  },
  track: (event) => {
    for (const backend of backends) backend.track(event);
  },
  close: async () => {
    await Promise.all(backends.map((backend) => backend.close()));
  },
});

function uniteReleases(releases: readonly (Release | undefined)[]): Release | undefined {
  const release = (): void => releases.forEach((one) => one?.());
  if (releases.every((one) => one !== undefined)) return release;
  release();
  return undefined;
}

async function areAllTrue(outcomes: readonly (boolean | Promise<boolean>)[]): Promise<boolean> {
  let isTrue = true;
  for (const outcome of outcomes) isTrue = (await outcome) && isTrue;
  return isTrue;
}
