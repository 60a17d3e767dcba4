import { EvaluationError, MapValue, type Value } from '../values/value.ts';
import { typeNameOf } from '../values/type-name.ts';

/** How far a macro has walked over a list or a map. */
export interface Walk {
  readonly kind: 'walk';
  readonly elements: readonly Value[];
  /** Those of a map. With one variable they are its elements. */
  readonly keys: readonly Value[] | undefined;
  at: number;
  /** The budget before the round that it is in. */
  left: number;
  unitsLeft: number;
  /** The result of the rounds so far. */
  readonly made: Value[];
  readonly entries: (readonly [Value, Value])[];
  failed: EvaluationError | undefined;
  decided: boolean;
}

export function createWalk(range: Value, withValues: boolean): Walk {
  const start = {
    kind: 'walk' as const,
    at: 0,
    left: 0,
    unitsLeft: 0,
    made: [],
    entries: [],
    failed: undefined,
    decided: false,
  };
  if (Array.isArray(range)) return { ...start, elements: range, keys: undefined };
  if (!(range instanceof MapValue)) throw notWalkable(range, withValues);
  if (!withValues) {
    const keys = [...range.keys()];
    return { ...start, keys, elements: keys };
  }
  const entries = [...range.entries()];
  return { ...start, keys: entries.map(([key]) => key), elements: entries.map(([, value]) => value) };
}

/** In the words of kube-apiserver. */
const notWalkable = (range: Value, withValues: boolean): EvaluationError =>
  new EvaluationError(
    withValues
      ? `unsupported comprehension range type: ${goTypeOf(range)}`
      : `got '${goTypeOf(range)}', expected iterable type`,
  );

const goTypeNames: Readonly<Record<string, string>> = { null_type: 'Null', optional_type: 'Optional' };

function goTypeOf(value: Value): string {
  const name = typeNameOf(value).replace('google.protobuf.', '');
  return `types.${goTypeNames[name] ?? name.charAt(0).toUpperCase() + name.slice(1)}`;
}
