import path from 'node:path';

/** Where one cluster keeps what it has: the names below are what people and programs look for. */
export interface Home {
  readonly directory: string;
  readonly formatKubeconfig: string;
  readonly adminToken: string;
  /** For a user whose rights come from RBAC, unlike the administrator's. */
  readonly developerKubeconfig: string;
  readonly developerToken: string;
  /** The tokens of both in the form that the server reads. */
  readonly tokenFile: string;
  readonly ca: string;
  readonly pki: string;
  readonly serverCertificate: string;
  readonly serverKey: string;
  /** What signs the tokens of service accounts. */
  readonly signingKey: string;
  /** What the replicas store by. */
  readonly encryption: string;
  readonly pids: string;
  /** The same while the cluster starts and stops: for the next start, should this one be killed. */
  readonly children: string;
  readonly lock: string;
  readonly topology: string;
  readonly logs: string;
  readonly data: string;
}

export function getHome(directory: string): Home {
  const at = (...parts: string[]): string => path.resolve(directory, ...parts);
  return {
    directory: at(),
    formatKubeconfig: at('kubeconfig'),
    adminToken: at('admin.token'),
    developerKubeconfig: at('developer.kubeconfig'),
    developerToken: at('developer.token'),
    tokenFile: at('pki', 'tokens.csv'),
    ca: at('ca.crt'),
    pki: at('pki'),
    serverCertificate: at('pki', 'server.crt'),
    serverKey: at('pki', 'server.key'),
    signingKey: at('pki', 'service-accounts.key'),
    encryption: at('encryption.yaml'),
    pids: at('pids.json'),
    children: at('children.json'),
    lock: at('launcher.pid'),
    topology: at('topology.json'),
    logs: at('logs'),
    data: at('data'),
  };
}
