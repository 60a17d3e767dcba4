import type { Clock } from '@cluster-apiserver/base';
import { toStored, type KubeObject, partOf, type EncodableKind } from '@cluster-apiserver/model';
import type { Resource, WriteOptions } from '@cluster-apiserver/registry';
import { bodyFormat, readBody, readObject } from '../body.ts';
import type { Authenticated } from '../facts.ts';
import { type Form, objectForm } from '../forms/negotiate.ts';
import { writeParameters } from '../options.ts';
import { operationOptions, namespaceOf, requesterOf, type WriteChecks } from './place.ts';

interface Incoming<Options> {
  readonly object: KubeObject;
  readonly options: Options;
  /** How the client wants the answer written. */
  readonly form: Form;
}

/** An object that a client sends whole, as it is stored. */
export async function incomingObject(
  { served, clock }: Resource,
  checks: WriteChecks,
  facts: Authenticated,
  parameters: 'CreateOptions' | 'UpdateOptions',
): Promise<Incoming<WriteOptions>> {
  const { object, options, form } = await incomingForm(served, facts, parameters, clock);
  const place = { namespace: namespaceOf(facts), part: partOf(served, facts.info.resource?.subresource) };
  return {
    object: toStored(served, object),
    options: { ...options, ...place, requester: requesterOf(facts, checks, operationOptions(parameters, facts.info)) },
    form,
  };
}

/** An object of any kind as the client sends it. What is asked in vain is refused before the body is read. */
export async function incomingForm(
  kind: EncodableKind,
  facts: Authenticated,
  parameters: 'CreateOptions' | 'UpdateOptions',
  clock: Clock,
): Promise<Incoming<Omit<WriteOptions, 'namespace'>>> {
  const { request, info } = facts;
  const form = objectForm(facts, kind);
  const format = bodyFormat(request, kind);
  const body = await readBody(facts);
  const { dryRun, manager, fieldValidation } = writeParameters(parameters, request, info);
  const warn = (text: string): unknown => facts.warnings.add(text);
  const read = readObject(kind, body, format, fieldValidation, warn, clock, facts.call);
  const object = read instanceof Promise ? await read : read;
  facts.audit?.requestObject(object, body.length);
  return { object, options: { dryRun, manager, warn }, form };
}
