import type { Handler } from '../exchange.ts';
import type { Timed, Understood } from '../facts.ts';
import { requestInfo } from '../request-info.ts';

/** From a method and a target to verb, resource, namespace and name. */
export const understand =
  (next: Handler<Understood>): Handler<Timed> =>
  (facts) =>
    next(
      Object.assign(facts, {
        info: requestInfo(facts.request.method, facts.request.target),
        warnings: new Set<string>(),
      }),
    );
