import { requireValue } from '@cluster-apiserver/base';
import type { Value } from '../values/value.ts';
import { faultsMax, SyntaxFault } from './fault.ts';
import { expandMacro } from './macros.ts';
import { childrenOf, type Form, type MapEntry, type MessageField, type Node, qualifiedName } from './node.ts';
import { intMax, type Token, tokenize } from './token.ts';

/** Maximum length of an expression, far above practical ones. */
const expressionLengthMax = 32_768;
/** Everything that walks a tree does so on the stack. */
const depthMax = 250;

/** Binary operators, those that bind least first; a line binds alike. */
const binary: readonly (readonly string[])[] = [
  ['||'],
  ['&&'],
  ['==', '!=', '<', '<=', '>', '>=', 'in'],
  ['+', '-'],
  ['*', '/', '%'],
];

const words = new Set(['true', 'false', 'null', 'in']);
const reserved = new Set(
  'as break const continue else for function if import let loop package namespace return var void while'.split(' '),
);

/** Reads an expression as a tree, or throws a `SyntaxFault`. */
export function parse(text: string): Node {
  if (text.length > expressionLengthMax)
    throw new SyntaxFault(0, `the expression is longer than ${expressionLengthMax} characters`);
  const earlier: SyntaxFault[] = [];
  const node = tryRead(text, earlier);
  if (!(node instanceof SyntaxFault) && earlier.length === 0) return node;
  const { at, message } = node instanceof SyntaxFault ? node : requireValue(earlier.pop(), 'there is one');
  throw new SyntaxFault(at, message, earlier);
}

function tryRead(text: string, earlier: SyntaxFault[]): Node | SyntaxFault {
  try {
    return new Parser(text, earlier).whole();
  } catch (error) {
    if (error instanceof SyntaxFault) return error;
    throw error;
  }
}

// Faults have the words of kube-apiserver, as far as one of them says what is wrong.

/** What an operand begins with, or may be in its place. */
const operandOr = (call = '', index = ''): string =>
  `{'[', '{', '('${call}, '.', '-', '!'${index}, 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}`;
const operand = operandOr();
const operandOrEndOfCall = operandOr(", ')'");
const operandOfIndex = operandOr('', ", '?'");

const allOperators = new Set([...binary.flat(), '?']);
const isOperator = ({ kind, text }: Token): boolean => (kind === 'sign' || text === 'in') && allOperators.has(text);

const beginsOperand = ({ kind, text }: Token): boolean =>
  kind === 'literal' || (kind === 'name' && text !== 'in') || (kind === 'sign' && '[{(.-!'.includes(text));

const syntaxFault = (at: number, problem: string): SyntaxFault => new SyntaxFault(at, `Syntax error: ${problem}`);
const mismatched = ({ at, text, kind }: Token, wanted: string): SyntaxFault =>
  syntaxFault(at, `mismatched input '${kind === 'quoted name' ? `\`${text}\`` : text}' expecting ${wanted}`);
const extraneous = ({ at, text }: Token, wanted: string): SyntaxFault =>
  syntaxFault(at, `extraneous input '${text}' expecting ${wanted}`);

type Make = (at: number, form: Form) => Node;

const make: Make = (at, form) => {
  const depth = 1 + childrenOf(form).reduce((deepest, child) => Math.max(deepest, child.depth), 0);
  if (depth > depthMax) throw tooDeep(at);
  return { at, depth, ...form };
};

const tooDeep = (at: number): SyntaxFault =>
  new SyntaxFault(at, `the expression is nested deeper than ${depthMax} levels`);

class Parser {
  readonly #source: string;
  readonly #tokens: Iterator<Token>;
  /** Faults after which reading went on. */
  readonly #earlier: SyntaxFault[];
  /** What may come next where an operand is missing. */
  #wanted = operand;
  #token: Token;
  /** Brackets do not show in the tree, and still take stack while they are read. */
  #open = 0;

  constructor(text: string, earlier: SyntaxFault[]) {
    this.#source = text;
    this.#earlier = earlier;
    this.#tokens = tokenize(text, earlier);
    this.#token = this.#tokens.next().value;
  }

  whole(): Node {
    const node = this.#expression();
    if (this.#isAtEnd) return node;
    const surplus = this.#next();
    throw this.#isAtEnd ? extraneous(surplus, '<EOF>') : mismatched(surplus, '<EOF>');
  }

  get #isAtEnd(): boolean {
    return this.#token.kind === 'end';
  }

  #expression(): Node {
    if (++this.#open > depthMax) throw tooDeep(this.#token.at);
    const condition = this.#operators(0);
    const { at } = this.#token;
    let node = condition;
    if (this.#accept('?')) {
      const yes = this.#operators(0);
      this.#expect(':');
      node = make(at, { kind: 'conditional', condition, yes, no: this.#expression() });
    }
    this.#open--;
    return node;
  }

  #operators(line: number): Node {
    const operators = binary[line];
    if (!operators) return this.#unary();
    let left = this.#operators(line + 1);
    while ((this.#token.kind === 'sign' || this.#token.text === 'in') && operators.includes(this.#token.text)) {
      const { at, text } = this.#token;
      if (text === '&&' || text === '||') {
        // A chain is one node, so long lists of conditions are not deep ones.
        const operands = [left];
        while (this.#accept(text)) operands.push(this.#operators(line + 1));
        left = make(at, { kind: 'logic', operator: text, operands });
      } else {
        this.#next();
        const args = [left, this.#operators(line + 1)];
        left = make(at, { kind: 'call', name: text === 'in' ? '@in' : `_${text}_`, target: undefined, args });
      }
    }
    return left;
  }

  #unary(): Node {
    const { at, text } = this.#token;
    if (this.#token.kind !== 'sign' || (text !== '!' && text !== '-')) return this.#member();
    let times = 0;
    while (this.#token.kind === 'sign' && this.#token.text === text) {
      this.#next();
      times++;
    }
    const { value } = this.#token;
    // The smallest int has no positive twin, so the sign belongs to the literal.
    if (text === '-' && times % 2 === 1 && (typeof value === 'bigint' || typeof value === 'number'))
      return this.#member(this.#literal(-value));
    if (text === '!' && this.#isAtEnd) throw extraneous(this.#token, operand);
    if (text === '-' && this.#isAtEnd)
      this.#earlier.push(syntaxFault(this.#token.at, `no viable alternative at input '${text}'`));
    const negated = this.#member();
    return times % 2 === 0 ? negated : make(at, { kind: 'call', name: `${text}_`, target: undefined, args: [negated] });
  }

  #member(first?: Node): Node {
    let node = first ?? this.#primary();
    for (;;) {
      const { at } = this.#token;
      if (this.#accept('.')) node = this.#afterDot(node, at);
      else if (this.#accept('[')) {
        this.#wanted = operandOfIndex;
        const optional = this.#accept('?');
        const index = this.#expression();
        this.#expect(']');
        node = make(at, { kind: 'call', name: optional ? '_[?_]' : '_[_]', target: undefined, args: [node, index] });
      } else if (this.#token.kind === 'sign' && this.#token.text === '{') {
        const name = qualifiedName(node);
        if (name === undefined) throw mismatched(this.#token, '<EOF>');
        this.#next();
        node = make(at, { kind: 'message', name, fields: this.#until('}', () => this.#messageField(), true) });
      } else return node;
    }
  }

  #afterDot(node: Node, at: number): Node {
    const optional = this.#accept('?');
    const field = this.#next();
    if (!isFieldName(field)) return this.#afterFault(this.#noField(field, at, optional), field);
    const open = this.#token;
    if (optional || field.kind === 'quoted name' || !this.#accept('('))
      return make(at, { kind: 'select', operand: node, field: field.text, mode: optional ? 'optional' : 'value' });
    const args = this.#arguments();
    return (
      expandMacro(make, field.text, node, args, open.at) ??
      make(open.at, { kind: 'call', name: field.text, target: node, args })
    );
  }

  #noField(found: Token, dotAt: number, optional: boolean): SyntaxFault {
    if (optional) return mismatched(found, '{IDENTIFIER, ESC_IDENTIFIER}');
    if (found.kind === 'name' && found.text !== 'in') return mismatched(found, 'IDENTIFIER');
    const end = found.kind === 'end' ? dotAt + 1 : found.at + found.text.length;
    return syntaxFault(found.at, `no viable alternative at input '${this.#source.slice(dotAt, end)}'`);
  }

  #arguments(): Node[] {
    this.#wanted = operandOrEndOfCall;
    return this.#until(')', () => this.#expression(), false);
  }

  #primary(): Node {
    const token = this.#token;
    if (token.kind === 'literal') return this.#literal(token.value ?? null);
    if (token.kind === 'name') return this.#name();
    if (this.#accept('.')) {
      if (this.#token.kind !== 'name') throw this.#noField(this.#token, token.at, false);
      return this.#name('.');
    }
    if (this.#accept('(')) {
      const inner = this.#expression();
      this.#expect(')');
      return inner;
    }
    if (this.#accept('[')) {
      const elements = this.#until(']', () => ({ optional: this.#accept('?'), value: this.#expression() }), true);
      return make(token.at, { kind: 'list', elements });
    }
    if (this.#accept('{'))
      return make(token.at, { kind: 'map', entries: this.#until('}', () => this.#mapEntry(), true) });
    const wanted = this.#wanted;
    if (token.kind === 'end') throw mismatched(token, wanted);
    this.#next();
    return beginsOperand(this.#token)
      ? this.#afterFault(extraneous(token, wanted))
      : this.#afterFault(mismatched(token, wanted), token);
  }

  /** Goes on with an operand: behind an operator there should be one, even if the operator came too early. */
  #afterFault(fault: SyntaxFault, found?: Token): Node {
    if ((found && !isOperator(found)) || this.#earlier.length >= faultsMax) throw fault;
    this.#earlier.push(fault);
    return this.#unary();
  }

  #literal(value: Value): Node {
    const { at } = this.#next();
    if (typeof value === 'bigint' && (value > intMax || value < -intMax - 1n))
      throw new SyntaxFault(at, 'invalid int literal');
    return make(at, { kind: 'literal', value });
  }

  #name(prefix = ''): Node {
    const { at, text } = this.#next();
    if (prefix === '' && (text === 'true' || text === 'false'))
      return make(at, { kind: 'literal', value: text === 'true' });
    if (prefix === '' && text === 'null') return make(at, { kind: 'literal', value: null });
    if (words.has(text)) {
      const token: Token = { at, kind: 'name', text };
      return this.#afterFault(mismatched(token, operand), token);
    }
    if (reserved.has(text)) throw new SyntaxFault(at, `reserved identifier: ${text}`);
    const open = this.#token;
    if (this.#accept('(')) {
      const args = this.#arguments();
      return (
        expandMacro(make, text, undefined, args, open.at) ??
        make(open.at, { kind: 'call', name: prefix + text, target: undefined, args })
      );
    }
    return make(at, { kind: 'name', name: prefix + text });
  }

  #mapEntry(): MapEntry {
    const optional = this.#accept('?');
    const key = this.#expression();
    this.#expect(':');
    return { optional, key, value: this.#expression() };
  }

  /** `Name{field: value}` */
  #messageField(): MessageField {
    const optional = this.#accept('?');
    const field = this.#next();
    if (!isFieldName(field)) throw mismatched(field, "{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}");
    this.#expect(':');
    return { optional, name: field.text, value: this.#expression() };
  }

  #until<T>(end: string, read: () => T, trailingComma: boolean): T[] {
    const all: T[] = [];
    while (!this.#accept(end)) {
      if (all.length > 0 && !this.#accept(',')) {
        this.#expect(end, trailingComma ? `{'${end}', ','}` : undefined);
        break;
      }
      if (all.length > 0 && trailingComma) {
        if (this.#isAtEnd) this.#expect(end);
        if (this.#accept(end)) break;
      }
      all.push(read());
    }
    return all;
  }

  #next(): Token {
    const token = this.#token;
    if (token.kind !== 'end') this.#token = this.#tokens.next().value;
    this.#wanted = operand;
    return token;
  }

  #accept(text: string): boolean {
    const found = this.#token.kind === 'sign' && this.#token.text === text;
    if (found) this.#next();
    return found;
  }

  #expect(text: string, shown = `'${text}'`): void {
    if (this.#accept(text)) return;
    const found = this.#next();
    // The words of a parser that goes on without this token, or as if the missing one were there.
    if (found.kind !== 'end' && this.#accept(text)) throw extraneous(found, shown);
    const mayFollow = text === ':' ? found.kind === 'literal' || found.kind === 'name' : found.kind === 'end';
    throw mayFollow ? syntaxFault(found.at, `missing '${text}' at '${found.text}'`) : mismatched(found, shown);
  }
}

const isFieldName = ({ kind, text }: Token): boolean => kind === 'quoted name' || (kind === 'name' && !words.has(text));
