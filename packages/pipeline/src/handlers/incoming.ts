import { asStored, type KubeObject, type ServedKind } from '@cluster-apiserver/model';
import type { Resource, WriteOptions } from '@cluster-apiserver/registry';
import { bodyFormat, decodeObject, readBody } from '../body.ts';
import type { Authenticated } from '../facts.ts';
import { type Form, objectForm } from '../forms/negotiate.ts';
import { writeParameters } from '../options.ts';
import { namespaceOf } from './place.ts';

/** An object that a client sends whole, as it is stored, and how it wants it written. */
export async function incomingObject(
  { served }: Resource,
  facts: Authenticated,
  parameters: ParametersForm,
): Promise<{ readonly object: KubeObject; readonly options: WriteOptions; readonly form: Form }> {
  const { object, dryRun, manager, warn, form } = await incoming(served, facts, parameters);
  return { object: asStored(served, object), options: { namespace: namespaceOf(facts), dryRun, manager, warn }, form };
}

type ParametersForm = 'CreateOptions' | 'UpdateOptions';

interface Incoming extends Omit<WriteOptions, 'namespace'> {
  readonly object: KubeObject;
  /** How the client wants it answered. */
  readonly form: Form;
}

/** An object of a kind as a client sends it. What is asked in vain is refused before the body is read. */
export async function incoming(kind: ServedKind, facts: Authenticated, parameters: ParametersForm): Promise<Incoming> {
  const { request, info } = facts;
  const form = objectForm(facts, kind);
  const format = bodyFormat(request, kind);
  const body = await readBody(request);
  const { dryRun, manager, fieldValidation } = writeParameters(parameters, request, info);
  const warn = (text: string): unknown => facts.warnings.add(text);
  return { object: decodeObject(kind, body, format, fieldValidation, warn), dryRun, manager, warn, form };
}
