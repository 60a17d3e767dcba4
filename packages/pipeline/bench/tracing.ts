/** Measures what tracing costs a request that is not sampled: only the stage itself runs then. */
import { LatencyTracker, systemClock as clock, systemRandom } from '@cluster-apiserver/base';
import type { ApiRequest, ApiResponse, Handler } from '../src/exchange.ts';
import type { ReceivedContext } from '../src/request-context.ts';
import { traceRequests } from '../src/stages/trace.ts';

const requests = 5_000_000;
const rounds = 5;
const random = systemRandom();
const million = 1_000_000;

/** A request with the headers of kubectl, without traceparent. */
const headers: Readonly<Record<string, string>> = { authorization: 'Bearer t', accept: 'application/json' };
const request = { header: (name: string) => headers[name] } as Partial<ApiRequest> as ApiRequest;
const response: ApiResponse = { status: 200, headers: {} };
const next: Handler<ReceivedContext> = () => response;
const tracedBy = (samples: () => boolean): Handler<ReceivedContext> => {
  const begin = (): never => {
    throw new Error('nothing is sampled here');
  };
  return traceRequests({ samples, begin }, clock)(next);
};

const sides = {
  'no tracing': next,
  'no rate': tracedBy(() => false),
  'a number drawn for each request': tracedBy(() => random.below(million) < 0),
};
const latency = new LatencyTracker(clock);
for (let round = 0; round < rounds; round++)
  for (const [name, handle] of Object.entries(sides)) {
    const beganMs = clock.monotonicMs();
    for (let count = 0; count < requests; count++) void handle({ request, latency });
    console.log(`${name}: ${(((clock.monotonicMs() - beganMs) * million) / requests).toFixed(1)} ns`);
  }
