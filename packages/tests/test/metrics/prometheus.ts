/** A Prometheus that scrapes replicas every second, with the rules of deploy/monitoring. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endProcess } from '@cluster-apiserver/testkit/child-process';
import { until } from '@cluster-apiserver/testkit/until';
import { freePorts } from '@cluster-apiserver/testkit/free-ports';
import { ruleFiles } from './monitoring.ts';

export interface Prometheus {
  /** Queries its API and returns the data. */
  api<Data>(path: string, parameters?: Readonly<Record<string, string>>): Promise<Data>;
  query(query: string): Promise<readonly object[]>;
  stop(): Promise<void>;
}

export interface ScrapedReplicas {
  readonly urls: readonly string[];
  readonly certificate: Buffer;
  readonly token: string;
}

export async function startPrometheus(
  program: string,
  { urls, certificate, token }: ScrapedReplicas,
): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'prometheus-'));
  const at = (name: string): string => join(folder, name);
  writeFileSync(at('ca.crt'), certificate);
  writeFileSync(at('token'), token);
  const scrape = (name: string, path: string): object => ({
    job_name: name,
    metrics_path: path,
    scheme: 'https',
    authorization: { credentials_file: at('token') },
    tls_config: { ca_file: at('ca.crt') },
    static_configs: [{ targets: urls.map((url) => new URL(url).host) }],
  });
  const configuration = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: ruleFiles,
    scrape_configs: [scrape('cluster-apiserver', '/metrics'), scrape('cluster-apiserver-slis', '/metrics/slis')],
  };
  writeFileSync(at('prometheus.yaml'), JSON.stringify(configuration));
  const [port] = await freePorts(1);
  const process = spawn(
    program,
    [
      `--config.file=${at('prometheus.yaml')}`,
      `--storage.tsdb.path=${at('data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--enable-feature=exemplar-storage',
      '--log.level=error',
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  const api: Prometheus['api'] = async (path, parameters = {}) => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${path}?${new URLSearchParams(parameters)}`);
    const { data, error } = (await answer.json()) as { readonly data: never; readonly error?: string };
    if (error) throw new Error(`${JSON.stringify(parameters)}: ${error}`);
    return data;
  };
  const prometheus: Prometheus = {
    api,
    query: async (query) => (await api<{ readonly result: readonly object[] }>('query', { query })).result,
    stop: async () => {
      await endProcess(process);
      rmSync(folder, { recursive: true });
    },
  };
  await until('Prometheus', async () => {
    const found = await prometheus.query('up{job="cluster-apiserver"} == 1').catch(() => []);
    return found.length > 0 || undefined;
  });
  return prometheus;
}
