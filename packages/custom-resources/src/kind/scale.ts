import { getOwn, setOwn } from '@cluster-apiserver/base';
import { badRequest, type Problems } from '@cluster-apiserver/model';
import { isJsonObject, isRawNumber, type JsonObject, numberOf } from '@cluster-apiserver/model/json';
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
  { replicas: field(1, int32, 'How many replicas are wanted.') },
  { publication: publicationOfPart('ScaleSpec', 'What is wanted.') },
);

const status = object(
  {
    replicas: field(1, int32, 'How many replicas there are.', 'always'),
    selector: field(2, string, 'The labels of the replicas, as a query.'),
  },
  { publication: publicationOfPart('ScaleStatus', 'What there is.') },
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
      metadata: field(1, objectMeta, 'Standard object metadata.', 'always'),
      spec: field(2, spec, 'What is wanted.', 'always'),
      status: field(3, status, 'What there is.', 'always'),
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
      value: (scale) => numberAt(scale, ['spec', 'replicas']) ?? 0,
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
  for (const path of [paths.specReplicasPath, paths.statusReplicasPath])
    validateReplicas(path, valueAt(written, stepsOf(path)), problems);
  const { labelSelectorPath } = paths;
  const selector = labelSelectorPath ? valueAt(written, stepsOf(labelSelectorPath)) : undefined;
  if (selector !== undefined && typeof selector !== 'string')
    problems.at(labelSelectorPath ?? '').invalid(selector, accessorError(labelSelectorPath ?? '', selector, 'string'));
}

function validateReplicas(path: string, value: unknown, problems: Problems): void {
  if (value === undefined) return;
  const at = problems.at(path);
  if (typeof value !== 'number' && !isRawNumber(value)) at.invalid(0, accessorError(path, value, 'int64'));
  else if (numberOf(value) < 0) at.invalid(value, 'should be a non-negative integer');
  else if (numberOf(value) > replicasMax) at.invalid(value, `should be less than or equal to ${replicasMax}`);
}
const replicasMax = 2 ** 31 - 1;

const accessorError = (path: string, value: unknown, wanted: string): string =>
  `${path} accessor error: ${typeof value === 'string' ? value : JSON.stringify(value)} is of the type ${typeof value}, expected ${wanted}`;

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
