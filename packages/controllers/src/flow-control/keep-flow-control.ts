/**
 * Keeps the FlowSchemas and PriorityLevelConfigurations that each server has, and tells in the status of each FlowSchema
 * whether its priority level exists.
 */
import {
  danglingCondition,
  type FlowSchema,
  mandatoryFlowSchemas,
  mandatoryPriorityLevels,
  suggestedFlowSchemas,
  suggestedPriorityLevels,
  withCondition,
} from '@cluster-apiserver/kinds';
import { formatTime } from '@cluster-apiserver/model';
import { sameJson } from '@cluster-apiserver/model/json';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { decode } from '@cluster-apiserver/model/schema';
import { type LiveApi, create, type Resource, type StoredObject } from '@cluster-apiserver/registry';
import { type Call, itemKey, textOfItemKey } from '@cluster-apiserver/storage';
import { changeObject, ignoreWarning } from '../change-object.ts';
import { isLoaded, itemsWithin, readable } from '../memory.ts';
import { requireKind } from '../object-of-kind.ts';
import { type ControllerOptions, runController } from '../run-controller.ts';

/** Whether the server keeps the spec as it is here: `false` leaves it to an administrator. */
const autoUpdate = 'apf.kubernetes.io/autoupdate-spec';

/** As in Kubernetes, where each server writes them. */
const managers = {
  spec: 'api-priority-and-fairness-config-producer-v1',
  status: 'api-priority-and-fairness-config-consumer-v1',
};

const workers = 2;

/** Objects that exist by themselves, by their names. */
interface Defaults {
  readonly mandatory: Readonly<Record<string, object>>;
  readonly suggested: Readonly<Record<string, object>>;
}

const defaultLevels: Defaults = { mandatory: mandatoryPriorityLevels, suggested: suggestedPriorityLevels };
const defaultSchemas: Defaults = { mandatory: mandatoryFlowSchemas, suggested: suggestedFlowSchemas };

/** Runs until the signal aborts, and resolves when no work is running any more. */
export async function keepFlowControl(options: ControllerOptions): Promise<void> {
  const { api, signal } = options;
  const resources = flowControlResources(api);
  if (!resources || signal.aborted) return;
  const { schemas, levels } = resources;
  await Promise.all([keepLevels(options, levels), keepSchemas(options, schemas, levels)]);
}

/** Undefined where not both are served. */
export function flowControlResources(api: LiveApi): { schemas: Resource; levels: Resource } | undefined {
  const [schemas, levels] = ['FlowSchema', 'PriorityLevelConfiguration'].map((kind) =>
    api.byGroupKind('flowcontrol.apiserver.k8s.io', kind),
  );
  return schemas && levels ? { schemas, levels } : undefined;
}

const keepLevels = (options: ControllerOptions, levels: Resource): Promise<void> =>
  runController(options, {
    workers,
    reconciled: levels,
    start: ({ enqueue, call }) => ({
      reconcile: (key) => keepDefault(levels, key, defaultLevels, call()),
      changed: (_, { key }) => {
        if (findDefault(defaultLevels, textOfItemKey(key))) enqueue(key);
      },
      sync: async () => enqueueDefaults(defaultLevels, enqueue),
    }),
  });

const keepSchemas = (options: ControllerOptions, schemas: Resource, levels: Resource): Promise<void> =>
  runController(options, {
    workers,
    reconciled: schemas,
    alsoFollowed: [levels],
    start: ({ enqueue, forEachKey, call }) => ({
      reconcile: async (key) => {
        await keepDefault(schemas, key, defaultSchemas, call());
        const stored = readable(schemas.collection.get(key));
        if (stored) await tellWhetherDangling(schemas, stored, levels, formatTime(options.clock.now()), call());
      },
      changed: (resource, { key, previous, current }) => {
        if (resource === schemas) enqueue(key);
        else if ((previous === undefined) !== (current === undefined) && isLoaded([schemas]))
          for (const item of itemsWithin(schemas.collection.view(), '')) enqueue(item.key);
      },
      sync: async () => {
        enqueueDefaults(defaultSchemas, enqueue);
        await forEachKey(enqueue);
      },
    }),
  });

function enqueueDefaults({ mandatory, suggested }: Defaults, enqueue: (key: string) => void): void {
  for (const name of Object.keys({ ...mandatory, ...suggested })) enqueue(itemKey(name));
}

const findDefault = ({ mandatory, suggested }: Defaults, name: string): object | undefined =>
  mandatory[name] ?? suggested[name];

/** Creates the object if it is missing, and restores its spec unless an administrator has taken it over. */
async function keepDefault(resource: Resource, key: string, defaults: Defaults, call: Call): Promise<void> {
  const name = textOfItemKey(key);
  const spec = findDefault(defaults, name);
  const found = resource.collection.get(key);
  if (!spec || found?.unreadable) return;
  if (!found) {
    const { kind, apiVersion, schema } = resource.kind;
    const metadata = { name, annotations: { [autoUpdate]: 'true' } };
    const draft = decode(schema, { kind, apiVersion, metadata, spec }, ignoreWarning);
    await create(
      resource,
      { ...draft, metadata },
      { namespace: undefined, dryRun: false, manager: managers.spec, warn: ignoreWarning },
      call,
    );
    return;
  }
  const stored = readable(found);
  if (!stored) return;
  const isMandatory = defaults.mandatory[name] !== undefined;
  const keep = (current: KubeObject): KubeObject => keptObject(current, spec, isMandatory);
  if (keep(stored.object) !== stored.object)
    await changeObject(resource, stored, { manager: managers.spec, change: keep }, call);
}

/** The same object if it is as it should be. What changed it before it got its annotation stays. */
function keptObject(current: KubeObject, spec: object, isMandatory: boolean): KubeObject {
  const { annotations, generation } = current.metadata;
  const isKept = isMandatory || (annotations?.[autoUpdate] ?? String(generation === 1)) === 'true';
  const wanted = String(isKept);
  const present = 'spec' in current ? current.spec : undefined;
  // Of the exempt level the administrator decides what it lends.
  const isSame = !isKept || sameJson(present, spec) || (isMandatory && isLending(present));
  if (isSame && annotations?.[autoUpdate] === wanted) return current;
  const metadata = { ...current.metadata, annotations: { ...annotations, [autoUpdate]: wanted } };
  return { ...current, metadata, ...(!isSame && { spec }) };
}

const isLending = (spec: unknown): boolean =>
  typeof spec === 'object' && spec !== null && 'type' in spec && spec.type === 'Exempt';

async function tellWhetherDangling(
  schemas: Resource,
  stored: StoredObject,
  levels: Resource,
  now: string,
  call: Call,
): Promise<void> {
  const change = (current: KubeObject): KubeObject => {
    const schema = requireKind(current, 'FlowSchema');
    const conditions = withCondition(schema.status.conditions, {
      ...findDangling(schema, levels),
      lastTransitionTime: now,
    });
    return sameJson(conditions, schema.status.conditions) ? current : { ...schema, status: { conditions } };
  };
  if (change(stored.object) !== stored.object)
    await changeObject(schemas, stored, { manager: managers.status, subresource: 'status', change }, call);
}

function findDangling({ spec }: FlowSchema, levels: Resource) {
  const { name } = spec.priorityLevelConfiguration;
  const exists = levels.collection.get(itemKey(name)) !== undefined;
  return {
    type: danglingCondition,
    status: exists ? 'False' : 'True',
    reason: exists ? 'Found' : 'NotFound',
    message: `The priority level ${JSON.stringify(name)} ${exists ? 'exists' : 'does not exist'}.`,
  };
}
