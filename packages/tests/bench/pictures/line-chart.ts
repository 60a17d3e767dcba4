/** Draws time series as a small SVG with a light background. */

export interface Series {
  readonly name: string;
  readonly points: readonly (readonly [seconds: number, value: number])[];
}

export interface Chart {
  readonly title: string;
  /** A unit of Grafana, such as `reqps`. */
  readonly unit: string;
  /** Duration of the horizontal axis. */
  readonly seconds: number;
  readonly series: readonly Series[];
}

const width = 640;
const plot = { left: 70, right: 624, top: 40, bottom: 220 };
const colors = ['#1f77b4', '#d62728', '#2ca02c', '#9467bd', '#ff7f0e', '#8c564b', '#17becf', '#7f7f7f'];
const legend = { top: 262, lineHeight: 18, columns: 3 };
const characterWidth = 6.6;
const ticksWanted = 4;
const timeStepSeconds = 20;

export function drawLineChart({ title: name, unit, seconds, series }: Chart): string {
  const title = rates[unit] === undefined ? name : `${name} (${rates[unit]})`;
  const shown = series.toSorted((one, other) => maximumOf(other) - maximumOf(one)).slice(0, colors.length);
  const ticks = findTicks(Math.max(0, ...shown.map(maximumOf)), unit);
  const top = ticks.at(-1) ?? 1;
  const x = (at: number): number => plot.left + (at / seconds) * (plot.right - plot.left);
  const y = (value: number): number => plot.bottom - (value / top) * (plot.bottom - plot.top);
  const rows = Math.ceil(shown.length / legend.columns);
  const height = legend.top + rows * legend.lineHeight;
  const times = Array.from({ length: Math.floor(seconds / timeStepSeconds) + 1 }, (_, at) => at * timeStepSeconds);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="12" fill="#333">`,
    `<title>${escapeText(title)}</title>`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<text x="${plot.left}" y="24" font-size="15" font-weight="bold">${escapeText(title)}</text>`,
    ...ticks.flatMap((value) => [
      `<path d="M${plot.left} ${round(y(value))}H${plot.right}" stroke="#ddd"/>`,
      `<text x="${plot.left - 8}" y="${round(y(value) + 4)}" text-anchor="end">${formatValue(value, unit)}</text>`,
    ]),
    ...times.map(
      (at) =>
        `<text x="${round(x(at))}" y="${plot.bottom + 18}" text-anchor="middle">${at}${at === 0 ? ' s' : ''}</text>`,
    ),
    ...shown.map(
      ({ points }, index) =>
        `<path d="${toPath(points.map(([at, value]) => [x(at), y(value)]))}" fill="none" stroke="${colors[index]}" stroke-width="1.8"/>`,
    ),
    ...shown.flatMap(({ name }, index) => {
      const left = plot.left + (index % legend.columns) * ((plot.right - plot.left) / legend.columns);
      const middle = legend.top + Math.floor(index / legend.columns) * legend.lineHeight - 4;
      return [
        `<path d="M${round(left)} ${middle}h14" stroke="${colors[index]}" stroke-width="3"/>`,
        `<text x="${round(left + 20)}" y="${middle + 4}">${escapeText(shorten(name))}</text>`,
      ];
    }),
    '</svg>\n',
  ].join('\n');
}

const maximumOf = ({ points }: Series): number => Math.max(0, ...points.map(([, value]) => value));

/** Round values from 0 to at least the maximum. */
function findTicks(maximum: number, unit: string): readonly number[] {
  const base = unit === 'bytes' || unit === 'Bps' ? 1024 : 10;
  const wanted = maximum > 0 ? maximum / ticksWanted : 0.25;
  const scale = base ** Math.floor(Math.log(wanted) / Math.log(base));
  const steps = base === 10 ? [1, 2, 2.5, 5, 10] : [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
  const step = scale * (steps.find((one) => one * scale >= wanted) ?? base);
  return Array.from({ length: Math.ceil(maximum / step || ticksWanted) + 1 }, (_, at) => at * step);
}

/** Named once in the title: these would not fit beside the axis. */
const rates: Readonly<Record<string, string>> = {
  reqps: 'requests/s',
  eps: 'events/s',
  ops: 'operations/s',
  Bps: 'per second',
};

export function formatValue(value: number, unit: string): string {
  if (unit === 's') return formatSeconds(value);
  if (unit !== 'bytes' && unit !== 'Bps') return `${Number(value.toPrecision(3))}`;
  const names = ['B', 'KiB', 'MiB', 'GiB'];
  const power = value < 1 ? 0 : Math.min(names.length - 1, Math.floor(Math.log2(value) / 10));
  return `${Number((value / 1024 ** power).toPrecision(3))} ${names[power]}`;
}

function formatSeconds(value: number): string {
  if (value === 0) return '0 s';
  if (value < 0.001) return `${Number((value * 1e6).toPrecision(3))} µs`;
  return value < 1 ? `${Number((value * 1e3).toPrecision(3))} ms` : `${Number(value.toPrecision(3))} s`;
}

const toPath = (points: readonly (readonly [number, number])[]): string =>
  points.map(([x, y], index) => `${index === 0 ? 'M' : 'L'}${round(x)} ${round(y)}`).join('');

const round = (value: number): number => Math.round(value * 10) / 10;

const nameCharactersMax = Math.floor((plot.right - plot.left) / legend.columns / characterWidth) - 3;
const shorten = (name: string): string =>
  name.length <= nameCharactersMax ? name : `${name.slice(0, nameCharactersMax - 1)}…`;

const escapeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
