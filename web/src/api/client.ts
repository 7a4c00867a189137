// The only place that calls fetch. Paths, parameters, bodies and responses are those of the OpenAPI file.
import type { components, paths } from "./schema";
import { refusalWords, type RefusalFacts } from "./refusal";
import { authorization, forget, keep } from "./secret";

type Method = "get" | "post" | "patch" | "put" | "delete";
type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, object> ? P : never;
}[keyof paths];
type Operation<P extends keyof paths, M extends Method> = paths[P] extends Record<M, infer O> ? O : never;
type Content<T> = T extends { content: { "application/json": infer J } } ? J : undefined;
type Success<O> = O extends { responses: infer R }
  ? R extends { 200: infer T }
    ? Content<T>
    : R extends { 201: infer T }
      ? Content<T>
      : undefined
  : never;
type Body<O> = O extends { requestBody?: infer B } ? Content<NonNullable<B>> : undefined;
type Parameters<O> = O extends { parameters: { path?: infer P; query?: infer Q } } ? { path: P; query: Q } : never;

/** Parameters of a call. */
export interface Call<P extends keyof paths, M extends Method> {
  path?: Parameters<Operation<P, M>>["path"];
  query?: Parameters<Operation<P, M>>["query"];
  body?: Body<Operation<P, M>>;
  signal?: AbortSignal;
}

/** An error response of the server, or a server that cannot be reached. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint: string = "",
    /** The argument that was refused, if it is about one. */
    readonly argument: string = "",
  ) {
    super(message);
  }

  get offline(): boolean {
    return this.status === 0;
  }
}

type Reach = "unauthorized" | "reached" | "lost";
type Listener = (fact: Reach) => void;
const listeners = new Set<Listener>();

/** Reports whether requests reach the server; returns a function that unsubscribes. */
export function onReach(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tell(fact: Reach): void {
  for (const listener of listeners) listener(fact);
}

function address(path: string, parts: object | undefined, query: object | undefined): string {
  const values = (parts ?? {}) as Record<string, unknown>;
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(values[name])));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null) search.set(name, String(value));
  }
  const text = search.toString();
  return text ? `${filled}?${text}` : filled;
}

interface OperationError {
  code?: string;
  message?: string;
  recovery?: string;
  details?: RefusalFacts;
}

/** The error of a response, whichever of the three error formats it uses. */
function refusal(status: number, body: unknown): Refused {
  const { error, detail } = (body ?? {}) as { error?: unknown; detail?: unknown };
  if (typeof error === "string") {
    const words = typeof detail === "string" ? detail : JSON.stringify(detail ?? error);
    return new Refused(status, error, words);
  }
  const { code = String(status), details = {}, ...said } = (error ?? {}) as OperationError;
  const { message, hint } = refusalWords(code, said.message ?? `the server returned ${status}`, said.recovery ?? "", details);
  return new Refused(status, code, message, hint, details.argument);
}

async function send(method: Method, url: string, body: unknown, signal?: AbortSignal): Promise<unknown> {
  const init: RequestInit = { method: method.toUpperCase() };
  if (signal) init.signal = signal;
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { "content-type": "application/json" };
  }
  const response = await reach(url, init);
  const text = await response.text();
  const answer: unknown = text ? JSON.parse(text) : undefined;
  if (!response.ok) throw refusal(response.status, answer);
  return answer;
}

/** Sends a request with this browser's credentials. */
async function reach(url: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    const headers = { ...authorization(), ...(init.headers as Record<string, string> | undefined) };
    response = await fetch(url, { ...init, headers, credentials: "omit" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    tell("lost");
    const reads = (init.method ?? "GET") === "GET";
    const hint = reads ? "the page retries automatically" : "nothing was saved; send it again when the server is back";
    throw new Refused(0, "OFFLINE", "the server cannot be reached", hint);
  }
  tell(response.status === 401 ? "unauthorized" : "reached");
  return response;
}

/** A response that is read as a stream. */
export async function open(url: string, signal: AbortSignal): Promise<Response> {
  const response = await reach(url, { signal });
  if (!response.ok) throw refusal(response.status, JSON.parse((await response.text()) || "null"));
  return response;
}

/** Lets the browser download a resource of this server. */
export async function download(url: string, name: string): Promise<void> {
  const response = await open(url, new AbortController().signal);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

function caller<M extends Method>(method: M) {
  return async <P extends PathOf<M>>(path: P, call: Call<P, M> = {}): Promise<Success<Operation<P, M>>> => {
    const url = address(path, call.path as object | undefined, call.query as object | undefined);
    const body = method === "post" || method === "patch" || method === "put" ? (call.body ?? {}) : undefined;
    return (await send(method, url, body, call.signal)) as Success<Operation<P, M>>;
  };
}

export const get = caller("get");
export const post = caller("post");
export const patch = caller("patch");
export const put = caller("put");
export const remove = caller("delete");

/** What a route returns. */
export type Result<P extends keyof paths, M extends Method> = Success<Operation<P, M>>;

export type OperationName = keyof paths extends infer P ? (P extends `/api/ops/${infer N}` ? N : never) : never;
type OperationPath<N extends string> = `/api/ops/${N}` & keyof paths;
/** The result type of an operation. */
export type OperationResult<N extends OperationName> =
  Success<Operation<OperationPath<N>, "post">> extends { result: infer R } ? R : never;

/** Calls an operation of the registry and returns its result. */
export async function operation<N extends OperationName>(
  name: N,
  input: Body<Operation<OperationPath<N>, "post">>,
  signal?: AbortSignal,
): Promise<OperationResult<N>> {
  const answer = (await send("post", `/api/ops/${name}`, input, signal)) as { result: OperationResult<N> };
  return answer.result;
}

/** What this browser may do: everything that a person may, or only what agents may. */
export type Role = components["schemas"]["CallerRole"];
export type PageSession = components["schemas"]["PageSession"];

export interface Presented {
  code?: string;
  token?: string;
  passphrase?: string;
}

/** Signs this browser in with the code of a printed link, the person's key or the agents' token. */
export async function signIn(presented: Presented): Promise<Role> {
  const { secret, session } = await post("/api/session", { body: presented });
  keep(secret);
  return session.role;
}

/** Signs this browser out. */
export async function signOut(): Promise<void> {
  await remove("/api/session");
  forget();
  tell("unauthorized");
}

/** A ticket that opens one WebSocket, because a WebSocket cannot send a header. */
export async function ticket(): Promise<string> {
  return (await post("/api/session/ticket")).ticket;
}

/** The download address of an artifact. */
export function artifactAddress(run: string, artifact: string): string {
  return address("/api/runs/{run}/artifacts/{artifact}/raw", { run, artifact }, undefined);
}
