import { type Clock, type Random, seededRandom } from '@cluster-apiserver/base';
import type { LiveApi } from '@cluster-apiserver/registry';
import type { ControllerOptions, ControllerServices } from '../src/run-controller.ts';
import { createRecordedLog, type LoggedEvent } from './recorded-log.ts';

/** What a controller measured last. */
interface Measured {
  queued: number;
  unreadable: number;
}

export interface Term {
  readonly events: readonly LoggedEvent[];
  readonly measured: Readonly<Measured>;
  /** Settles with the controller. */
  readonly ended: Promise<unknown>;
  stop(): Promise<void>;
}

interface Machine extends Partial<ControllerServices> {
  readonly api: LiveApi;
  readonly clock: Clock;
  readonly random?: Random;
}

/** Begins a term of a controller. */
export function beginTerm(
  run: (options: ControllerOptions & ControllerServices) => Promise<unknown>,
  machine: Machine,
): Term {
  const { log, events } = createRecordedLog();
  const term = new AbortController();
  const measured: Measured = { queued: 0, unreadable: 0 };
  const ended = run({
    random: seededRandom(2),
    create: () => Promise.reject(new Error('nothing is created')),
    rootCertificates: undefined,
    signSecretToken: undefined,
    servedElsewhere: undefined,
    clientSigner: undefined,
    ...machine,
    log,
    signal: term.signal,
    measures: {
      queued: (objects) => void (measured.queued = objects),
      added: () => {},
      began: () => () => {},
      retried: () => {},
      unreadable: (objects) => void (measured.unreadable = objects),
    },
  });
  return {
    events,
    measured,
    ended,
    stop: async () => {
      term.abort(new Error('the term is over'));
      await ended;
    },
  };
}
