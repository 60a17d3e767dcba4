import type { Credentials } from '../src/index.ts';

/** What a request brings: headers by their lower-case names, several lines of one as a list. */
export function bringing(
  headers: Readonly<Record<string, string | readonly string[] | undefined>> = {},
  clientCertificates: readonly Buffer[] = [],
): Credentials {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((line) => [name, line] as const),
  );
  const headerLines = (name: string): string[] => lines.filter(([one]) => one === name).map(([, line]) => line);
  return {
    path: '/',
    header: (name) => headerLines(name)[0],
    headerLines,
    headersFrom: (prefix) => lines.filter(([name]) => name.startsWith(prefix)),
    clientCertificates,
    warn: () => {},
    annotate: () => {},
  };
}
