import type { Admission } from '@cluster-apiserver/gates';
import { asStored, type KubeObject, partOf } from '@cluster-apiserver/model';
import type { Resource, WriteOptions } from '@cluster-apiserver/registry';
import { bodyFormat, decodeObject, readBody } from '../body.ts';
import type { Authenticated } from '../facts.ts';
import { type Form, objectForm } from '../forms/negotiate.ts';
import { writeParameters } from '../options.ts';
import { askedBy, namespaceOf } from './place.ts';

/** An object that a client sends whole, as it is stored, and how it wants it written. What is asked in vain is refused before the body is read. */
export async function incomingObject(
  { served }: Resource,
  admission: Admission,
  facts: Authenticated,
  parameters: 'CreateOptions' | 'UpdateOptions',
): Promise<{ readonly object: KubeObject; readonly options: WriteOptions; readonly form: Form }> {
  const { request, info } = facts;
  const form = objectForm(facts, served);
  const format = bodyFormat(request, served);
  const body = await readBody(request);
  const { dryRun, manager, fieldValidation } = writeParameters(parameters, request, info);
  const warn = (text: string): unknown => facts.warnings.add(text);
  const object = asStored(served, decodeObject(served, body, format, fieldValidation, warn));
  const part = partOf(served, info.resource?.subresource);
  const asked = askedBy(facts, admission);
  return { object, options: { namespace: namespaceOf(facts), part, asked, dryRun, manager, warn }, form };
}
