import { getOwn, largeBytesMin, runTask } from '@cluster-apiserver/base';
import { partOf, StatusError } from '@cluster-apiserver/model';
import { patch, type Resource } from '@cluster-apiserver/registry';
import { mediaType, readBody, report, unknownField } from '../body.ts';
import type { Handler } from '../exchange.ts';
import type { Authenticated } from '../facts.ts';
import { objectForm } from '../forms/negotiate.ts';
import { patchParameters } from '../options.ts';
import { objectResponse } from '../respond.ts';
import { applyHandler, applyType } from './apply.ts';
import { patchTypes } from './patch-types.ts';
import { operationOptions, placeOf, requesterOf, type WriteChecks } from './place.ts';

/** An apply may create the object and is about owners; all other types change what is there. */
export function patchHandler(resource: Resource, checks: WriteChecks): Handler<Authenticated> {
  const apply = applyHandler(resource, checks);
  return async (facts) => {
    const { request, info, call } = facts;
    const form = objectForm(facts, resource.served);
    const type = mediaType(request) ?? '';
    if (type === applyType) return apply(facts, form);
    const read = getOwn(patchTypes, type);
    if (!read)
      throw new StatusError(
        'UnsupportedMediaType',
        `the patch type is not supported - accepted media types include: ${[...Object.keys(patchTypes), applyType].join(', ')}`,
        {},
      );
    const body = await readBody(facts);
    const { dryRun, manager, fieldValidation } = patchParameters(request, info);
    const warn = (text: string): unknown => facts.warnings.add(text);
    const patched = runTask(resource.clock, call, read(resource.served, body), body.length >= largeBytesMin);
    const { change, faults } = patched instanceof Promise ? await patched : patched;
    facts.audit?.requestPatch(body);
    const unknownFields = (paths: readonly string[]): void =>
      report([...faults, ...paths.map(unknownField)], fieldValidation, warn);
    const { namespace, name } = placeOf(facts);
    const part = partOf(resource.served, info.resource?.subresource);
    const requester = requesterOf(facts, checks, operationOptions('PatchOptions', info));
    const options = { namespace, part, requester, dryRun, manager, warn, change, unknownFields };
    const { outcome } = await patch(resource, name, options, call);
    return objectResponse(facts, resource, form, 200, outcome);
  };
}
