/** A gRPC method: its path and the encoding of its messages. */
export interface GrpcMethod<Request, Response> {
  readonly path: string;
  readonly encode: (request: Request) => Uint8Array;
  readonly decode: (message: Buffer) => Response;
}
