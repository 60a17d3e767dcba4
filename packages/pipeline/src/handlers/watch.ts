import type { Clock, Random } from '@cluster-apiserver/base';
import { StatusError } from '@cluster-apiserver/model';
import { type Resource, type WatchEvent, watch } from '@cluster-apiserver/registry';
import type { Handler, Sink } from '../exchange.ts';
import type { Authenticated } from '../facts.ts';
import { listParameters } from '../options.ts';

export interface WatchLimits {
  readonly clock: Clock;
  readonly random: Random;
  /** A watch that names no end lasts this long and up to twice as long, so that watches do not all end together. */
  readonly minRequestTimeoutMs: number;
}

/** What may wait for a client that reads slowly; more of it is not taken from the store until it has left. */
const backlogBytesMax = 256 * 1024;

export const watchHandler =
  (resource: Resource, limits: WatchLimits): Handler<Authenticated> =>
  async (facts) => {
    const options = listParameters(resource.kind, facts.info);
    const ended = new AbortController();
    const events = await watch(
      resource,
      { ...options, fields: named(options.fields, facts) },
      facts.call,
      ended.signal,
    );
    const stream = async (sink: Sink): Promise<void> => {
      const end = (): void => ended.abort();
      const cancel = limits.clock.after(durationMs(options.timeoutSeconds, limits), end);
      for (const signal of [sink.signal, sink.draining]) {
        signal.addEventListener('abort', end, { once: true });
        if (signal.aborted) end();
      }
      try {
        await send(events, sink);
      } finally {
        cancel();
        end();
        sink.draining.removeEventListener('abort', end);
      }
    };
    return {
      status: 200,
      headers: { 'audit-id': facts.auditId, 'cache-control': 'no-cache, private', 'content-type': 'application/json' },
      body: { stream },
    };
  };

const durationMs = (timeoutSeconds: number | undefined, { minRequestTimeoutMs, random }: WatchLimits): number =>
  timeoutSeconds
    ? Math.min(timeoutSeconds * 1000, 2 ** 31 - 1)
    : minRequestTimeoutMs + random.below(minRequestTimeoutMs);

/** A watch path that ends in a name means the one object of that name. */
function named(fields: ReturnType<typeof listParameters>['fields'], { info }: Authenticated): typeof fields {
  const name = info.resource?.name;
  return name === undefined
    ? fields
    : { terms: [...(fields?.terms ?? []), { field: 'metadata.name', equal: true, value: name }] };
}

async function send(events: AsyncIterable<WatchEvent>, sink: Sink): Promise<void> {
  try {
    for await (const event of events) {
      sink.write(frame(event));
      if (sink.backlogBytes > backlogBytesMax) await sink.drained();
    }
  } catch (error) {
    // The answer has begun: what ends it has to be told inside.
    const status =
      error instanceof StatusError
        ? error
        : new StatusError('InternalError', 'Internal error occurred', undefined, { cause: error });
    sink.write(Buffer.from(`${JSON.stringify({ type: 'ERROR', object: status.toStatus() })}\n`));
  }
}

const frameEnd = Buffer.from('}\n');
const frame = ({ type, outcome }: WatchEvent): Buffer =>
  Buffer.concat([Buffer.from(`{"type":"${type}","object":`), outcome.json, frameEnd]);
