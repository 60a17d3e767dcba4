/** The sum of the series of `apiserver_request_total` that have these labels. */
export function countRequests(exposition: string, labels: Readonly<Record<string, string>>): number {
  const wanted = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  return exposition
    .split('\n')
    .filter((line) => line.startsWith('apiserver_request_total{') && wanted.every((label) => line.includes(label)))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}
