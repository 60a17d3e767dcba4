/** One thing wrong with an expression, and where it starts in the text. */
export interface Fault {
  readonly at: number;
  readonly message: string;
}

/** Ends parsing: further errors would be guesswork. */
export class SyntaxFault extends Error {
  readonly at: number;
  /** Faults before it, after which reading went on. */
  readonly earlier: readonly Fault[];
  constructor(at: number, message: string, earlier: readonly Fault[] = []) {
    super(message);
    this.at = at;
    this.earlier = earlier;
  }
}

/** A part of the text that is no token. What follows its end is read all the same. */
export class UnreadableToken extends SyntaxFault {
  readonly end: number;
  constructor(text: string, at: number, end: number) {
    super(at, `Syntax error: token recognition error at: '${text.slice(at, end)}'`);
    this.end = end;
  }
}

/** As many as cel-go reports. */
export const faultsMax = 100;
/** Each fault is shown with its line, so together they could be far larger than the expression. */
const shownLengthMax = 16_384;

/** One text per fault, in the order of their places, up to a bound. */
export function describeFaults(text: string, faults: readonly Fault[]): string[] {
  const reported = faults.slice(0, faultsMax).toSorted((one, other) => one.at - other.at);
  const described = reported.map((fault) => describeFault(text, fault, shownLengthMax / reported.length));
  return faults.length > faultsMax
    ? [...described, `${faults.length - faultsMax} more errors were truncated`]
    : described;
}

/**
 * `1:5: undefined field 'foo'`, and below it the line with a caret: what a terminal can show and a log can hold. A line that is too long is not shown.
 */
function describeFault(text: string, { at, message }: Fault, lineLengthMax = shownLengthMax): string {
  const before = text.slice(0, at);
  const start = before.lastIndexOf('\n') + 1;
  const column = Array.from(before.slice(start)).length;
  const [line = ''] = text.slice(start).split('\n', 1);
  const number = before.split('\n').length;
  const head = `ERROR: <input>:${number}:${column + 1}: ${message}`;
  return line.length > lineLengthMax ? head : `${head}\n | ${line}\n | ${'.'.repeat(column)}^`;
}
