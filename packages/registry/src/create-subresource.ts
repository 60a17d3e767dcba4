import type { Call } from '@cluster-apiserver/base';
import { decode, invalid, invalidValue, type KubeObject, type Subresource } from '@cluster-apiserver/model';
import { get } from './get.ts';
import type { Resource } from './resource.ts';
import { answering } from './storage-answers.ts';
import { inNamespace } from './system-fields.ts';

/** The whole meaning of "create" for what stands behind an object: the object is read, and nothing is written. */
export function createSubresource(
  resource: Resource,
  form: Subresource,
  place: { readonly namespace: string | undefined; readonly name: string },
  incoming: KubeObject,
  warn: (text: string) => void,
  call: Call,
): Promise<KubeObject> {
  return answering(async () => {
    const request = ofObject(resource, form, place.name, inNamespace(incoming, place.namespace));
    const { object } = await get(resource, place, undefined, call);
    return decode(form.schema, await form.create(object, request, warn), () => {}) as KubeObject;
  });
}

/** The name of the URL, which the body may leave out but not contradict. */
function ofObject({ served }: Resource, form: Subresource, name: string, request: KubeObject): KubeObject {
  const given = request.metadata.name ?? name;
  if (given !== name)
    throw invalid(form, name, [
      invalidValue('metadata.name', given, `must match the name of the ${served.singular} if specified`),
    ]);
  return { ...request, metadata: { ...request.metadata, name } };
}
