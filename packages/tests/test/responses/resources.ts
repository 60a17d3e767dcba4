import { requireValue } from '@cluster-apiserver/base';
import { kinds } from '@cluster-apiserver/kinds';
import { bytesOf } from '@cluster-apiserver/model/codec';
import type { ApiVersion, Kind } from '@cluster-apiserver/model/kind';
import type { ApiResponse } from '@cluster-apiserver/pipeline';
import { samples } from '../authorization/samples.ts';
import { lampKind } from '../custom-sample.ts';
import type { InMemoryServer } from '../serve-in-memory.ts';

export interface ServedResource {
  readonly path: string;
  /** The storage prefix. */
  readonly key: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly fields: object;
  /** Namespaces have no deletecollection, and stay until they are empty. */
  readonly hasDeleteCollection: boolean;
  readonly isCustom: boolean;
  /** The paths that read and write the object itself, below its own. */
  readonly parts: readonly string[];
}

/**
 * All resources whose objects are stored; each test runs on all of them. The name of a definition says what it defines, so it
 * has tests of its own.
 */
export const servedResources: readonly ServedResource[] = [...kinds({ eventLifetimeSeconds: 3_600 }), lampKind]
  .filter(({ kind }) => kind !== 'CustomResourceDefinition')
  .flatMap((stored) => stored.versions.map((version) => toResource(stored, version)));

function toResource(
  { storage }: Kind,
  { apiVersion, group, kind, plural, singular, namespaced, verbs, fieldSubresources, isCustom }: ApiVersion,
): ServedResource {
  const within = namespaced ? 'namespaces/n/' : '';
  return {
    path: `${apiVersion === 'v1' ? '/api' : '/apis'}/${apiVersion}/${within}${plural}`,
    key: `/registry/${storage.prefix}${namespaced ? '/n' : ''}`,
    apiVersion,
    kind,
    plural,
    singular,
    fields: fieldsOf(`${group}/${plural}`),
    hasDeleteCollection: verbs.includes('deletecollection'),
    isCustom,
    parts: fieldSubresources.map(({ name }) => name),
  };
}

/** Those of the server's own kinds: custom ones take no strategic merge patches, and their patches keep what names the kind. */
export const declaredResources = servedResources.filter(({ isCustom }) => !isCustom);

/** The fields that a valid object has besides its metadata. A new kind has a sample. */
function fieldsOf(resource: string): object {
  const sample = requireValue(samples[resource], `${resource} needs a sample`)({ namespace: 'n', name: 'x' });
  return Object.fromEntries(
    Object.entries(sample).filter(([name]) => !['apiVersion', 'kind', 'metadata'].includes(name)),
  );
}

/** Without a version the first one, in which objects are stored. */
export const resourceOf = (kind: string, apiVersion?: string): ServedResource =>
  requireValue(
    servedResources.find((place) => place.kind === kind && place.apiVersion === (apiVersion ?? place.apiVersion)),
    `${kind} is not served`,
  );

/** A valid object of the resource. */
export const validObject = ({ apiVersion, kind, fields }: ServedResource, metadata: object = {}): object => ({
  apiVersion,
  kind,
  metadata: { name: 'x', ...metadata },
  ...fields,
});

export interface JsonResponse {
  readonly status: number;
  readonly warnings: readonly string[];
  readonly body: ResponseBody;
}

export interface ResponseBody {
  readonly message?: string;
  readonly reason?: string;
  readonly details?: { readonly causes?: readonly object[]; readonly retryAfterSeconds?: number };
  readonly metadata: {
    readonly name?: string;
    readonly resourceVersion?: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly object[];
    readonly finalizers?: readonly string[];
    readonly managedFields?: readonly {
      readonly manager: string;
      readonly apiVersion: string;
      readonly fieldsV1: Readonly<Record<string, unknown>>;
    }[];
  };
  readonly items?: readonly ResponseBody[];
  readonly [name: string]: unknown;
}

/** Sends a request and parses the response. */
export async function sendRequest(
  server: InMemoryServer,
  method: string,
  target: string,
  body?: object | string | Buffer,
  type?: string,
): Promise<JsonResponse> {
  const response = await server.request(
    method,
    target,
    typeof body === 'object' && !Buffer.isBuffer(body) ? JSON.stringify(body) : body,
    type,
  );
  const warnings = warningsOf(response.headers);
  return { status: response.status, warnings, body: JSON.parse(textOf(response)) as ResponseBody };
}

export const warningsOf = ({ warning = [] }: ApiResponse['headers']): readonly string[] =>
  typeof warning === 'string' ? [warning] : warning;

export function textOf({ body }: ApiResponse): string {
  if (typeof body === 'string') return Buffer.from(bytesOf(body)).toString();
  if (Buffer.isBuffer(body)) return body.toString();
  // A list that is joined at once, in one piece.
  const piece = body?.next(1_000_000, (bytes) => Buffer.alloc(bytes));
  if (Buffer.isBuffer(piece)) return piece.toString();
  throw new TypeError('the response has no length');
}
