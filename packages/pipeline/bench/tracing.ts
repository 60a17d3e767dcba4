/** Measures what tracing costs a request that is not sampled: only the stage itself runs then. */
import { LatencyTracker, systemClock as clock, systemRandom } from '@cluster-apiserver/base';
import type { ApiRequest } from '../src/exchange.ts';
import type { ReceivedContext } from '../src/request-context.ts';
import { beginTrace } from '../src/request-trace.ts';

const requests = 5_000_000;
const rounds = 5;
const random = systemRandom();
const million = 1_000_000;

/** A request with the headers of kubectl, without traceparent. */
const headers: Readonly<Record<string, string>> = { authorization: 'Bearer t', accept: 'application/json' };
const request = { header: (name: string) => headers[name] } as Partial<ApiRequest> as ApiRequest;
const tracedBy = (samples: () => boolean): ((context: ReceivedContext) => void) => {
  const begin = (): never => {
    throw new Error('nothing is sampled here');
  };
  return (context) => beginTrace({ samples, begin }, clock, context);
};

const sides = {
  'no tracing': () => {},
  'no rate': tracedBy(() => false),
  'a number drawn for each request': tracedBy(() => random.below(million) < 0),
};
const latency = new LatencyTracker(clock);
for (let round = 0; round < rounds; round++)
  for (const [name, handle] of Object.entries(sides)) {
    const beganMs = clock.monotonicMs();
    for (let count = 0; count < requests; count++) handle({ request, latency });
    console.log(`${name}: ${(((clock.monotonicMs() - beganMs) * million) / requests).toFixed(1)} ns`);
  }
