import { formatPath } from '@cluster-apiserver/model';
import type { FoundCertificates, Problem } from '@cluster-apiserver/config';
import { findCertificateWarnings } from './certificate-warnings.ts';
import { checkFile, type CheckEnvironment, type CheckedFile } from './check-file.ts';

export interface CheckOptions extends CheckEnvironment {
  readonly paths: readonly string[];
  readonly output: 'text' | 'json';
  readonly warnBeforeMs: number;
  readonly print: (line: string) => void;
}

/** One line of the report, sorted by file and line. */
interface Reported {
  readonly severity: 'error' | 'warning';
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly path: string;
  readonly message: string;
}

/** Checks all files. Returns the exit code: 1 if any file has an error; warnings do not count. */
export async function check({ paths, output, warnBeforeMs, print, ...environment }: CheckOptions): Promise<number> {
  const checked: CheckedFile[] = [];
  for (const path of paths) checked.push(await checkFile(path, environment));
  const nowMs = environment.clock.now();
  const reported = checked.flatMap(({ file, problems, certificates }) =>
    dropDuplicates([
      ...problems.map((problem) => toReported(file, problem, 'error')),
      ...findCertificateWarnings(certificates, { nowMs, warnBeforeMs }).map((one) => toReported(file, one, 'warning')),
    ]),
  );
  const count = (severity: Reported['severity']): number => reported.filter((one) => one.severity === severity).length;
  const [errors, warnings] = [count('error'), count('warning')];
  if (output === 'json') {
    const files = checked.map(({ file, kind }) => ({ file, kind: kind ?? null }));
    print(JSON.stringify({ files, errors, warnings, problems: reported }, null, 2));
  } else {
    for (const one of reported) print(formatReported(one));
    if (errors + warnings === 0) for (const { file, kind } of checked) print(`${file}: ${kind} is valid`);
  }
  return errors > 0 ? 1 : 0;
}

function toReported(
  checked: string,
  { file, place, path, message }: Pick<Problem & FoundCertificates, 'file' | 'place' | 'path'> & { message: string },
  severity: Reported['severity'],
): Reported {
  const { line, column } = place ?? { line: 1, column: 1 };
  return { severity, file: file ?? checked, line, column, path: formatPath(path), message };
}

const formatReported = ({ severity, file, line, column, path, message }: Reported): string =>
  `${file}:${line}:${column} ${path === '' ? '' : `${path}: `}${severity === 'warning' ? 'warning: ' : ''}${message}`;

/** A file that is given twice is reported once. */
const dropDuplicates = (reported: readonly Reported[]): readonly Reported[] =>
  [...new Map(reported.map((one) => [JSON.stringify(one), one])).values()].toSorted(
    (one, other) =>
      (one.file < other.file ? -1 : Number(one.file > other.file)) ||
      one.line - other.line ||
      one.column - other.column,
  );
