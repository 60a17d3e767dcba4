const suffix = '.k8s.io';

/** Older than the rule that groups have a domain. */
const withoutDomain: ReadonlySet<string> = new Set(['', 'apps', 'autoscaling', 'batch', 'extensions', 'policy']);

/** Whether Kubernetes itself has the group. Its resources have names of their own across all of these groups. */
export const isOfKubernetes = (group: string): boolean => withoutDomain.has(group) || group.endsWith(suffix);
