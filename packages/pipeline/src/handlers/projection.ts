import { chain, getOwn, largeBytesMin, runTask, type SyncTask } from '@cluster-apiserver/base';
import { badRequest, formatPath } from '@cluster-apiserver/model';
import type { EncodableKind, FieldSubresource, KubeObject, Projection } from '@cluster-apiserver/model/kind';
import { readApplied } from '@cluster-apiserver/model/managed-fields';
import { decode, WrongTypeError } from '@cluster-apiserver/model/schema';
import { apply, get, type Outcome, patch, type Resource, toVersion, update } from '@cluster-apiserver/registry';
import { negotiateObject, type ResponseFormat } from '../encoding/negotiate.ts';
import type { ApiResponse, Handler } from '../exchange.ts';
import { readApplyParameters, readPatchParameters } from '../query-parameters.ts';
import { mediaTypeOf, parseYamlBody, rejectUnparsable } from '../request-body/body-formats.ts';
import { reportFieldProblems } from '../request-body/field-validation.ts';
import { readBody } from '../request-body/read-body.ts';
import { addWarning, type AuthenticatedContext } from '../request-context.ts';
import { unstoredObjectResponse } from '../responses.ts';
import { applyType, patchParserOf } from './parse-patch.ts';
import { invalidPatch } from './patch.ts';
import { readRequestObject } from './request-object.ts';
import { createRequester, namespacedNameOf, readOperationOptions, type WriteChecks } from './requester.ts';

/** The handlers of a subresource that shows a part of the object in another form, such as its scale. */
export function projectionHandlers(
  resource: Resource,
  subresource: FieldSubresource,
  projection: Projection,
  checks: WriteChecks,
): Readonly<Record<'get' | 'update' | 'patch', Handler<AuthenticatedContext>>> {
  const { clock } = resource;
  const { form } = projection;
  const respond = (
    context: AuthenticatedContext,
    format: ResponseFormat,
    { object, revision }: Outcome,
    check: (held: KubeObject) => void = () => {},
  ) =>
    chain(toVersion(resource.kind, object, resource.kind, context.call), (held) => {
      check(held);
      const shown = projection.project(withVersion(held, revision));
      return unstoredObjectResponse(context, form, format, 200, shown, clock);
    });
  // Only for reads: after a write it would refuse what is done.
  const requireComplete = (held: KubeObject): void => {
    if (!projection.isComplete(held))
      throw badRequest(`the object has nothing to be shown as ${form.kind}: the field is not set`);
  };
  const writeOf = (context: AuthenticatedContext, parameters: 'UpdateOptions' | 'PatchOptions') => ({
    namespace: namespacedNameOf(context).namespace,
    subresource,
    requester: createRequester(context, checks, readOperationOptions(parameters, context.info)),
    warn: (text: string): void => addWarning(context, text),
  });
  return {
    get: (context) => {
      const format = negotiateObject(context, form);
      return chain(get(resource, namespacedNameOf(context), undefined, context.call), (found) =>
        respond(context, format, found, requireComplete),
      );
    },
    update: (context) =>
      chain(
        readRequestObject(form, context, 'UpdateOptions', clock),
        async ({ object, options, responseFormat }): Promise<ApiResponse> => {
          const write = { ...options, ...writeOf(context, 'UpdateOptions') };
          const { name } = namespacedNameOf(context);
          const { outcome } = await update(resource, name, object, write, context.call);
          return respond(context, responseFormat, outcome);
        },
      ),
    patch: async (context) => {
      const format = negotiateObject(context, form);
      const type = mediaTypeOf(context.request) ?? '';
      const { name } = namespacedNameOf(context);
      if (type === applyType) {
        const body = await readBody(context);
        const { dryRun, manager, force, fieldValidation } = readApplyParameters(context.request, context.info);
        const write = { ...writeOf(context, 'PatchOptions'), dryRun, manager, force };
        const reading = readProjected(form, body, (unknown) =>
          reportFieldProblems({ unknown }, fieldValidation, write.warn),
        );
        const applied = await runTask(clock, context.call, reading, body.length >= largeBytesMin);
        const { kind } = resource;
        const configuration = {
          kind: kind.kind,
          apiVersion: kind.apiVersion,
          metadata: applied.metadata,
          ...projection.fieldsOf(applied),
        };
        const fields = readApplied(kind.schema, configuration, () => {});
        const { outcome } = await apply(resource, name, fields, write, context.call);
        return respond(context, format, outcome);
      }
      const read = patchParserOf(resource.served, type);
      const body = await readBody(context);
      const { dryRun, manager, fieldValidation } = readPatchParameters(context.request, context.info);
      const parsed = await runTask(clock, context.call, read(resource.served, body), body.length >= largeBytesMin);
      if (parsed.isParsed) context.audit?.logRequestPatch(body);
      const write = { ...writeOf(context, 'PatchOptions'), dryRun, manager };
      const change = function* (current: KubeObject): SyncTask<unknown> {
        const patched = yield* parsed.change(projection.project(current));
        const unknown: string[] = [];
        const projected = decode(form.schema, patched, (path) => unknown.push(formatPath(path)));
        reportFieldProblems({ faults: parsed.faults, unknown, refuse: invalidPatch }, fieldValidation, write.warn);
        const { resourceVersion } = projected.metadata;
        const next = projection.change(current, projected);
        return resourceVersion === undefined ? next : { ...next, metadata: { ...next.metadata, resourceVersion } };
      };
      const { outcome } = await patch(resource, name, { ...write, change, unknownFields: () => {} }, context.call);
      return respond(context, format, outcome);
    },
  };
}

function* readProjected(
  form: EncodableKind,
  body: Buffer,
  report: (unknown: readonly string[]) => void,
): SyncTask<KubeObject> {
  const { value } = yield* rejectUnparsable(parseYamlBody(body), 'error decoding YAML');
  const unknown: string[] = [];
  const projected = decodeProjected(form, value, unknown);
  if (getOwn(projected, 'kind') !== form.kind || projected.apiVersion !== form.apiVersion)
    throw badRequest(`invalid object type: expected ${form.kind} in version ${JSON.stringify(form.apiVersion)}`);
  report(unknown);
  return projected;
}

function decodeProjected(form: EncodableKind, value: unknown, unknown: string[]): KubeObject {
  try {
    return decode(form.schema, value, (path) => unknown.push(formatPath(path)));
  } catch (error) {
    if (error instanceof WrongTypeError)
      throw badRequest(
        `${form.kind} in version "${form.version}" cannot be handled as a ${form.kind}: ${error.message}`,
        error,
      );
    throw error;
  }
}

const withVersion = (object: KubeObject, revision: Outcome['revision']): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, ...(revision !== undefined && { resourceVersion: String(revision) }) },
});
