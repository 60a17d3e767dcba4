import { KubeConfig } from '@kubernetes/client-node';

/** The configuration of @kubernetes/client-node for one server and the one who may do everything there. */
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
