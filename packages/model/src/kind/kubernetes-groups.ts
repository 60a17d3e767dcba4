const suffix = '.k8s.io';

/** Whether Kubernetes itself has the group. Its resources have names of their own across all of these groups. */
export const isOfKubernetes = (group: string): boolean => group === '' || group.endsWith(suffix);
