import { chain, largeBytesMin, runTask } from '@cluster-apiserver/base';
import { invalid, Problems, type StatusError } from '@cluster-apiserver/model';
import { fieldSubresourceOf } from '@cluster-apiserver/model/kind';
import { patch, type Resource } from '@cluster-apiserver/registry';
import { mediaTypeOf } from '../request-body/body-formats.ts';
import { reportFieldProblems } from '../request-body/field-validation.ts';
import { readBody } from '../request-body/read-body.ts';
import type { Handler } from '../exchange.ts';
import { addWarning, type AuthenticatedContext } from '../request-context.ts';
import { negotiateObject } from '../encoding/negotiate.ts';
import { readPatchParameters } from '../query-parameters.ts';
import { objectResponse } from '../responses.ts';
import { applyHandler } from './apply.ts';
import { applyType, patchParserOf } from './parse-patch.ts';
import { readOperationOptions, namespacedNameOf, createRequester, type WriteChecks } from './requester.ts';

/** Apply may create the object and tracks field owners; the other patch types change an existing object. */
export function patchHandler(resource: Resource, checks: WriteChecks): Handler<AuthenticatedContext> {
  const apply = applyHandler(resource, checks);
  const refusal = resource.served.isCustom ? { refuse: invalidPatch } : {};
  return (context) => {
    const { request, info, call } = context;
    const type = mediaTypeOf(request) ?? '';
    const read = type === applyType ? undefined : patchParserOf(resource.served, type);
    const format = negotiateObject(context, resource.served);
    if (!read) return apply(context, format);
    return chain(readBody(context), async (body) => {
      const { dryRun, manager, fieldValidation } = readPatchParameters(request, info);
      const warn = (text: string): void => addWarning(context, text);
      const patched = runTask(resource.clock, call, read(resource.served, body), body.length >= largeBytesMin);
      const { change, faults, isParsed } = patched instanceof Promise ? await patched : patched;
      // An event has the text of the patch, so it must be JSON.
      if (isParsed) context.audit?.logRequestPatch(body);
      const unknownFields = (paths: readonly string[]): void =>
        reportFieldProblems({ faults, unknown: paths, ...refusal }, fieldValidation, warn);
      const { namespace, name } = namespacedNameOf(context);
      const subresource = fieldSubresourceOf(resource.served, info.resource?.subresource);
      const requester = createRequester(context, checks, readOperationOptions('PatchOptions', info));
      const options = { namespace, subresource, requester, dryRun, manager, warn, change, unknownFields };
      const { outcome } = await patch(resource, name, options, call);
      return objectResponse(context, resource, format, 200, outcome);
    });
  };
}

export const invalidPatch = (message: string): StatusError =>
  invalid({ group: '', kind: '' }, '', new Problems().at('patch').invalid('', message));
