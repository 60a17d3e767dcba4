/** Runs `promtool check metrics`. */
import { spawnSync } from 'node:child_process';
import type { DeclaredMetric } from '@cluster-apiserver/telemetry';

/** Upstream metric names that violate Prometheus' naming rules. Dashboards for kube-apiserver depend on them. */
export const nonconformingNames: readonly { readonly name: string; readonly because: string }[] = [
  ...['apiserver_admission_webhook_fail_open_count', 'apiserver_admission_webhook_rejection_count'].map((name) => ({
    name,
    because: 'a counter should end in `_total`, and `_count` is for histograms',
  })),
  ...['authenticated_user_requests', 'authentication_attempts'].map((name) => ({
    name,
    because: 'a counter should end in `_total`',
  })),
];

/** One sample of each metric, because promtool ignores metrics without samples. */
export const exampleOf = (metrics: readonly DeclaredMetric[]): string =>
  metrics
    .map(({ name, help, type, labels, buckets }) => {
      const pairs = labels.map((label) => `${label}="x"`);
      const of = (more: readonly string[] = []): string => {
        const all = [...pairs, ...more];
        return all.length > 0 ? `{${all.join(',')}}` : '';
      };
      const head = `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
      if (type !== 'histogram') return `${head}${name}${of()} 1\n`;
      const bounds = [...buckets.map(String), '+Inf'].map((le) => `${name}_bucket${of([`le="${le}"`])} 1\n`);
      return `${head}${bounds.join('')}${name}_sum${of()} 1\n${name}_count${of()} 1\n`;
    })
    .join('');

/** promtool's findings, each as `metric finding`. */
export function lint(promtool: string, text: string): readonly string[] {
  const { stdout, stderr, error } = spawnSync(promtool, ['check', 'metrics'], { input: text, encoding: 'utf8' });
  if (error) throw error;
  return `${stdout}${stderr}`.split('\n').filter((line) => line !== '');
}
