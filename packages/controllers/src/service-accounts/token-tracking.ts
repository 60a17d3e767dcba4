import { formatDate } from '@cluster-apiserver/gates';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { keepInEachNamespace } from '../in-each-namespace.ts';
import { requireKind } from '../object-of-kind.ts';
import type { ControllerOptions, ControllerServices } from '../run-controller.ts';

export const trackingName = 'kube-apiserver-legacy-service-account-token-tracking';

/**
 * Keeps the ConfigMap that tells since when secrets are labeled with the last use of their tokens: without a label, a token
 * has not been used since then.
 */
export async function keepTokenTracking(options: ControllerOptions & ControllerServices): Promise<void> {
  if (!options.signSecretToken) return;
  const draft = () => ({ data: { since: formatDate(options.clock.now()) } });
  const repair = (current: KubeObject): KubeObject => {
    const { data, immutable } = requireKind(current, 'ConfigMap');
    return immutable || isDate(data?.['since']) ? current : { ...current, data: { ...data, ...draft().data } };
  };
  await keepInEachNamespace(options, {
    kind: 'ConfigMap',
    name: trackingName,
    isIn: (namespace) => namespace === 'kube-system',
    draft,
    repair,
  });
}

export const isDate = (text = ''): boolean => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));
