/** The version of this server; the changelog says what each one brought. */
export const version = '0.1.0';
