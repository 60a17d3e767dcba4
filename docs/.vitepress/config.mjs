// The documentation site. `npm run site` copies the pages of the repository, as they lie, beside this file and builds it.
import { anchorOf, version, versionsUrl } from './site.mjs';

/** Pages that VitePress has not built are opened by the browser itself. */
const unbuilt = (text, link) => ({ text, link, target: '_self' });
const otherVersions = versionsUrl ? [unbuilt('All versions', versionsUrl)] : [];
const page = (text, link) => ({ text, link: `/docs/${link}` });

export default {
  title: 'Cluster API Server',
  description: 'A Kubernetes API server for platforms without pods',
  cleanUrls: true,
  outDir: '../dist',
  lastUpdated: false,
  // A link to a page or a section that does not exist fails the build.
  ignoreDeadLinks: false,
  markdown: {
    anchor: { slugify: anchorOf },
    config: (md) => {
      // Text in angle brackets is text, as in `NAME=<value>`.
      md.set({ html: false });
      const { fence } = md.renderer.rules;
      md.renderer.rules.fence = (tokens, index, ...rest) =>
        tokens[index].info === 'mermaid'
          ? `<pre v-pre class="mermaid">${md.utils.escapeHtml(tokens[index].content)}</pre>`
          : fence(tokens, index, ...rest);
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Start', link: '/docs/tutorial' },
      { text: 'Operate', link: '/docs/operate' },
      { text: 'Reference', link: '/docs/flags' },
      {
        text: version,
        items: [{ text: 'Changelog', link: '/CHANGELOG' }, page('Upgrade', 'upgrade'), ...otherVersions],
      },
    ],
    sidebar: [
      {
        text: 'Start',
        items: [
          { text: 'What it is', link: '/' },
          page('Tutorial', 'tutorial'),
          page('Install', 'install'),
          page('Install with Helm', 'install-helm'),
          page('Migrate from kube-apiserver', 'migrating'),
        ],
      },
      {
        text: 'Tasks',
        items: [
          page('Clients and tools', 'clients'),
          page('Define own kinds', 'custom-resources'),
          page('Authenticate', 'authentication'),
          page('Authorize', 'authorization'),
          page('Admit writes', 'admission'),
          page('Encrypt', 'encryption'),
        ],
      },
      {
        text: 'Operations',
        items: [
          page('Operate', 'operate'),
          page('Recipes: docker compose', 'recipes'),
          page('Recipes: chart', 'recipes-helm'),
          page('Runbooks', 'runbooks'),
          page('Troubleshooting', 'troubleshooting'),
          page('Logs', 'logs'),
          page('Messages of the log', 'messages'),
          page('Audit', 'audit'),
          page('Tracing', 'tracing'),
          page('Scaling', 'scaling'),
          page('Upgrade', 'upgrade'),
          page('Versions and support', 'support'),
          page('Back up and restore', 'backup'),
          { text: 'Monitoring', link: '/deploy/monitoring/' },
        ],
      },
      {
        text: 'Concepts',
        items: [
          page('Reliability', 'reliability'),
          page('Security model', 'security-model'),
          page('Benchmarks', 'benchmarks'),
          page('API differences', 'api-differences'),
          page('Architecture', 'architecture'),
          page('Decisions', 'decisions/'),
        ],
      },
      {
        text: 'Reference',
        items: [
          unbuilt('API', '/api/'),
          page('Flags', 'flags'),
          page('Metrics', 'metrics'),
          page('Configuration files', 'configuration'),
          page('Limits', 'limits'),
          { text: 'Helm values', link: '/helm/cluster-apiserver/' },
        ],
      },
      {
        text: 'Development',
        items: [
          { text: 'Contributing', link: '/CONTRIBUTING' },
          page('Add a kind', 'adding-a-kind'),
          page('Testing', 'testing'),
          { text: 'Report a vulnerability', link: '/SECURITY' },
        ],
      },
    ],
  },
};
