/** Bars on a logarithmic scale that begins at 1, as SVG. */

export interface Bar {
  readonly name: string;
  readonly value: number;
  readonly isGood: boolean;
}

interface BarChart {
  readonly title: string;
  readonly subtitle: string;
  /** The values with a line, from 1; those beyond the largest bar are left out. */
  readonly ticks: readonly number[];
  readonly bars: readonly Bar[];
  readonly unit: string;
  /** Significant digits of the values. */
  readonly digits: number;
}

const width = 760;
const plot = { left: 340, right: 690, top: 66, rowHeight: 26, barHeight: 16 };

export function barChart({ title, subtitle, ticks, bars, unit, digits }: BarChart): string {
  const most = Math.max(...bars.map(({ value }) => value));
  const top = ticks.find((tick) => tick >= most) ?? most;
  const x = (value: number): number =>
    Math.round(plot.left + (Math.log(Math.max(value, 0.5)) / Math.log(top)) * (plot.right - plot.left));
  const bottom = plot.top + bars.length * plot.rowHeight;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${bottom + 34}" width="${width}" height="${bottom + 34}" font-family="sans-serif" font-size="13" fill="#333">`,
    `<title>${title}</title>`,
    `<rect width="${width}" height="${bottom + 34}" fill="#fff"/>`,
    `<text x="16" y="26" font-size="16" font-weight="bold">${title}</text>`,
    `<text x="16" y="46" fill="#666">${subtitle}</text>`,
    ...ticks
      .filter((tick) => tick <= top)
      .flatMap((tick) => [
        `<path d="M${x(tick)} ${plot.top - 6}V${bottom}" stroke="${tick === 1 ? '#333' : '#ddd'}"/>`,
        `<text x="${x(tick)}" y="${bottom + 20}" text-anchor="middle">${tick}${unit}</text>`,
      ]),
    ...bars.flatMap(({ name, value, isGood }, index) => {
      const y = plot.top + index * plot.rowHeight;
      const [from, to] = [Math.min(x(1), x(value)), Math.max(x(1), x(value))];
      return [
        `<text x="${plot.left - 12}" y="${y + 13}" text-anchor="end">${name.replaceAll('`', '')}</text>`,
        `<rect x="${from}" y="${y}" width="${to - from}" height="${plot.barHeight}" fill="${isGood ? '#2f6fd0' : '#c0392b'}"/>`,
        `<text x="${to + 6}" y="${y + 13}">${Number(value.toPrecision(digits))}</text>`,
      ];
    }),
    '</svg>\n',
  ].join('\n');
}
