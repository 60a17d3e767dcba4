import { sameJson } from '@cluster-apiserver/model/json';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { keepInEachNamespace } from '../in-each-namespace.ts';
import { requireKind } from '../object-of-kind.ts';
import type { ControllerOptions, ControllerServices } from '../run-controller.ts';

const descriptionKey = 'kubernetes.io/description';
const description =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.';

/** Publishes the root certificates as ConfigMap `kube-root-ca.crt` in each namespace, if they are known. */
export async function publishRootCertificates(options: ControllerOptions & ControllerServices): Promise<void> {
  const { rootCertificates } = options;
  if (rootCertificates === undefined) return;
  const annotations = { [descriptionKey]: description };
  const data = { 'ca.crt': rootCertificates };
  const repair = (current: KubeObject): KubeObject => {
    const { data: published, immutable, metadata } = requireKind(current, 'ConfigMap');
    // Of an immutable one only a deletion helps.
    if (immutable || (sameJson(published, data) && metadata.annotations?.[descriptionKey])) return current;
    return { ...current, metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } }, data };
  };
  const draft = () => ({ annotations, data });
  await keepInEachNamespace(options, { kind: 'ConfigMap', name: 'kube-root-ca.crt', draft, repair });
}
