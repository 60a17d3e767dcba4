import type { Log, LogFields } from '@cluster-apiserver/telemetry';

/** A line of the log of a controller: what it is about, and its fields. */
export interface LoggedEvent extends LogFields {
  readonly type: string;
}

/** By what their messages contain; lines of writes say it in their field `type` or `result`. */
const types: readonly (readonly [part: string, type: string])[] = [
  ['failed; retrying', 'failed'],
  ['stored ', 'unreadable'],
  ['bindings unreadable', 'unreadable'],
  ['protected', 'protected'],
  ['synced', 'synced'],
  ['finalized', 'finalized'],
  ['not empty yet', 'held'],
  ['contains unreadable', 'held'],
  ['wrote the rules', 'aggregated'],
  ['checked the types', 'checked'],
  ['wrote an object', 'written'],
];

/** A log that keeps its lines. */
export function createRecordedLog(): { readonly log: Log; readonly events: LoggedEvent[] } {
  const events: LoggedEvent[] = [];
  const add = (message: string, fields: LogFields = {}): void => {
    const type = types.find(([part]) => message.includes(part))?.[1] ?? message;
    events.push({ type: String(fields['result'] ?? type), ...fields });
  };
  const log: Log = {
    info: add,
    warn: (message, _, fields) => add(message, fields),
    error: (message, _, fields) => add(message, fields),
    debug: (_, message, fields) => add(message, typeof fields === 'function' ? fields() : fields),
    verbosity: 2,
    withName: () => log,
    omitted: { rate_limit: 0, backlog: 0, output_error: 0 },
  };
  return { log, events };
}
