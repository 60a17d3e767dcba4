import { type AuditedRequest, type AuditorOptions, Recorder, type RecorderContext } from './recorder.ts';

/** Records requests by the audit policy. */
export function createAuditor(options: AuditorOptions): {
  begin(request: AuditedRequest, name: string | undefined): Recorder;
} {
  const { objectCharactersMax } = options.backend;
  const context: RecorderContext = { ...options, objectCharactersMax, serializingCharacters: 0 };
  return { begin: (request, name) => new Recorder(context, request, name) };
}
