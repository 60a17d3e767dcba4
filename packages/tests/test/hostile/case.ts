/** What one hostile client does on one connection of its own. */
export interface Case {
  readonly kind: string;
  readonly protocol: 'http/1.1' | 'h2';
  /** Written one after the other, each when the one before has left. */
  readonly pieces: readonly Buffer[];
  /** How the client ends its side: it shuts it and reads on, or tears the connection. */
  readonly end: 'shut' | 'tear';
  /** Each request in it is complete and understood as one, so each must be answered; undefined when nobody can tell. */
  readonly methods: readonly string[] | undefined;
}

/** The whole case as text that a test can be made of; long ones end in how much is missing. */
export function shown({ kind, protocol, pieces, end }: Case): string {
  const texts = pieces.map((piece) => piece.toString('latin1'));
  return JSON.stringify({ kind, protocol, end, pieces: texts.map((text) => (text.length > shownMax ? `${text.slice(0, shownMax)}… (${text.length})` : text)) });
}

const shownMax = 1_500;

/** The same case without what ends its requests in order: cut somewhere, or with bytes that somebody changed. */
export const damaged = (one: Case, kind: string, pieces: readonly Buffer[], end: Case['end']): Case => ({ ...one, kind, pieces, end, methods: undefined });
