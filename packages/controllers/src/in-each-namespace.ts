/**
 * Keeps an object of one name in each namespace that is not terminating: creates it where it is missing, and repairs it
 * where it was changed. A creation is a request of the server to itself: it depends on the state of its namespace, is
 * charged to quotas, and policies and webhooks decide on it.
 */
import { namespaceKind } from '@cluster-apiserver/kinds';
import { StatusError } from '@cluster-apiserver/model';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { decode } from '@cluster-apiserver/model/schema';
import type { CachedObject, Resource } from '@cluster-apiserver/registry';
import { itemKey, textOfItemKey } from '@cluster-apiserver/storage';
import { changeObject, ignoreWarning } from './change-object.ts';
import { readable } from './memory.ts';
import { type ControllerOptions, type ControllerServices, runController, manager } from './run-controller.ts';

export interface NamespaceObject {
  readonly kind: 'ConfigMap' | 'ServiceAccount';
  readonly name: string;
  /** Whether a namespace has one; all have by default. */
  readonly isIn?: (namespace: string) => boolean;
  /** Of a new one. */
  readonly draft: () => Content;
  /** The object as it should be; the same object if it is. */
  readonly repair?: (current: KubeObject) => KubeObject;
}

interface Content {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly data?: Readonly<Record<string, string>>;
}

/** As in Kubernetes. */
const workers = 5;

/** A policy or a quota that forbids the object may stay, in all of many namespaces. */
const pauses = { firstMs: 50, maxMs: 60_000 };

/** Runs until the signal aborts, and resolves when no work is running any more. */
export async function keepInEachNamespace(
  options: ControllerOptions & ControllerServices,
  { kind, name, isIn = () => true, draft, repair }: NamespaceObject,
): Promise<void> {
  const { api, signal, log, create } = options;
  const namespaces = api.ofVersion(namespaceKind);
  const objects = api.byGroupKind('', kind);
  if (!namespaces || !objects || signal.aborted) return;
  const suffix = itemKey(`/${name}`);
  await runController(options, {
    workers,
    pauses,
    reconciled: namespaces,
    alsoFollowed: [objects],
    start: ({ enqueue, forEachKey, call }) => ({
      reconcile: async (key) => {
        const namespace = textOfItemKey(key);
        if (!isIn(namespace) || !isActive(namespaces.collection.get(key))) return;
        const found = objects.collection.get(key + suffix);
        if (found?.unreadable) return; // it is enqueued when it can be read
        if (!found) {
          await createUnlessTerminating(create(objects, newObject(objects, { namespace, name }, draft()), call()));
          log.debug(2, 'created an object that each namespace has', { kind, object: `${namespace}/${name}` });
          return;
        }
        const current = found.object;
        if (!repair || repair(current) === current) return;
        await changeObject(objects, found, { manager, change: repair }, call());
        log.debug(2, 'repaired an object that each namespace has', { kind, object: `${namespace}/${name}` });
      },
      changed: (resource, { key, previous, current }) => {
        if (resource === namespaces) {
          if (!readable(previous) && current) enqueue(key);
        } else if (key.endsWith(suffix)) enqueue(key.slice(0, -suffix.length));
      },
      sync: () => forEachKey(enqueue),
    }),
  });
}

const isActive = (item: CachedObject | undefined): boolean =>
  item !== undefined && readable(item)?.lifecycle?.deletionTimestamp === undefined && !item.unreadable;

function newObject(
  { kind: { kind, apiVersion, schema } }: Resource,
  names: { readonly namespace: string; readonly name: string },
  { annotations, ...fields }: Content,
): KubeObject {
  const metadata = { ...names, ...(annotations && { annotations }) };
  return decode(schema, { kind, apiVersion, metadata, ...fields }, ignoreWarning);
}

/** The object may have been created meanwhile, and its namespace may be terminating or gone. */
async function createUnlessTerminating(creation: Promise<unknown>): Promise<void> {
  try {
    await creation;
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    const { reason, details } = error;
    const isTerminating = details?.causes?.some((cause) => cause.reason === 'NamespaceTerminating');
    if (reason !== 'AlreadyExists' && reason !== 'NotFound' && !isTerminating) throw error;
  }
}
