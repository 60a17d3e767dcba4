/** A media range of an Accept header with its parameters. */
export interface MediaRange {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
}

/** The rest of a longer header is ignored: it names more types than exist. */
const rangesMax = 32;

/** Parses an Accept header, ordered by quality, then specificity, then position. */
export const parseMediaRanges = (accept: string | undefined): readonly MediaRange[] =>
  (accept || '*/*')
    .split(',', rangesMax)
    .map(parseMediaRange)
    .filter(({ quality }) => quality > 0)
    .sort((left, right) => right.quality - left.quality || countWildcards(left) - countWildcards(right));

/** Whether the range covers the media type. */
export const coversType = ({ type }: MediaRange, candidate: string): boolean =>
  type === candidate ||
  type === '*/*' ||
  (type.endsWith('/*') && candidate.startsWith(type.slice(0, -1)) && type.length > '/*'.length);

/** Whether the range is this media type, or all. */
export const namesType = ({ type }: MediaRange, candidate: string): boolean => type === candidate || type === '*/*';

const countWildcards = ({ type }: MediaRange): number => type.split('*').length - 1;

function parseMediaRange(clause: string): MediaRange & { quality: number } {
  const [type = '', ...rest] = clause.split(';').map((part) => part.trim());
  const parameters = new Map(
    rest.map((part) => {
      const [name = '', value = ''] = part.split('=', 2);
      return [name.toLowerCase(), value];
    }),
  );
  const quality = Number(parameters.get('q') ?? 1);
  return { type: type.toLowerCase(), parameters, quality: Number.isFinite(quality) ? quality : 0 };
}
