import { expect, test } from '@jest/globals';
import { drawLineChart, formatValue } from '../../bench/pictures/line-chart.ts';

const points = [
  [0, 0],
  [60, 90],
  [120, 45],
] as const;

test('a chart has axes with units, one line per series, and a legend', () => {
  const svg = drawLineChart({
    title: 'Requests & more',
    unit: 'reqps',
    seconds: 120,
    series: [
      { name: 'LIST <all>', points: [[0, 1]] },
      { name: 'GET', points },
    ],
  });
  expect(svg).toContain('<title>Requests &amp; more (requests/s)</title>');
  expect(Array.from(svg.matchAll(/text-anchor="end">([^<]+)</g), ([, text]) => text)).toEqual([
    '0',
    '25',
    '50',
    '75',
    '100',
  ]);
  expect(Array.from(svg.matchAll(/text-anchor="middle">([^<]+)</g), ([, text]) => text)).toEqual([
    '0 s',
    '20',
    '40',
    '60',
    '80',
    '100',
    '120',
  ]);
  // The largest series is first, and the line ends within the plot.
  expect(svg).toContain('<path d="M70 220L347 58L624 139" fill="none" stroke="#1f77b4"');
  expect(svg.indexOf('>GET<')).toBeLessThan(svg.indexOf('>LIST &lt;all&gt;<'));
});

test('a chart without values still has an axis', () => {
  expect(drawLineChart({ title: 'Empty', unit: 's', seconds: 20, series: [] })).toContain('>250 ms<');
});

test.each([
  [0, 's', '0 s'],
  [0.00025, 's', '250 µs'],
  [0.05, 's', '50 ms'],
  [2.5, 's', '2.5 s'],
  [0, 'bytes', '0 B'],
  [1536, 'bytes', '1.5 KiB'],
  [256 * 1024 * 1024, 'bytes', '256 MiB'],
  [0.5, 'short', '0.5'],
])('%d in %s is %s', (value, unit, text) => {
  expect(formatValue(value, unit)).toBe(text);
});
