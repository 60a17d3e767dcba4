/** A gRPC method: its path and the encoding of its messages. */
export interface GrpcMethod<Request, Response> {
  readonly path: string;
  encode(request: Request): Uint8Array;
  decode(message: Buffer): Response;
}
