/**
 * The sections whose console blocks tests run. A test runs every section of its list; `documented-commands.test.ts` compares the
 * lists with the pages, so no block is left out.
 */
import { blocksOf, readDocument } from './document-steps.ts';

/** The page and the heading: `docs/backup.md: ## Restore`. */
export type Section = `${string}.md: #${string}`;

export const sectionsOf = (page: string): Section[] => {
  const headings = blocksOf(readDocument(page)).flatMap(({ heading, language }) =>
    language === 'console' ? [heading] : [],
  );
  return [...new Set(headings)].map((heading) => `${page}: ${heading}` as Section);
};

export const partsOf = (section: Section): readonly [page: string, heading: string] => {
  const end = section.indexOf(': #');
  return [section.slice(0, end), section.slice(end + 2)];
};

/** `readme.cluster.test.ts`: a cluster that `npm start` starts, for both. */
export const startSections = ['docs/tutorial.md: ## The local cluster', 'README.md: ## Try it'] as const;

/** `readme.cluster.test.ts`: another such cluster. */
export const curlSections = ['docs/tutorial.md: ## The API with curl'] as const;

/** `readme.cluster.test.ts`: the same cluster, with kubectl. */
export const kubectlSections = [
  'docs/tutorial.md: ## Accounts and rights with kubectl',
  'docs/custom-resources.md: ## Define a kind',
  'docs/admission.md: ## Policies',
  'docs/authentication.md: ## Certificates of users',
  'docs/authentication.md: ## Service account tokens',
  'docs/authorization.md: ## RBAC',
  'docs/clients.md: ## The API reference in a browser',
] as const;

/** `operating.cluster.test.ts`: servers that are started as the pages say. */
export const serverSections = [
  'conformance/README.md: ## Replay',
  'docs/audit.md: # Audit',
  'docs/authentication.md: ## Client certificates',
  'docs/encryption.md: ## Enable it',
  'docs/encryption.md: ## Unreadable objects',
  'docs/logs.md: ## Requests',
  'docs/logs.md: ## Status pages',
  'docs/scaling.md: ## How much memory',
] as const;

/** `operating.cluster.test.ts`: etcdctl, in this order. */
export const etcdctlSections = [
  'docs/backup.md: # Back up and restore',
  'docs/backup.md: ## Restore',
  'docs/backup.md: ## Several etcds',
  'docs/scaling.md: ### Move a kind',
] as const;

/** `chart/recipes.cluster.test.ts`: Helm on a kube-apiserver, in this order. */
export const chartSections = [
  'docs/install-helm.md: ## A trial',
  'helm/cluster-apiserver/README.md: # Helm chart of the cluster API server',
  'docs/install-helm.md: ## Production',
  ...sectionsOf('docs/recipes-helm.md'),
] as const;

/** `deploy/compose.cluster.test.ts`: docker compose; the recipes in this order. */
export const composeSections = [
  'docs/tutorial.md: ## A cluster in containers',
  'docs/install.md: ## Docker compose',
] as const;
export const recipeSections = sectionsOf('docs/recipes.md');

/** `deploy/compose-start.cluster.test.ts`: the image that starts a cluster. */
export const imageSections = ['docs/install.md: ## The command'] as const;
