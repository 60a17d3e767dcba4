import { getOwn } from '@cluster-apiserver/base';
import {
  badRequest,
  forbidden,
  type Kind,
  MalformedTextError,
  mergedBy,
  PatchFormError,
  parseJson,
  StatusError,
  strategicallyMergedBy,
} from '@cluster-apiserver/model';
import { patch, type Resource } from '@cluster-apiserver/registry';
import { mediaType, readBody, report, unknownField } from '../body.ts';
import type { Handler } from '../exchange.ts';
import type { Authenticated } from '../facts.ts';
import { negotiated } from '../negotiate.ts';
import { invalidOptions, writeParameters } from '../options.ts';
import { objectResponse } from '../respond.ts';
import { placeOf } from './place.ts';

/** How each type of patch turns the present object into the next. */
const types: Readonly<Record<string, (kind: Kind, target: unknown, patch: unknown) => unknown>> = {
  'application/merge-patch+json': (_, target, patch) => {
    if (typeof patch !== 'object' || patch === null || Array.isArray(patch))
      throw new PatchFormError('the patch must be an object');
    return mergedBy(target, patch);
  },
  'application/strategic-merge-patch+json': ({ schema }, target, patch) => strategicallyMergedBy(schema, target, patch),
};

export const patchHandler =
  (resource: Resource): Handler<Authenticated> =>
  async (facts) => {
    const { request, info, call } = facts;
    negotiated(request, info.query);
    const apply = getOwn(types, mediaType(request) ?? '');
    if (!apply)
      throw new StatusError(
        'UnsupportedMediaType',
        `the patch type is not supported - accepted media types include: ${Object.keys(types).join(', ')}`,
        {},
      );
    const body = await readBody(request);
    const { dryRun, manager, fieldValidation } = writeParameters('PatchOptions', request, info);
    if (info.query.has('force'))
      throw invalidOptions('PatchOptions', [forbidden('force', 'may not be specified for non-apply patch')]);
    const warn = (text: string): unknown => facts.warnings.add(text);
    const { value, faults } = parsePatch(body);
    const { namespace, name } = placeOf(facts);
    const { outcome } = await patch(
      resource,
      name,
      {
        namespace,
        dryRun,
        manager,
        warn,
        apply: (current) => applied(() => apply(resource.kind, current, value)),
        unknownFields: (paths) =>
          report([...faults.map(({ message }) => message), ...paths.map(unknownField)], fieldValidation, warn),
      },
      call,
    );
    return objectResponse(facts, 200, outcome);
  };

function parsePatch(body: Buffer): ReturnType<typeof parseJson> {
  try {
    return parseJson(body.toString());
  } catch (error) {
    if (error instanceof MalformedTextError) throw badRequest(`error decoding patch: ${error.message}`, error);
    throw error;
  }
}

function applied(apply: () => unknown): unknown {
  try {
    return apply();
  } catch (error) {
    if (error instanceof PatchFormError) throw badRequest(error.message, error);
    throw error;
  }
}
