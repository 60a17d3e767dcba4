import { KubeConfig } from '@kubernetes/client-node';

/** The @kubernetes/client-node configuration of an administrator. */
export function kubeConfig(to: {
  readonly url: string;
  readonly authority: Buffer;
  readonly token: string;
}): KubeConfig {
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: [{ name: 'here', server: to.url, caData: to.authority.toString('base64') }],
    users: [{ name: 'admin', token: to.token }],
    contexts: [{ name: 'here', cluster: 'here', user: 'admin' }],
    currentContext: 'here',
  });
  return config;
}
