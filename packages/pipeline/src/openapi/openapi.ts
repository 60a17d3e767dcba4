import { type Clock, runTask, type SyncTask } from '@cluster-apiserver/base';
import { liveGroups, type ServedKinds } from '../discovery/live-groups.ts';
import type { ServedGroup, ServedVersion } from '../discovery/served-groups.ts';
import { type LiveRoutes, liveRoutes, madeOnce, type NonResourceHandler } from '../non-resource/live-routes.ts';

import type { ApiRequest, ApiResponse } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import { coversType, parseMediaRanges } from '../encoding/media-ranges.ts';
import { mediaTypes } from '../encoding/encode.ts';
import {
  type PreparedBody,
  type PreparedEncodings,
  respondEncoded,
  respondPrepared,
  prepareBody,
  prepareEncodings,
  prepareEncodingsOf,
  valueOf,
} from '../non-resource/prepared-response.ts';
import { formatReferencePage } from './reference-page.ts';
import { type Document2, formatDocument2 } from './version-2.ts';
import { encodeDocument2, protobuf2Types } from './version-2-protobuf.ts';
import { type Document3, formatDocument3 } from './version-3.ts';
import { encodeDocument3, protobuf3Types } from './version-3-protobuf.ts';

/**
 * `/openapi/v2`, `/openapi/v3` with a document for each group and version, and `/docs`, an HTML reference. Each document is
 * made at its first request, in steps, and kept until what it describes changes.
 */
export function openApiRoutes(served: ServedKinds, version: string, clock: Clock): LiveRoutes {
  const make = async <T>(task: SyncTask<T>): Promise<T> => runTask(clock, undefined, task);
  const documentOf = madeOnce(async (one: ServedVersion) =>
    prepareDocument(await make(formatDocument3(one.kinds, version)), protobuf3Types[0], (encodings) =>
      encodeDocument3(document3Of(encodings)),
    ),
  );
  const versionsOf = (groups: Groups): readonly ServedVersion[] => groups.flatMap(({ versions }) => versions);
  const indexOf = madeOnce(async (groups: Groups) => {
    const paths: Record<string, object> = {};
    for (const one of versionsOf(groups)) {
      const { hash } = (await documentOf(one)).encodings.json;
      paths[pathOf(one)] = { serverRelativeURL: `/openapi/v3/${pathOf(one)}?hash=${hash}` };
    }
    return prepareEncodings({ paths });
  });
  const wholeOf = madeOnce(async (groups: Groups) => {
    const kinds = versionsOf(groups).flatMap((one) => one.kinds);
    return prepareDocument(await make(formatDocument2(kinds, version)), protobuf2Types[0], (encodings) =>
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the JSON is that of formatDocument2
      encodeDocument2(valueOf(encodings) as Document2),
    );
  });
  const pageOf = madeOnce(async (groups: Groups) => {
    const documents: Document3[] = [];
    for (const one of versionsOf(groups)) documents.push(document3Of((await documentOf(one)).encodings));
    return prepareBody('text/html; charset=utf-8', await make(formatReferencePage(documents)));
  });
  return liveRoutes(liveGroups(served), (groups) => {
    const routes: Record<string, NonResourceHandler> = {
      '/openapi/v2': async (context) => {
        const { encodings, protobuf } = await wholeOf(groups);
        return prefersProtobuf(context.request, protobuf2Types)
          ? respondPrepared(context, protobuf())
          : respondEncoded(context, encodings);
      },
      '/openapi/v3': async (context) => respondEncoded(context, await indexOf(groups)),
      '/docs': async (context) => respondPrepared(context, await pageOf(groups), pageHeaders),
    };
    for (const one of versionsOf(groups))
      routes[`/openapi/v3/${pathOf(one)}`] = async (context) =>
        respondDocument(context, pathOf(one), await documentOf(one), clock);
    return Object.entries(routes);
  });
}

type Groups = readonly ServedGroup[];

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the JSON is that of formatDocument3
const document3Of = (encodings: PreparedEncodings): Document3 => valueOf(encodings) as Document3;

interface Prepared {
  readonly encodings: PreparedEncodings;
  /** Prepared at the first request: few clients read protobuf. */
  readonly protobuf: () => PreparedBody;
}

function prepareDocument(
  text: string,
  protobufType: string,
  encodeProtobuf: (encodings: PreparedEncodings) => Uint8Array,
): Prepared {
  const encodings = prepareEncodingsOf(text);
  let protobuf: PreparedBody | undefined;
  return {
    encodings,
    protobuf: () => (protobuf ??= prepareBody(protobufType, Buffer.from(encodeProtobuf(encodings)))),
  };
}

function respondDocument(
  context: AuthenticatedContext,
  path: string,
  { encodings, protobuf }: Prepared,
  clock: Clock,
): ApiResponse {
  const { hash } = encodings.json;
  const requestedHash = context.info.query.get('hash');
  if (requestedHash && requestedHash !== hash) return redirectToCurrent(context, path, hash);
  const headers = requestedHash ? cacheForAYear(clock) : {};
  return prefersProtobuf(context.request, protobuf3Types)
    ? respondPrepared(context, protobuf(), headers)
    : respondEncoded(context, encodings, headers);
}

/** A client that accepts everything gets JSON. */
function prefersProtobuf(request: ApiRequest, types: readonly string[]): boolean {
  const others = Object.keys(mediaTypes);
  for (const range of parseMediaRanges(request.header('accept'))) {
    if (types.includes(range.type)) return true;
    if (others.some((type) => coversType(range, type))) return false;
  }
  return false;
}

/** The path prefix of the version, without the first slash. */
const pathOf = ({ groupVersion, version }: ServedVersion): string =>
  `${groupVersion === version ? 'api' : 'apis'}/${groupVersion}`;

const yearMs = 365 * 24 * 60 * 60 * 1000;

/** The document of a hash never changes. */
const cacheForAYear = (clock: Clock): Record<string, string> => ({
  'cache-control': 'public, immutable',
  expires: new Date(clock.now() + yearMs).toUTCString(),
});

/** Redirects a client with an outdated index to the current document. */
const redirectToCurrent = ({ auditId }: AuthenticatedContext, path: string, hash: string): ApiResponse => ({
  status: 301,
  headers: {
    'audit-id': auditId,
    'cache-control': 'no-cache, private',
    location: `/openapi/v3/${path}?hash=${hash}`,
  },
});

/** The page loads no resources and runs no scripts. */
const pageHeaders = {
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
  'x-content-type-options': 'nosniff',
};
