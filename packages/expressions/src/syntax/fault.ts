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
  const before = text.slice(0, at);
  const start = before.lastIndexOf('\n') + 1;
  const column = Array.from(before.slice(start)).length;
  const [line = ''] = text.slice(start).split('\n', 1);
  const number = before.split('\n').length;
  return `ERROR: <input>:${number}:${column + 1}: ${message}\n | ${line}\n | ${'.'.repeat(column)}^`;
}
