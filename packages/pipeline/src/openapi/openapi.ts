import { type Clock, loopOf } from '@cluster-apiserver/base';
import { liveGroups, type ServedKinds } from '../discovery/live-groups.ts';
import type { ServedGroup, ServedVersion } from '../discovery/served-groups.ts';
import { type LiveRoutes, liveRoutes, madeOnce, type NonResourceHandler } from '../non-resource/live-routes.ts';
import type { ApiRequest, ApiResponse } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import { contentTypes, type Encoding, mediaTypes } from '../encoding/encode.ts';
import { coversType, parseMediaRanges } from '../encoding/media-ranges.ts';
import { negotiateDocument } from '../encoding/negotiate.ts';
import { encodeTextInSteps, SlicedBody, type Steps } from '../encoding/sliced-body.ts';
import {
  type PreparedBody,
  respondEncoded,
  respondPrepared,
  prepareEncodings,
  prepareSlices,
} from '../non-resource/prepared-response.ts';
import { formatReferencePage } from './reference-page.ts';
import { documentBegin2, documentJson2, documentParts2 } from './version-2.ts';
import { encodeDocument2, protobuf2Types } from './version-2-protobuf.ts';
import { documentBegin3, documentJson3, documentParts3 } from './version-3.ts';
import { encodeDocument3, protobuf3Types } from './version-3-protobuf.ts';

/**
 * `/openapi/v2`, `/openapi/v3` with a document for each group and version, and `/docs`, an HTML reference. Each encoding of
 * a document is made at its first request, in steps, and kept until what the document describes changes.
 */
export function openApiRoutes(served: ServedKinds, version: string, clock: Clock): LiveRoutes {
  const prepare = (contentType: string, steps: Steps): Promise<PreparedBody> =>
    prepareSlices(contentType, new SlicedBody(loopOf(clock), steps));
  const [begin2, begin3] = [documentBegin2(version), documentBegin3(version)];
  const documentOf = madeOnce(
    ({ kinds }: ServedVersion) =>
      new PreparedDocument(
        prepare,
        () => documentJson3(begin3, documentParts3(kinds)),
        () => prepare(protobuf3Types[0], encodeDocument3(begin3, documentParts3(kinds))),
      ),
  );
  const versionsOf = (groups: Groups): readonly ServedVersion[] => groups.flatMap(({ versions }) => versions);
  const kindsOf = (groups: Groups): ServedVersion['kinds'] => versionsOf(groups).flatMap(({ kinds }) => kinds);
  const indexOf = madeOnce(async (groups: Groups) => {
    const paths: Record<string, object> = {};
    for (const one of versionsOf(groups)) {
      const { hash } = await documentOf(one).in('json');
      paths[pathOf(one)] = { serverRelativeURL: `/openapi/v3/${pathOf(one)}?hash=${hash}` };
    }
    return prepareEncodings({ paths });
  });
  const wholeOf = madeOnce(
    (groups: Groups) =>
      new PreparedDocument(
        prepare,
        () => documentJson2(begin2, documentParts2(kindsOf(groups))),
        () => prepare(protobuf2Types[0], encodeDocument2(begin2, documentParts2(kindsOf(groups)))),
      ),
  );
  const pageOf = madeOnce((groups: Groups) =>
    prepare('text/html; charset=utf-8', formatReferencePage(version, documentParts3(kindsOf(groups)))),
  );
  return liveRoutes(liveGroups(served), (groups) => {
    const routes: Record<string, NonResourceHandler> = {
      '/openapi/v2': async (context) =>
        respondPrepared(context, await wholeOf(groups).negotiated(context, protobuf2Types)),
      '/openapi/v3': async (context) => respondEncoded(context, await indexOf(groups)),
      '/docs': async (context) => respondPrepared(context, await pageOf(groups), pageHeaders),
    };
    for (const one of versionsOf(groups))
      routes[`/openapi/v3/${pathOf(one)}`] = (context) => respondDocument(context, pathOf(one), documentOf(one), clock);
    return Object.entries(routes);
  });
}

type Groups = readonly ServedGroup[];

/** The encodings of one document. Only their bytes are kept; a document takes several times their memory. */
class PreparedDocument {
  readonly #prepare: (contentType: string, steps: Steps) => Promise<PreparedBody>;
  readonly #json: () => Iterable<string | undefined>;
  readonly #encodeProtobuf: () => Promise<PreparedBody>;
  readonly #made = new Map<Encoding, Promise<PreparedBody>>();

  constructor(
    prepare: (contentType: string, steps: Steps) => Promise<PreparedBody>,
    json: () => Iterable<string | undefined>,
    encodeProtobuf: () => Promise<PreparedBody>,
  ) {
    this.#prepare = prepare;
    this.#json = json;
    this.#encodeProtobuf = encodeProtobuf;
  }

  /** In protobuf if the client prefers one of these types to the other encodings. */
  negotiated(context: AuthenticatedContext, protobufTypes: readonly string[]): Promise<PreparedBody> {
    return this.in(prefersProtobuf(context.request, protobufTypes) ? 'protobuf' : negotiateDocument(context));
  }

  in(encoding: Encoding): Promise<PreparedBody> {
    let found = this.#made.get(encoding);
    if (!found) this.#made.set(encoding, (found = this.#make(encoding)));
    return found;
  }

  #make(encoding: Encoding): Promise<PreparedBody> {
    return encoding === 'protobuf'
      ? this.#encodeProtobuf()
      : this.#prepare(contentTypes[encoding], encodeTextInSteps(encoding, this.#json()));
  }
}

async function respondDocument(
  context: AuthenticatedContext,
  path: string,
  document: PreparedDocument,
  clock: Clock,
): Promise<ApiResponse> {
  const requestedHash = context.info.query.get('hash');
  const { hash } = await document.in('json');
  if (requestedHash && requestedHash !== hash) return redirectToCurrent(context, path, hash);
  const body = await document.negotiated(context, protobuf3Types);
  return respondPrepared(context, body, requestedHash ? cacheForAYear(clock) : {});
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
