import { formatYaml } from '@cluster-apiserver/model';

/** How an answer is written. */
export type Encoding = 'json' | 'prettyJson' | 'yaml';

export const mediaTypes = {
  'application/json': 'json',
  'application/yaml': 'yaml',
} as const satisfies Readonly<Record<string, Encoding>>;

export type MediaType = keyof typeof mediaTypes;

export const contentTypes: Readonly<Record<Encoding, MediaType>> = {
  json: 'application/json',
  prettyJson: 'application/json',
  yaml: 'application/yaml',
};

export function encoded(encoding: Encoding, value: unknown): Buffer {
  switch (encoding) {
    case 'json':
      return Buffer.from(`${JSON.stringify(value)}\n`);
    case 'prettyJson':
      return Buffer.from(`${JSON.stringify(value, null, 2)}\n`);
    case 'yaml':
      return Buffer.from(formatYaml(value));
  }
}
