import type { Clock } from '@cluster-apiserver/base';
import type { AuditLevel, AuditPolicy } from '@cluster-apiserver/config';
import type { AuditBackend } from './backend.ts';
import { type AuditedRequest, Recorder, type RecorderContext } from './recorder.ts';

export interface AuditorOptions {
  readonly clock: Clock;
  /** The one that is in force: it is evaluated once for each request. */
  readonly policy: () => AuditPolicy;
  readonly backend: AuditBackend;
  readonly measures: AuditMeasures;
  /** Called with an error that kept objects out of an event. */
  readonly report: (error: unknown) => void;
}

/** What the server counts of its audit. */
export interface AuditMeasures {
  /** An event was made. */
  event(): void;
  /** The level that the policy chose for a request. */
  level(level: AuditLevel): void;
  /** A request was refused because its first event could not be recorded. */
  rejected(): void;
}

/** Records requests as the policy says. */
export function createAuditor(options: AuditorOptions): {
  begin(request: AuditedRequest, name: string | undefined): Recorder;
} {
  const { objectCharactersMax } = options.backend;
  const context: RecorderContext = { ...options, objectCharactersMax, serializingCharacters: 0 };
  return { begin: (request, name) => new Recorder(context, request, name) };
}
