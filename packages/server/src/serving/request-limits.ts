/** The limits of requests: priority and fairness by the objects that the server stores, or two numbers. */
import { asError, type CleanupStack } from '@cluster-apiserver/base';
import { followFlowControl } from '@cluster-apiserver/controllers';
import {
  compileFlowSchema,
  createFlowMeasures,
  createSimpleLimits,
  FlowControl,
  publishLevels,
  type PriorityLevelObject,
} from '@cluster-apiserver/gates';
import {
  mandatoryFlowSchemas,
  mandatoryPriorityLevels,
  suggestedFlowSchemas,
  suggestedPriorityLevels,
} from '@cluster-apiserver/kinds';
import type { RequestLimits } from '@cluster-apiserver/pipeline';
import { countObjects, type LiveApi } from '@cluster-apiserver/registry';
import type { ServerContext } from '../configuration/context.ts';
import type { ServingSettings } from './serving-settings.ts';

/** A part of the time of a request, as in Kubernetes: the rest is for its work. */
const waitShare = 4;

/** No request takes more. */
const seatsMax = 10;
const objectsPerSeat = 100;

/** Some FlowSchemas are compiled in one step of the loop. */
const schemasPerStep = 16;

/** Undefined if no limit is set. */
export function openRequestLimits(
  { isFair, inFlightLimits, requestTimeoutMs }: ServingSettings,
  api: LiveApi,
  context: LimitsContext,
  cleanup: CleanupStack,
): RequestLimits | undefined {
  const seats = inFlightLimits.readOnly + inFlightLimits.mutating;
  if (seats === 0) return undefined;
  const control = isFair && shareFairly(seats, requestTimeoutMs / waitShare, api, context, cleanup);
  return control
    ? { control, seatsOf: (request) => seatsOf(api, request) }
    : { control: createSimpleLimits(context.environment.clock, inFlightLimits), seatsOf: () => 1 };
}

type LimitsContext = Pick<ServerContext, 'environment' | 'metrics' | 'log'>;

/** Priority and fairness by the objects that are stored; undefined if they are not served. */
function shareFairly(
  seats: number,
  waitMaxMs: number,
  api: LiveApi,
  { environment: { clock }, metrics, log }: LimitsContext,
  cleanup: CleanupStack,
): FlowControl | undefined {
  const control = new FlowControl({ clock, seats, waitMaxMs, measures: createFlowMeasures(metrics) });
  let names = new Set<string>();
  const unfollow = followFlowControl(api, {
    clock,
    apply: function* apply(schemas, levels) {
      const compiled = [];
      for (const schema of schemas) {
        compiled.push(compileFlowSchema(schema));
        if (compiled.length % schemasPerStep === 0) yield;
      }
      control.configure(
        withMissing(compiled, mandatorySchemas, ({ name }) => name),
        withMissing<PriorityLevelObject>(levels, mandatoryLevels, ({ metadata }) => metadata.name ?? ''),
      );
      const former = names;
      names = new Set(compiled.map(({ name }) => name));
      for (const name of former) if (!names.has(name)) metrics.dropSeries({ flow_schema: name });
    },
    failed: (error) =>
      log.withName('flow-control').error(
        // Meaning: FlowSchemas or PriorityLevelConfigurations changed, and the change is not in force on this
        // replica.
        'applying FlowSchemas failed; requests are limited by those before',
        'report the error as a bug; the next change of one of them tries again',
        { error: asError(error) },
      ),
  });
  if (!unfollow) return undefined;
  cleanup.defer('flow control', unfollow);
  publishLevels(metrics, control);
  // Until the objects have been read.
  control.configure(
    objectsOf({ ...mandatoryFlowSchemas, ...suggestedFlowSchemas }).map(compileFlowSchema),
    objectsOf({ ...mandatoryPriorityLevels, ...suggestedPriorityLevels }),
  );
  return control;
}

const objectsOf = <Spec>(specs: Readonly<Record<string, Spec>>): { metadata: { name: string }; spec: Spec }[] =>
  Object.entries(specs).map(([name, spec]) => ({ metadata: { name }, spec }));

const mandatorySchemas = objectsOf(mandatoryFlowSchemas).map(compileFlowSchema);
const mandatoryLevels = objectsOf(mandatoryPriorityLevels);

/** Mandatory objects hold even where they are not stored, so every request has a flow. */
function withMissing<Item>(
  stored: readonly Item[],
  mandatory: readonly Item[],
  nameOf: (item: Item) => string,
): Item[] {
  const names = new Set(stored.map(nameOf));
  return [...stored, ...mandatory.filter((item) => !names.has(nameOf(item)))];
}

/**
 * Lists are as expensive as what they read. Writes that queue in etcd delay everything else there, so one that takes
 * twice as long as the shortest takes two seats: the others wait here, where flows take turns. Other requests take one seat.
 */
function seatsOf(api: LiveApi, { info, served }: Parameters<RequestLimits['seatsOf']>[0]): number {
  const { verb, resource: target } = info;
  if (!served || verb === 'get') return 1;
  const resource = api.ofVersion(served);
  if (!resource) return 1;
  if (verb !== 'list') return Math.min(seatsMax, Math.round(resource.store.writeCongestion));
  if (!resource.collection.isReady) return 1;
  const read = countObjects(resource.collection.view(), target?.namespace);
  return Math.min(seatsMax, Math.max(1, Math.ceil(read / objectsPerSeat)));
}
