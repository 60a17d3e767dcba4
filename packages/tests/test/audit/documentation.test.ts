/** The examples of docs/audit.md work. */
import { expect, test } from '@jest/globals';
import fs from 'node:fs';
import path from 'node:path';
import { auditLevels, auditStages, loadAuditPolicy, loadKubeconfig } from '@cluster-apiserver/config';
import { flagHelp, parseFlags } from '@cluster-apiserver/server';
import type { AuditEvent } from './audited-server.ts';

const page = fs.readFileSync(path.resolve(import.meta.dirname, '..', '..', '..', '..', 'docs', 'audit.md'), 'utf8');
const blocks = (language: string): string[] =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, 'g'))].map(([, text = '']) => text);

test('the policy and the kubeconfig of the page are valid', () => {
  const [policy = '', kubeconfig = '', ...others] = blocks('yaml');
  expect(others).toEqual([]);
  const { rules } = loadAuditPolicy(policy);
  expect(rules.map(({ level }) => level)).toEqual(['None', 'None', 'RequestResponse', 'None', 'Request', 'Metadata']);
  expect(rules.every(({ omitManagedFields }) => omitManagedFields)).toBe(true);
  expect(loadKubeconfig(kubeconfig)).toMatchObject({ clientKey: { file: 'apiserver.key' } });
});

test("the page's example event has the fields of an audit event", () => {
  const [event = ''] = blocks('json');
  const read = JSON.parse(event) as AuditEvent;
  expect(read).toMatchObject({ kind: 'Event', apiVersion: 'audit.k8s.io/v1', verb: 'get' });
  expect(auditLevels).toContain(read.level);
  expect(auditStages).toContain(read.stage);
});

test('the page lists all levels, stages and audit flags, with their defaults', () => {
  for (const word of [...auditLevels, ...auditStages]) expect(page).toContain(`| \`${word}\` |`);
  const flags = Object.keys(parseFlags([])).filter((name) => name.startsWith('audit-'));
  expect(flags.length).toBeGreaterThan(30);
  for (const name of flags) expect(page).toContain(`\`--${name}\``);
  for (const [, name = '', fallback] of page.matchAll(/^\| `--(audit-[a-z-]+)` \| (?:`([^`|]+)`|([0-9a-z.]+)) \|/gm)) {
    const written = new RegExp(`--${name} [^\\n]*\\n[^\\n]*\\(default ([^)]+)\\)`).exec(flagHelp())?.[1];
    if (fallback !== undefined) expect([name, fallback]).toEqual([name, written]);
  }
});
