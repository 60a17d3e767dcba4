/** The shortest digits that mean this double, from a million on with an exponent of two digits or more: `1e+06`. */
export function formatDouble(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (Object.is(value, -0)) return '-0';
  const size = Math.abs(value);
  if (size === 0 || (size >= 1e-4 && size < 1e6)) return String(value);
  return value.toExponential().replace(/([-+])(\d)$/, '$10$2');
}
