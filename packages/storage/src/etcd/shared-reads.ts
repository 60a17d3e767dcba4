/**
 * Reads of single keys travel together. A linearizable read costs etcd a question to the quorum and Node a stream, both
 * far more than the value; so reads that arrive while others are under way wait for the next departure and share it. A
 * read only rides on a request that is sent after it arrived, so it sees every write acknowledged before it began.
 */
import { StorageUnavailableError } from '../errors.ts';
import type { Call } from '../store.ts';
import type { EtcdClient } from './client.ts';
import { type KeyValue, readKeys } from './wire/key-value.ts';

export type ReadKey = (key: string, call: Call) => Promise<KeyReading>;

export interface KeyReading {
  readonly value: KeyValue | undefined;
  readonly headRevision: number;
}

/** Bounds an answer: objects are up to 1.5 MiB, and an attempt is short. */
const keysMax = 16;

/** While one request is answered the next is written; more of them would only make each smaller. */
const departuresMax = 2;

/** Whoever has less time than any outage lasts travels alone, so that nobody else's wait is cut short. */
const sharedDeadlineMinMs = 10_000;

interface Traveller {
  readonly key: string;
  readonly call: Call;
  readonly arrive: (reading: KeyReading) => void;
  readonly fail: (error: unknown) => void;
}

export function sharedReads(client: EtcdClient): ReadKey {
  const waiting: Traveller[] = [];
  let underWay = 0;

  /** Resolves when all have been told, with the reason when it was a bad end. */
  const depart = async (travellers: readonly Traveller[]): Promise<unknown> => {
    const deadlineMs = Math.min(...travellers.map(({ call }) => call.deadlineMs));
    try {
      const { answer } = await client.call(
        readKeys,
        travellers.map(({ key }) => key),
        { deadlineMs },
      );
      client.sawRevision(answer.headRevision);
      travellers.forEach(({ arrive }, index) =>
        arrive({ value: answer.values[index], headRevision: answer.headRevision }),
      );
      return undefined;
    } catch (error) {
      for (const { fail } of travellers) fail(error);
      return error;
    }
  };

  const departWhilePossible = (): void => {
    while (waiting.length > 0 && underWay < departuresMax) {
      underWay++;
      void depart(waiting.splice(0, keysMax)).then((error) => {
        underWay--;
        // Whoever waits for the next departure has waited with this one, and would otherwise do so twice.
        if (error instanceof StorageUnavailableError) for (const { fail } of waiting.splice(0)) fail(error);
        departWhilePossible();
      });
    }
  };

  return (key, call) =>
    new Promise((arrive, fail) => {
      const traveller = { key, call, arrive, fail };
      if (call.deadlineMs - client.clock.monotonicMs() < sharedDeadlineMinMs) return void depart([traveller]);
      waiting.push(traveller);
      // Those of the same turn of the event loop leave together.
      if (waiting.length === 1) queueMicrotask(departWhilePossible);
    });
}
