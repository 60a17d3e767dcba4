import { typeNameOf } from '../values/type-name.ts';
import { EvaluationError, type Value } from '../values/value.ts';

const times = ['google.protobuf.Timestamp', 'google.protobuf.Duration'];
const numbers = ['int', 'uint', 'double'];
const ordered = [...numbers, ...times, 'bool', 'bytes', 'string'];

/** What operators take at all on their left side. */
const operands: ReadonlyMap<string, readonly string[]> = new Map([
  ['_+_', [...numbers, ...times, 'string', 'bytes', 'list']],
  ['_-_', [...numbers, ...times, 'string']],
  ['_*_', [...numbers, 'string']],
  ['_/_', [...numbers, 'string']],
  ['_%_', ['int', 'uint', 'string']],
  ...['_<_', '_<=_', '_>_', '_>=_'].map((name) => [name, ordered] as const),
  ['-_', ['int', 'double', 'bool', 'string', 'google.protobuf.Duration']],
  ['size', []],
]);

const unnamed: ReadonlySet<string> = new Set(['!_', '@in', 'contains', 'startsWith', 'endsWith', 'matches', 'orValue']);

/** The error of kube-apiserver for arguments without a matching overload. Users of policies see it. */
export function createNoOverloadError(name: string, values: readonly Value[]): EvaluationError {
  const types = values.map(typeNameOf);
  const takes = operands.get(name);
  if (unnamed.has(name) || takes?.includes(types[0] ?? '')) return new EvaluationError('no such overload');
  return new EvaluationError(`no such overload: ${takes ? name : `${name}(${types.join(', ')})`}`);
}
