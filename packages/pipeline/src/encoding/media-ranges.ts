/** One of the types that an Accept header names, with everything it says about it. */
export interface MediaRange {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
}

/** A header longer than this names more types than exist; the rest of it is not read. */
const rangesMax = 32;

/** What a client accepts, dearest first; of what is as dear, what is said more exactly, and then in the client's order. */
export const parseMediaRanges = (accept: string | undefined): readonly MediaRange[] =>
  (accept || '*/*')
    .split(',', rangesMax)
    .map(parseMediaRange)
    .filter(({ quality }) => quality > 0)
    .sort((left, right) => right.quality - left.quality || countWildcards(left) - countWildcards(right));

/** Whether a type is one of those that a range means. */
export const coversType = ({ type }: MediaRange, candidate: string): boolean =>
  type === candidate ||
  type === '*/*' ||
  (type.endsWith('/*') && candidate.startsWith(type.slice(0, -1)) && type.length > '/*'.length);

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
