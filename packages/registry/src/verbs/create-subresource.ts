import type { Call } from '@cluster-apiserver/base';
import { invalid, Problems, StatusError } from '@cluster-apiserver/model';
import type { KubeObject, Subresource } from '@cluster-apiserver/model/kind';
import { decode } from '@cluster-apiserver/model/schema';
import { runAdmission } from '../write/admission.ts';
import { get } from './get.ts';
import type { Resource } from '../resource.ts';
import type { LiveApi } from '../served-api.ts';
import { withStatusErrors } from '../storage-errors.ts';
import { inNamespace } from '../write/system-fields.ts';
import type { WriteOptions } from '../write/write-options.ts';

/** Implements "create" for subresources with a kind of their own: the object is read, and nothing is stored. */
export function createSubresource(
  resource: Resource,
  form: Subresource,
  name: string,
  incoming: KubeObject,
  options: WriteOptions,
  call: Call,
  api: LiveApi,
): Promise<KubeObject> {
  return withStatusErrors(async () => {
    const { namespace, dryRun, warn, requester } = options;
    const given = withNameOfPath(resource, form, name, inNamespace(incoming, namespace));
    const { object } = await get(resource, { namespace, name }, undefined, call);
    const request = await runAdmission({ served: resource.served, kind: form }, options, given, name);
    const annotate = (key: string, value: string): void => requester?.annotate(key, value);
    const find = async (kind: string, sought: string): Promise<KubeObject['metadata'] | undefined> => {
      const other = api.byGroupKind('', kind);
      if (!other) return undefined;
      try {
        return (await get(other, { namespace, name: sought }, undefined, call)).object.metadata;
      } catch (error) {
        if (error instanceof StatusError && error.reason === 'NotFound') return undefined;
        throw error;
      }
    };
    const created = await form.create(object, request, { find, dryRun, warn, annotate });
    return decode(form.schema, created, () => {});
  });
}

/** Sets the name of the URL. A body that names another object is rejected. */
function withNameOfPath({ served }: Resource, form: Subresource, name: string, request: KubeObject): KubeObject {
  const given = request.metadata.name ?? name;
  if (given !== name)
    throw invalid(
      form,
      name,
      new Problems()
        .at('metadata', 'name')
        .invalid(given, `must match the name of the ${served.singular} if specified`),
    );
  return { ...request, metadata: { ...request.metadata, name } };
}
