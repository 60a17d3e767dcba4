import type { Clock } from '@cluster-apiserver/base';
import type { Kind, Review } from '@cluster-apiserver/model';
import { type ServedVersion, listServedGroups } from '../discovery/served-groups.ts';
import type { NonResourceHandler, NonResourceRoutes } from '../non-resource/router.ts';
import type { ApiRequest, ApiResponse } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import { coversType, parseMediaRanges } from '../encoding/media-ranges.ts';
import { mediaTypes } from '../encoding/encode.ts';
import {
  type PreparedBody,
  respondEncoded,
  respondPrepared,
  prepareBody,
  prepareEncodings,
} from '../non-resource/prepared-response.ts';
import { operationsOf } from './operations.ts';
import { formatReferencePage } from './reference-page.ts';
import { formatDocument2 } from './version-2.ts';
import { encodeDocument2, protobuf2Types } from './version-2-protobuf.ts';
import { type Document3, formatDocument3 } from './version-3.ts';
import { encodeDocument3, protobuf3Types } from './version-3-protobuf.ts';

/** `/openapi/v2`, `/openapi/v3` with a document for each group and version, and `/docs`, an HTML reference. */
export function openApiRoutes(kinds: readonly (Kind | Review)[], version: string, clock: Clock): NonResourceRoutes {
  const documents = listServedGroups(kinds)
    .flatMap(({ versions }) => versions)
    .map((served) => ({ path: pathOf(served), document: formatDocument(served, version) }));
  const prepared = documents.map(({ path, document }) => ({
    path,
    encodings: prepareEncodings(document),
    protobuf: prepareLater(protobuf3Types[0], () => encodeDocument3(document)),
  }));
  const index = prepareEncodings({
    paths: Object.fromEntries(
      prepared.map(({ path, encodings }) => [
        path,
        { serverRelativeURL: `/openapi/v3/${path}?hash=${encodings.json.hash}` },
      ]),
    ),
  });
  const whole = formatDocument2(kinds.flatMap(operationsOf), version);
  const wholeEncodings = prepareEncodings(whole);
  const wholeProtobuf = prepareLater(protobuf2Types[0], () => encodeDocument2(whole));
  const page = prepareBody('text/html; charset=utf-8', formatReferencePage(documents.map(({ document }) => document)));
  return {
    '/openapi/v2': (context) =>
      prefersProtobuf(context.request, protobuf2Types)
        ? respondPrepared(context, wholeProtobuf())
        : respondEncoded(context, wholeEncodings),
    '/openapi/v3': (context) => respondEncoded(context, index),
    ...Object.fromEntries(
      prepared.map(({ path, encodings, protobuf }): [string, NonResourceHandler] => [
        `/openapi/v3/${path}`,
        (context) => {
          const requestedHash = context.info.query.get('hash');
          if (requestedHash && requestedHash !== encodings.json.hash)
            return redirectToCurrent(context, path, encodings.json.hash);
          const headers = requestedHash ? cacheForAYear(clock) : {};
          return prefersProtobuf(context.request, protobuf3Types)
            ? respondPrepared(context, protobuf(), headers)
            : respondEncoded(context, encodings, headers);
        },
      ]),
    ),
    '/docs': (context) => respondPrepared(context, page, pageHeaders),
  };
}

/** Prepares the body at the first request: few clients read protobuf. */
function prepareLater(contentType: string, encodeBody: () => Uint8Array): () => PreparedBody {
  let prepared: PreparedBody | undefined;
  return () => (prepared ??= prepareBody(contentType, Buffer.from(encodeBody())));
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

const formatDocument = ({ kinds }: ServedVersion, version: string): Document3 =>
  formatDocument3(kinds.flatMap(operationsOf), version);

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
