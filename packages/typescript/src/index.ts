export { Perdure } from "./client.js";
export type * from "./client.js";
export { PerdureError } from "./connection.js";
export type { ChangeEvent, Guarded, Keyed, Options, ServerOptions } from "./connection.js";
