/** One of the types that an Accept header names, with everything it says about it. */
export interface MediaRange {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
}

/** A header longer than this names more types than exist; the rest of it is not read. */
const rangesMax = 32;

/** What a client accepts, dearest first; what it accepts equally stays in its order. */
export function mediaRanges(accept: string | undefined): readonly MediaRange[] {
  return (accept ?? '*/*')
    .split(',', rangesMax)
    .map(mediaRange)
    .filter(({ quality }) => quality > 0)
    .sort((left, right) => right.quality - left.quality);
}

function mediaRange(clause: string): MediaRange & { quality: number } {
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
