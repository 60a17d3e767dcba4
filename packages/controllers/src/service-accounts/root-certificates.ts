import { sameJson } from '@cluster-apiserver/model/json';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { keepInEachNamespace } from '../in-each-namespace.ts';
import { requireKind } from '../object-of-kind.ts';
import type { ControllerOptions, ControllerServices } from '../run-controller.ts';

const descriptionKey = 'kubernetes.io/description';
const description =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.';

/** Publishes the root certificates as ConfigMap `kube-root-ca.crt` in each namespace, if they are known. */
export const publishRootCertificates = (options: ControllerOptions & ControllerServices): Promise<void> => {
  const draft = () => {
    const certificates = options.rootCertificates();
    return certificates === undefined
      ? undefined
      : { annotations: { [descriptionKey]: description }, data: { 'ca.crt': certificates } };
  };
  const repair = (current: KubeObject): KubeObject => {
    const published = draft();
    const { data, immutable, metadata } = requireKind(current, 'ConfigMap');
    // Of an immutable one only a deletion helps.
    if (!published || immutable) return current;
    if (sameJson(data, published.data) && metadata.annotations?.[descriptionKey]) return current;
    const annotations = { ...metadata.annotations, ...published.annotations };
    return { ...current, metadata: { ...metadata, annotations }, data: published.data };
  };
  return keepInEachNamespace(options, { kind: 'ConfigMap', name: 'kube-root-ca.crt', draft, repair });
};
