import type { Clock } from '@cluster-apiserver/base';
import type { ApiResponse, Handler } from '../exchange.ts';
import type { Received, Understood } from '../facts.ts';

/** What the server counts of its requests. The words are the client's: whoever counts bounds how many there are. */
export interface Measures {
  /** Called when the answer is ready; a stream goes on after that. */
  ended(request: {
    readonly verb: string;
    readonly group: string;
    readonly version: string;
    readonly resource: string;
    readonly code: number;
    readonly seconds: number;
  }): void;
}

const noResource = { group: '', version: '', plural: '' };

/** Counts every request, those that fail included. */
export const measure =
  (measures: Measures, clock: Clock) =>
  (next: Handler<Received>): Handler<Received> =>
  (facts) => {
    const beganMs = clock.monotonicMs();
    const ended = (response: ApiResponse): ApiResponse => {
      const { info }: Partial<Understood> = facts as Received & Partial<Understood>; // added by the stages below
      const { group, version, plural } = info?.resource ?? noResource;
      measures.ended({
        // A method without a verb of its own counts under its name.
        verb: info ? info.verb || facts.request.method : '',
        group,
        version,
        resource: plural,
        code: response.status,
        seconds: (clock.monotonicMs() - beganMs) / 1000,
      });
      return response;
    };
    const response = next(facts);
    return response instanceof Promise ? response.then(ended) : ended(response);
  };
