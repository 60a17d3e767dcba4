/**
 * Converts the objects of a custom resource by the webhook of its definition. The webhook decides about the content, labels and
 * annotations of an object; the rest of its metadata stays, whatever it answers.
 */
import { type Call, type Random, runTask, type SyncTask } from '@cluster-apiserver/base';
import type { WebhookClientConfig } from '@cluster-apiserver/kinds';
import { formatPath, Problems, StatusError } from '@cluster-apiserver/model';
import { sameJson } from '@cluster-apiserver/model/json';
import type { ApiVersion, BatchConversion, KubeObject, ObjectMeta } from '@cluster-apiserver/model/kind';
import { decode, WrongTypeError } from '@cluster-apiserver/model/schema';
import { validateAnnotations, validateLabels } from '@cluster-apiserver/model/validation';
import { chooseReviewVersion, type ReviewVersion } from './admission-review.ts';
import { WebhookCallError } from './errors.ts';
import { type PostOptions, postReview } from './post-review.ts';

export interface ConversionWebhook {
  readonly clientConfig: WebhookClientConfig;
  readonly conversionReviewVersions: readonly string[];
}

export interface ConversionOptions extends PostOptions {
  readonly random: Random;
}

/** As in kube-apiserver. */
const timeoutMs = 30_000;
/** Of what a webhook says, because clients receive it. */
const messageCharactersMax = 16 * 1024;

export function createConversionWebhook(
  { clientConfig, conversionReviewVersions }: ConversionWebhook,
  options: ConversionOptions,
): BatchConversion {
  const version = chooseReviewVersion(conversionReviewVersions);
  return {
    isImmediate: false,
    convert: async (objects, from, to, call) => {
      if (from === to || objects.length === 0) return objects;
      const failed = `conversion webhook for ${from.apiVersion}, Kind=${from.kind}`;
      try {
        if (!version) throw new ConversionError(' failed: no supported conversion review versions');
        const answered = await ask({ clientConfig, version, objects, desired: to.apiVersion }, options, call);
        return await runTask(options.clock, call, readAll(objects, answered, to), true);
      } catch (error) {
        if (!(error instanceof ConversionError)) throw error;
        throw new StatusError('InternalError', `${failed}${error.message}`, undefined);
      }
    },
  };
}

/** Its message follows the name of the webhook. */
class ConversionError extends Error {
  override readonly name = 'ConversionError';
}

interface Question {
  readonly clientConfig: WebhookClientConfig;
  readonly version: ReviewVersion;
  readonly objects: readonly KubeObject[];
  readonly desired: string;
}

async function ask(
  { clientConfig, version, objects, desired }: Question,
  { clients, clock, random }: ConversionOptions,
  call: Call,
): Promise<readonly unknown[]> {
  const uid = random.uuid();
  const review = {
    kind: 'ConversionReview',
    apiVersion: `apiextensions.k8s.io/${version}`,
    request: { uid, desiredAPIVersion: desired, objects },
  };
  try {
    const endpoint = clients.resolveEndpoint(clientConfig);
    const url = new URL(endpoint.url);
    url.searchParams.set('timeout', `${timeoutMs / 1000}s`);
    return readReview(await postReview({ endpoint, url, review, timeoutMs }, { clients, clock }, call), version, uid);
  } catch (error) {
    if (!(error instanceof WebhookCallError)) throw error;
    throw new ConversionError(` failed: ${error.message}`, { cause: error });
  }
}

/** The converted objects of a response that reports success. */
function readReview(review: unknown, version: ReviewVersion, uid: string): readonly unknown[] {
  const { kind, apiVersion, response } = membersOf(review);
  // Version v1beta1 never required the identity.
  const isChecked = version === 'v1';
  if (isChecked && (kind !== 'ConversionReview' || apiVersion !== 'apiextensions.k8s.io/v1'))
    throw new ConversionError(
      ` failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got ${shown(apiVersion)}, Kind=${shown(kind)}`,
    );
  if (response === undefined || response === null) throw new ConversionError(' failed: no response provided');
  const { uid: answeredUid, result, convertedObjects } = membersOf(response);
  if (isChecked && answeredUid !== uid)
    throw new ConversionError(
      ` failed: expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(shown(answeredUid))}`,
    );
  const { status, message } = membersOf(result);
  if (status !== 'Success')
    throw new ConversionError(
      ` failed: ${shown(message) || `response.result.status was '${shown(status)}', not 'Success'`}`,
    );
  return Array.isArray(convertedObjects) ? convertedObjects : [];
}

/** In steps of an object each. */
function* readAll(
  originals: readonly KubeObject[],
  answered: readonly unknown[],
  to: ApiVersion,
): SyncTask<readonly KubeObject[]> {
  if (answered.length !== originals.length)
    throw new ConversionError(` returned ${answered.length} objects, expected ${originals.length}`);
  const converted: KubeObject[] = [];
  for (const [index, original] of originals.entries()) {
    converted.push(readObject(original, answered[index], to, index));
    yield;
  }
  return converted;
}

function readObject(original: KubeObject, answered: unknown, to: ApiVersion, index: number): KubeObject {
  const fail = (what: string, problem: string): never => {
    throw new ConversionError(` returned invalid ${what} at index ${index}: ${problem}`);
  };
  const failObject = (problem: string): never => fail('converted object', problem);
  const { metadata, ...content } = membersOf(answered);
  const { kind, apiVersion } = content;
  if (apiVersion !== to.apiVersion)
    failObject(`invalid groupVersion (expected ${to.apiVersion}, received ${shown(apiVersion)})`);
  if (kind !== original.kind) failObject(`invalid kind (expected ${original.kind}, received ${shown(kind)})`);
  const given = membersOf(metadata);
  for (const [name, label] of identity) {
    const expected = original.metadata[name] ?? '';
    const received = given[name] ?? '';
    if (expected !== received) failObject(`must have the same ${label}: ${expected} != ${shown(received)}`);
  }
  if (metadata === undefined) fail('metadata in object', 'missing metadata in converted object');
  try {
    const value = { ...content, metadata: metadataOf(original.metadata, given) };
    return decode(to.schema, value, () => {}, { keepsNulls: true, addsDefaults: false });
  } catch (error) {
    if (error instanceof MetadataError) return fail('metadata in object', error.message);
    if (error instanceof WrongTypeError) return failObject(error.message);
    throw error;
  }
}

const identity = [
  ['name', 'name'],
  ['namespace', 'namespace'],
  ['uid', 'UID'],
] as const;

class MetadataError extends Error {
  override readonly name = 'MetadataError';
}

/** That of the object before, with the labels and annotations of the answer. Only changed ones are validated. */
function metadataOf(original: ObjectMeta, given: Members): ObjectMeta {
  const { labels: labelsBefore, annotations: annotationsBefore, ...rest } = original;
  const labels = textsOf('labels', given);
  const annotations = textsOf('annotations', given);
  const problems = new Problems();
  if (labels && !sameJson(labels, labelsBefore ?? {})) validateLabels({ ...rest, labels }, original, problems);
  if (annotations && !sameJson(annotations, annotationsBefore ?? {}))
    validateAnnotations(annotations, problems.at('metadata', 'annotations'));
  const [first] = problems.errors;
  if (first) throw new MetadataError(`${formatPath(first.path)}: ${first.message}`);
  return { ...rest, ...(labels && { labels }), ...(annotations && { annotations }) };
}

function textsOf(name: 'labels' | 'annotations', given: Members): Readonly<Record<string, string>> | undefined {
  const found = given[name];
  if (found === undefined || found === null) return undefined;
  const texts: Record<string, string> = {};
  if (typeof found !== 'object' || Array.isArray(found))
    throw new MetadataError(`invalid metadata.${name} in converted object`);
  for (const [key, value] of Object.entries(found)) {
    if (typeof value !== 'string')
      throw new MetadataError(`metadata.${name}[${shown(key)}] must be a string in converted object`);
    Object.defineProperty(texts, key, { value, enumerable: true, configurable: true, writable: true });
  }
  return texts;
}

type Members = Readonly<Record<string, unknown>>;

/** None of what is no object. */
const membersOf = (value: unknown): Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};

const shown = (value: unknown): string => (typeof value === 'string' ? value.slice(0, messageCharactersMax) : '');
