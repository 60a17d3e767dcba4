/** One thing wrong with an expression, and where it starts in the text. */
export interface Fault {
  readonly at: number;
  readonly message: string;
}

/** Ends parsing: further errors would be guesswork. */
export class SyntaxFault extends Error {
  readonly at: number;
  constructor(at: number, message: string) {
    super(message);
    this.at = at;
  }
}

/** `1:5: undefined field 'foo'`, and below it the line with a caret: what a terminal can show and a log can hold. */
export function describeFault(text: string, { at, message }: Fault): string {
  const before = text.slice(0, at).split('\n');
  const column = Array.from(before.at(-1) as string).length;
  const line = text.split('\n')[before.length - 1] as string;
  return `ERROR: <input>:${before.length}:${column + 1}: ${message}\n | ${line}\n | ${'.'.repeat(column)}^`;
}
