import { type Call, inSpan, type SpanOptions } from '@cluster-apiserver/base';
import { StorageFullError, StorageUnavailableError, WriteInDoubtError } from '../errors.ts';
import type { EtcdClient } from './client.ts';
import type { EtcdOperation } from './measures.ts';

/** Measures the operations of the store, each with all its attempts, for metrics, requests and traces. */
export class OperationTracker {
  readonly #client: EtcdClient;
  /** The index of the resource's name in a key. */
  readonly #resourceAt: number;

  constructor(client: EtcdClient, resourceAt: number) {
    this.#client = client;
    this.#resourceAt = resourceAt;
  }

  track<T>(operation: EtcdOperation, key: string, call: Call, act: (call: Call) => Promise<T>): Promise<T> {
    const { clock, measures } = this.#client;
    const result = this.trace(operation, key, call, act);
    const startedMs = clock.monotonicMs();
    call.latency?.begin('storage');
    const ended = (failed: boolean): void => {
      call.latency?.end('storage');
      measures.operationEnded(operation, key, (clock.monotonicMs() - startedMs) / 1000, failed);
    };
    result.then(
      () => ended(false),
      (error: unknown) => {
        ended(error instanceof StorageUnavailableError || error instanceof StorageFullError);
        if (error instanceof WriteInDoubtError) measures.writeOutcomeUnknown();
      },
    );
    return result;
  }

  /** The call that `act` receives has the new span, if the trace is recorded. */
  trace<T>(operation: string, key: string, call: Call, act: (call: Call) => Promise<T>): Promise<T> {
    return call.trace
      ? inSpan(call, `etcd ${operation}`, act, spanOptions(operation, this.#resourceOf(key)))
      : act(call);
  }

  /** Such as serviceaccounts; empty if the key has no resource. */
  #resourceOf(key: string): string {
    return key.slice(this.#resourceAt, Math.max(this.#resourceAt, key.indexOf('/', this.#resourceAt)));
  }
}

/** OpenTelemetry's conventions for databases. */
const spanOptions = (operation: string, resource: string): SpanOptions => ({
  kind: 'client',
  attributes: {
    'db.system.name': 'etcd',
    'db.operation.name': operation,
    ...(resource !== '' && { 'db.collection.name': resource }),
  },
});
