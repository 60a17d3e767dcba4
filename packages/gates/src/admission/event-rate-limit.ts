import { hash } from 'node:crypto';
import { BoundedCache, type Call, type Clock, getOwn, keepText } from '@cluster-apiserver/base';
import type { EventLimit } from '@cluster-apiserver/config';
import { StatusError } from '@cluster-apiserver/model';
import { isJsonObject } from '@cluster-apiserver/model/json';
import type { AdmissionContext, AdmissionPlugin } from './admission.ts';

/** The key of the bucket of an event. */
const keyOf: Readonly<Record<EventLimit['type'], (context: AdmissionContext) => string>> = {
  Server: () => '',
  Namespace: ({ namespace = '' }: AdmissionContext) => namespace,
  User: ({ user }: AdmissionContext) => user.name,
  SourceAndObject: ({ object }: AdmissionContext) => {
    // The fields have these names as they are stored, in whichever group the event was written.
    const ofSource = membersOf(object?.['source'], ['component', 'host']);
    const ofObject = membersOf(object?.['involvedObject'], ['kind', 'namespace', 'name', 'uid', 'apiVersion']);
    return [...ofSource, ...ofObject].join('');
  },
};

const membersOf = (value: unknown, names: readonly string[]): readonly unknown[] =>
  isJsonObject(value) ? names.map((name) => value[name]) : [];

/** Limits writes of events in both groups. Each limit takes a token, even if another one rejects. */
export function createEventRateLimit(limits: readonly EventLimit[], clock: Clock): AdmissionPlugin {
  const buckets = limits.map((limit) => new Buckets(limit, clock));
  /** A request takes its tokens once, even if it is admitted again after a conflict or for another generated name. */
  const refusals = new WeakMap<Call, StatusError | 'admitted'>();
  return {
    name: 'EventRateLimit',
    validate: (context) => {
      if (!isWriteOfEvent(context)) return undefined;
      const { call } = context;
      let refusal = refusals.get(call);
      if (!refusal) refusals.set(call, (refusal = takeTokens(buckets, context) ?? 'admitted'));
      if (refusal !== 'admitted') throw refusal;
      return undefined;
    },
  };
}

const groups: Readonly<Record<string, true>> = { '': true, 'events.k8s.io': true };

/** A dry run writes nothing. */
const isWriteOfEvent = ({ resource, operation, dryRun }: AdmissionContext): boolean =>
  resource.plural === 'events' && getOwn(groups, resource.group) === true && operation !== 'DELETE' && !dryRun;

/** The rejection if a bucket is empty. */
function takeTokens(buckets: readonly Buckets[], context: AdmissionContext): StatusError | undefined {
  const refusals = buckets.flatMap((one) => one.take(context) ?? []);
  if (refusals.length === 0) return undefined;
  const problems = refusals.map(({ problem }) => problem);
  const text = problems.length === 1 ? problems[0] : `[${problems.join(', ')}]`;
  return new StatusError('TooManyRequests', `Too many requests: ${text}`, {
    retryAfterSeconds: Math.max(...refusals.map(({ waitSeconds }) => Math.ceil(waitSeconds))),
  });
}

interface Bucket {
  tokens: number;
  filledAtMs: number;
}

/** The buckets of one limit, by the keys of their events. */
class Buckets {
  readonly #limit: EventLimit;
  readonly #clock: Clock;
  readonly #byKey: BoundedCache<Bucket>;

  constructor(limit: EventLimit, clock: Clock) {
    this.#limit = limit;
    this.#clock = clock;
    this.#byKey = new BoundedCache({ entriesMax: limit.cacheSize });
  }

  /** Takes a token. If there is none, returns the time until the next one. */
  take(context: AdmissionContext): { readonly problem: string; readonly waitSeconds: number } | undefined {
    const { type, qps } = this.#limit;
    const key = keyOf[type](context);
    const bucket = this.#refill(key);
    if (bucket.tokens >= 1) {
      bucket.tokens--;
      return undefined;
    }
    return { problem: `limit reached on type ${type} for key ${key}`, waitSeconds: (1 - bucket.tokens) / qps };
  }

  #refill(key: string): Bucket {
    const { qps, burst } = this.#limit;
    const nowMs = this.#clock.monotonicMs();
    const kept = toKeptKey(key);
    const known = this.#byKey.get(kept);
    if (!known) {
      const full = { tokens: burst, filledAtMs: nowMs };
      this.#byKey.set(kept, full);
      return full;
    }
    known.tokens = Math.min(burst, known.tokens + ((nowMs - known.filledAtMs) / 1000) * qps);
    known.filledAtMs = nowMs;
    return known;
  }
}

/** Keys are text of the client's object, of any length. */
const keyCharactersMax = 256;

const toKeptKey = (key: string): string =>
  key.length > keyCharactersMax ? hash('sha256', key, 'base64') : keepText(key);
