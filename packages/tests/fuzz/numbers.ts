/** Parses `1,5-8,12`. */
export function parseNumbers(text: string): number[] {
  return text.split(',').flatMap((part) => {
    const range = /^(\d+)(?:-(\d+))?$/.exec(part.trim());
    if (!range) throw new Error(`${part} is neither a number nor a range such as 3-9`);
    const [from, to] = [Number(range[1]), Number(range[2] ?? range[1])];
    return Array.from({ length: Math.max(0, to - from + 1) }, (_, at) => from + at);
  });
}
