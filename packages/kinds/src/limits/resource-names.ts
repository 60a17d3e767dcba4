import type { Problems } from '@cluster-apiserver/model';
import { qualifiedName } from '@cluster-apiserver/model/validation';

/** The names of what is limited: `cpu`, `count/configmaps`, `requests.example.com/gpu`. */

export const podCompute = ['cpu', 'memory', 'requests.cpu', 'requests.memory', 'limits.cpu', 'limits.memory'];

/** Of container, of what it asks for, and of what it may take at most. */
const containerResources = ['cpu', 'memory', 'ephemeral-storage'];

const countedNames = [
  ...['pods', 'resourcequotas', 'services', 'replicationcontrollers', 'secrets', 'configmaps'],
  ...['persistentvolumeclaims', 'services.nodeports', 'services.loadbalancers'],
];

const quotaNames: ReadonlySet<string> = new Set([
  ...containerResources,
  ...containerResources.flatMap((name) => [`requests.${name}`, `limits.${name}`]),
  'requests.storage',
  ...countedNames,
]);

const isHugePages = (name: string): boolean => name.startsWith('hugepages-');

/** Whether a quota may limit it without naming a group. */
export const isQuotaName = (name: string): boolean =>
  quotaNames.has(name) || isHugePages(name) || name.startsWith('requests.hugepages-');

const isStandard = (name: string): boolean => isQuotaName(name) || name === 'storage';
const isOfContainers = (name: string): boolean => containerResources.includes(name) || isHugePages(name);

/** Defined by Kubernetes itself. */
const isNative = (name: string): boolean => !name.includes('/') || name.includes('kubernetes.io/');

/** Defined outside of Kubernetes, and counted in whole numbers. */
const isExtended = (name: string): boolean =>
  !isNative(name) && !name.startsWith('requests.') && qualifiedName(`requests.${name}`).length === 0;

export const isCounted = (name: string): boolean => countedNames.includes(name) || isExtended(name);

/** Whether more of it may be promised than there is. */
export const mayBeOvercommitted = (name: string): boolean => isNative(name) && !isHugePages(name);

function validateName(name: string, problems: Problems): void {
  if (qualifiedName(name).length > 0) problems.check(qualifiedName, name);
  else if (!name.includes('/') && !isStandard(name))
    problems.invalid(name, 'must be a standard resource type or fully qualified');
}

export function validateQuotaName(name: string, problems: Problems): void {
  validateName(name, problems);
  if (!name.includes('/') && !isQuotaName(name)) problems.invalid(name, 'must be a standard resource for quota');
}

export function validateLimitedName(name: string, isContainer: boolean, problems: Problems): void {
  validateName(name, problems);
  if (!isContainer) return;
  if (!name.includes('/')) {
    if (!isOfContainers(name)) problems.invalid(name, 'must be a standard resource for containers');
  } else if (!isNative(name) && !isExtended(name))
    problems.invalid(name, "doesn't follow extended resource name standard");
}
