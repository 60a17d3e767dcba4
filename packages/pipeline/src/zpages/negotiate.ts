import { StatusError } from '@cluster-apiserver/model';
import type { RequestInfoContext } from '../request-context.ts';
import type { Encoding } from '../encoding/encode.ts';
import { coversType, parseMediaRanges } from '../encoding/media-ranges.ts';
import { isPretty } from '../encoding/negotiate.ts';

/** Versions of the structured format; the text format has none. */
export type ZpageVersion = 'v1alpha1' | 'v1beta1';

export interface StructuredFormat {
  readonly version: ZpageVersion;
  readonly encoding: Encoding;
}

export const zpageGroup = 'config.k8s.io';

const encodings = { 'application/json': 'json', 'application/yaml': 'yaml' } as const;
const types = [...Object.keys(encodings), 'text/plain'];

/** Negotiates text or the structured format, which clients request by kind, group and version. Throws NotAcceptable. */
export function negotiateZpage({ request, info }: RequestInfoContext, kind: string): 'text' | StructuredFormat {
  const accept = request.header('accept') ?? '';
  if (accept.trim() === '') return 'text';
  for (const range of parseMediaRanges(accept)) {
    const [as, group, version] = ['as', 'g', 'v'].map((name) => range.parameters.get(name));
    const isPlain = as === undefined && group === undefined && version === undefined;
    for (const [type, encoding] of Object.entries(encodings)) {
      if (!coversType(range, type) || as !== kind || group !== zpageGroup || !isVersion(version)) continue;
      const pretty = encoding === 'json' && isPretty(request, info.query);
      return { version, encoding: pretty ? 'prettyJson' : encoding };
    }
    if (isPlain && coversType(range, 'text/plain')) return 'text';
  }
  throw new StatusError('NotAcceptable', `only the following media types are accepted: ${types.join(', ')}`, {});
}

const isVersion = (version: string | undefined): version is ZpageVersion =>
  version === 'v1alpha1' || version === 'v1beta1';
