import { getOwn, setOwn } from '@cluster-apiserver/base';
import { badRequest, formatValue, type Problems } from '@cluster-apiserver/model';
import { type Integer, isJsonObject, isRawNumber, type JsonObject, numberOf } from '@cluster-apiserver/model/json';
import {
  type EncodableKind,
  type FieldSubresource,
  type KubeObject,
  type ObjectMeta,
  requireKubeObject,
} from '@cluster-apiserver/model/kind';
import { field, int32, object, objectMeta, publicationOf, string, typeMeta } from '@cluster-apiserver/model/schema';
import { metadataColumns } from './columns.ts';
import type { ScalePaths } from './definition.ts';

const autoscaling = { group: 'autoscaling', version: 'v1' };
const publicationOfPart = (kind: string, description: string) => publicationOf({ ...autoscaling, kind }, description);

const spec = object(
  { replicas: field(1, int32, 'Desired number of replicas.') },
  { publication: publicationOfPart('ScaleSpec', 'Desired scale.') },
);

const status = object(
  {
    replicas: field(1, int32, 'Current number of replicas.', 'always'),
    selector: field(2, string, 'The labels of the replicas, as a query.'),
  },
  { publication: publicationOfPart('ScaleStatus', 'Current scale.') },
);

const [nameColumn, ageColumn] = metadataColumns;

/** The number of replicas of any object, as `autoscaling/v1` has it. */
const scaleForm: EncodableKind = {
  ...autoscaling,
  kind: 'Scale',
  apiVersion: 'autoscaling/v1',
  schema: object(
    {
      ...typeMeta,
      metadata: field(1, objectMeta, "Standard object's metadata.", 'always'),
      spec: field(2, spec, 'Desired scale.', 'always'),
      status: field(3, status, 'Current scale.', 'always'),
    },
    { publication: publicationOfPart('Scale', 'The number of replicas of an object.') },
  ),
  hasProtobuf: true,
  isCustom: false,
  columns: [
    nameColumn,
    {
      name: 'Desired',
      description: 'Number of desired replicas',
      type: 'integer',
      // A Scale does not show that none are wanted.
      value: (scale) => numberAt(scale, ['spec', 'replicas']) ?? null,
    },
    {
      name: 'Available',
      description: 'Number of actual replicas',
      type: 'integer',
      value: (scale) => numberAt(scale, ['status', 'replicas']) ?? 0,
    },
    ageColumn,
  ],
};

/** The subresource through which an object is scaled. */
export function scaleSubresource(paths: ScalePaths): FieldSubresource {
  const wanted = stepsOf(paths.specReplicasPath);
  const present = stepsOf(paths.statusReplicasPath);
  const selector = paths.labelSelectorPath ? stepsOf(paths.labelSelectorPath) : undefined;
  return {
    name: 'scale',
    verbs: ['get', 'patch', 'update'],
    fields: wanted.slice(0, 1),
    givenOnCreate: true,
    keepsMetadata: true,
    projection: {
      form: scaleForm,
      project: (held) => ({
        kind: scaleForm.kind,
        apiVersion: scaleForm.apiVersion,
        metadata: namesOf(held.metadata),
        spec: replicasOf(numberAt(held, wanted)),
        status: {
          replicas: numberAt(held, present) ?? 0,
          ...(selector && selectorOf(valueAt(held, selector))),
        },
      }),
      isComplete: (held) => numberAt(held, wanted) !== undefined,
      fieldsOf: (scale) => nested(wanted, numberAt(scale, ['spec', 'replicas']) ?? 0),
      change: (held, scale) => {
        const replicas =
          numberAt(scale, ['spec', 'replicas']) ?? (numberAt(held, wanted) === undefined ? undefined : 0);
        if (replicas === undefined)
          throw badRequest(`the spec replicas field ${JSON.stringify(paths.specReplicasPath)} cannot be empty`);
        return requireKubeObject(withValueAt(held, wanted, replicas));
      },
    },
  };
}

const namesOf = ({ name, namespace, uid, resourceVersion, creationTimestamp }: ObjectMeta): ObjectMeta => ({
  ...(name !== undefined && { name }),
  ...(namespace !== undefined && { namespace }),
  ...(uid !== undefined && { uid }),
  ...(resourceVersion !== undefined && { resourceVersion }),
  ...(creationTimestamp !== undefined && { creationTimestamp }),
});

const replicasOf = (replicas: number | undefined): object => (replicas ? { replicas } : {});
const selectorOf = (value: unknown): object => (typeof value === 'string' && value !== '' ? { selector: value } : {});

/** Validates the numbers of replicas of an object, whichever client writes them. Their fields are named by their paths. */
export function validateScale(paths: ScalePaths, written: KubeObject, problems: Problems): void {
  for (const path of [paths.specReplicasPath, paths.statusReplicasPath]) {
    const replicas = readAt(written, path, 'int64', problems);
    if (replicas === undefined) continue;
    const at = problems.at(path);
    if (numberOf(replicas) < 0) at.invalid(replicas, 'should be a non-negative integer');
    else if (numberOf(replicas) > replicasMax) at.invalid(replicas, `should be less than or equal to ${replicasMax}`);
  }
  if (paths.labelSelectorPath) readAt(written, paths.labelSelectorPath, 'string', problems);
}
const replicasMax = 2 ** 31 - 1;

/** The value at a path if it has this type. The types are those of Go, in errors too. */
function readAt<Type extends keyof Wanted>(
  held: KubeObject,
  path: string,
  wanted: Type,
  problems: Problems,
): Wanted[Type] | undefined {
  const refuse = (value: unknown, expected: string): undefined => {
    const detail = `${path} accessor error: ${formatScalar(value)} is of the type ${goTypeOf(value)}, expected ${expected}`;
    problems.at(path).invalid(wanted === 'int64' ? 0 : '', detail);
    return undefined;
  };
  let value: unknown = held;
  for (const step of stepsOf(path)) {
    if (!isJsonObject(value)) return refuse(value, 'map[string]interface{}');
    value = getOwn(value, step);
    if (value === undefined) return undefined;
  }
  return isOfType(value, wanted) ? value : refuse(value, wanted);
}

interface Wanted {
  readonly int64: Integer;
  readonly string: string;
}

const isOfType = <Type extends keyof Wanted>(value: unknown, wanted: Type): value is Wanted[Type] =>
  goTypeOf(value) === wanted;

const formatScalar = (value: unknown): string => (typeof value === 'string' ? value : formatValue(value));

function goTypeOf(value: unknown): string {
  if (value === null) return '<nil>';
  if (Array.isArray(value)) return '[]interface {}';
  if (typeof value === 'boolean') return 'bool';
  if (isRawNumber(value) || Number.isSafeInteger(value)) return 'int64';
  if (typeof value === 'number') return 'float64';
  return typeof value === 'string' ? 'string' : 'map[string]interface {}';
}

const stepsOf = (path: string): readonly string[] => path.split('.').slice(1);

function valueAt(held: unknown, steps: readonly string[]): unknown {
  let value = held;
  for (const step of steps) value = isJsonObject(value) ? getOwn(value, step) : undefined;
  return value;
}

function numberAt(held: unknown, steps: readonly string[]): number | undefined {
  const value = valueAt(held, steps);
  return typeof value === 'number' || isRawNumber(value) ? numberOf(value) : undefined;
}

/** Parents that are missing are made. */
function withValueAt(held: unknown, [step, ...rest]: readonly string[], value: unknown): unknown {
  if (step === undefined) return value;
  const members: JsonObject = isJsonObject(held) ? held : {};
  const changed: Record<string, unknown> = { ...members };
  setOwn(changed, step, withValueAt(getOwn(members, step), rest, value));
  return changed;
}

const nested = (steps: readonly string[], value: unknown): object => Object(withValueAt({}, steps, value));
