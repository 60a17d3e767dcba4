import path from 'node:path';

/** The files of one cluster. Users and programs rely on these names. */
export interface Home {
  readonly directory: string;
  readonly formatKubeconfig: string;
  readonly adminToken: string;
  /** For the developer, whose permissions come from RBAC. */
  readonly developerKubeconfig: string;
  readonly developerToken: string;
  /** Static token file with the tokens of both. */
  readonly tokenFile: string;
  readonly ca: string;
  /** Private key of the CA, which also signs certificates of clients. */
  readonly authorityKey: string;
  readonly pki: string;
  readonly serverCertificate: string;
  readonly serverKey: string;
  /** Signing key of service account tokens. */
  readonly signingKey: string;
  /** EncryptionConfiguration of the replicas. */
  readonly encryption: string;
  readonly pids: string;
  /** The running processes, also during start and stop, so that the next start can end the leftovers of a killed one. */
  readonly children: string;
  readonly lock: string;
  readonly topology: string;
  readonly logs: string;
  readonly data: string;
  /** An etcd that was fetched because there was none. */
  readonly programs: string;
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
    authorityKey: at('pki', 'ca.key'),
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
    programs: at('programs'),
  };
}
