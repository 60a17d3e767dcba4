import type { Clock } from '@cluster-apiserver/base';

/** Structured lines for operators. Fields carry facts, never credentials. */
export interface Log {
  /** What an operator should look at. */
  error(message: string, error: unknown, fields?: LogFields): void;
  /** What an operator wants to know. */
  info(message: string, fields?: LogFields): void;
  /** What helps to find a fault; written from this level of detail on. */
  detail(level: number, message: string, fields?: LogFields): void;
}

export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

export interface LogOptions {
  readonly clock: Clock;
  readonly format: 'text' | 'json';
  readonly level: number;
  readonly write: (line: string) => void;
}

export function openLog({ clock, format, level: most, write }: LogOptions): Log {
  const line = format === 'json' ? jsonLine : textLine;
  const put = (severity: Severity, level: number, message: string, fields: LogFields, error?: unknown): void =>
    write(line({ time: new Date(clock.now()).toISOString(), severity, level, message, fields: error === undefined ? fields : { ...fields, error: causes(error) } }));
  return {
    error: (message, error, fields = {}) => put('E', 0, message, fields, error),
    info: (message, fields = {}) => put('I', 0, message, fields),
    detail: (level, message, fields = {}) => {
      if (level <= most) put('I', level, message, fields);
    },
  };
}

type Severity = 'I' | 'E';

interface Line {
  readonly time: string;
  readonly severity: Severity;
  readonly level: number;
  readonly message: string;
  readonly fields: LogFields;
}

const jsonLine = ({ time, severity, level, message, fields }: Line): string => `${JSON.stringify({ ts: time, severity, v: level, msg: message, ...fields })}\n`;

const textLine = ({ time, severity, message, fields }: Line): string => {
  const told = Object.entries(fields).filter(([, value]) => value !== undefined);
  return `${severity} ${time} ${JSON.stringify(message)}${told.map(([key, value]) => ` ${key}=${JSON.stringify(value)}`).join('')}\n`;
};

/** A chain longer than this repeats itself. */
const causesMax = 10;

/** An error and what caused it, outermost first; where it was thrown only for faults of ours that have no name. */
function causes(error: unknown): string {
  const told: string[] = [];
  for (let at = error; at !== undefined && told.length < causesMax; at = at instanceof Error ? at.cause : undefined) {
    if (!(at instanceof Error)) told.push(String(at));
    else told.push(at.name === 'Error' || at.name === 'TypeError' || at.name === 'InvariantError' ? (at.stack ?? at.message) : `${at.name}: ${at.message}`);
  }
  return told.join('; because of ');
}
