import type { KubeObject } from '@cluster-apiserver/model';
import type { Resource, WriteOptions } from '@cluster-apiserver/registry';
import { bodyFormat, decodeObject, readBody } from '../body.ts';
import type { Authenticated } from '../facts.ts';
import { negotiated } from '../negotiate.ts';
import { writeParameters } from '../options.ts';
import { namespaceOf } from './place.ts';

/** An object that a client sends whole, and how it wants it written. What is asked in vain is refused before the body is read. */
export async function incomingObject(
  { kind }: Resource,
  facts: Authenticated,
  form: 'CreateOptions' | 'UpdateOptions',
): Promise<{ readonly object: KubeObject; readonly options: WriteOptions }> {
  const { request, info } = facts;
  negotiated(request, info.query);
  const format = bodyFormat(request);
  const body = await readBody(request);
  const { dryRun, manager, fieldValidation } = writeParameters(form, request, info);
  const warn = (text: string): unknown => facts.warnings.add(text);
  const object = decodeObject(kind, body, format, fieldValidation, warn);
  return { object, options: { namespace: namespaceOf(facts), dryRun, manager, warn } };
}
