const controllers = '--controllers=';

/**
 * The flags of a server, without the controllers that create objects in namespaces unless the flags choose the
 * controllers: so namespaces have only what a test creates in them.
 */
export const withoutNamespaceObjects = (flags: readonly string[]): readonly string[] =>
  flags.some((flag) => flag.startsWith(controllers))
    ? flags
    : [
        `${controllers}-serviceaccount-controller,-root-ca-certificate-publisher-controller,-legacy-token-tracking-controller`,
        ...flags,
      ];
