// The way to a Perdure server: one request and its answer, or the error that the server meant.
//
// What only reads, and what an idempotency key makes sure of, is sent once more when the connection is lost. Nothing else
// is: it is unknown whether it was done.
import type { Change, ErrorCode, Problem, Revision } from "./client.js";

/** The server, and what every call says unless it says otherwise. */
export interface ServerOptions {
  /** `https://host`; on this machine `http://127.0.0.1:8733` as well. */
  url: string;
  /** What `perdure token` has shown. */
  token?: string;
  /** The namespace; without one, the only one that the token is good for. */
  namespace?: string;
  /** The session that writes are noted under; `undo` can take back all of it. */
  session?: string;
  /** `model`: what is written counts as a model's. */
  writer?: "person" | "model";
  /** How long a call may take, with everything that it waits for: 60 seconds if nothing is said. */
  timeoutMs?: number;
}

/** What one call says. */
export interface Options {
  namespace?: string;
  session?: string;
  /** The batch that writes belong to, a UUID; `undo` takes back all of it. */
  batch?: string;
  writer?: "person" | "model";
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** A call that is done once, however often it is sent. Without a key the client makes one for each call. */
export interface Keyed {
  idempotencyKey?: string;
}

/** A change of what is known: at another version it is a `version_conflict`. */
export interface Guarded {
  /** The version that the memory must have; 0, for a key: there must be none. */
  expectedVersion?: number;
}

/** A line of the log as it is written. `id` is what `events({ after: id })` goes on behind. */
export interface ChangeEvent extends Pick<Revision, "memory" | "number" | "version" | "seq"> {
  id: number;
  change: Omit<Change, "provenance">;
}

/** What went wrong: a code for programs, a sentence (`message`) and a remedy for people. */
export class PerdureError extends Error {
  override name = "PerdureError";

  constructor(
    readonly code: ErrorCode,
    sentence: string,
    readonly remedy: string,
    /** The status of the answer, or nothing where none came. */
    readonly status?: number,
    /** Whether the same call may succeed later. */
    readonly retryable = false,
    /** What waits for a yes: its `token` as `confirm` does exactly that. */
    readonly preview?: { [name: string]: unknown },
    options?: ErrorOptions,
  ) {
    super(sentence, options);
  }
}

/** One request, as the generated methods describe it. */
export interface Asked {
  method: string;
  path: string;
  places?: { [name: string]: string | number };
  query?: object;
  body?: object;
  /** Asked twice, it does no more than once. */
  repeats?: boolean;
  /** An idempotency key makes sure of that. */
  keyed?: boolean;
}

type Given = Options & Keyed & Guarded;

const SECONDS = 60;
const TOO_MANY = 429;
const AWAY = [502, 503, 504];
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;
// What a system says when nothing has been sent.
const NEVER_SENT = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"];
// After how long a stream that broke off is opened again, as the server wishes it.
const AGAIN_MS = 1000;
const UNKNOWN = "It is unknown whether it was done: look at what is there, then decide.";

export class Connection {
  private readonly base: string;
  private readonly said: ServerOptions;

  /** `words` stand behind the name of a memory in an address: a key that holds one is looked up first. */
  constructor(
    server: ServerOptions,
    private readonly words: RegExp,
  ) {
    const url = URL.canParse(server.url) ? new URL(server.url) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol) || url.username || url.password) {
      throw new PerdureError(
        "bad_input",
        "The server's address is not a URL that Perdure takes.",
        "Write https://host, or on this machine http://127.0.0.1:8733; the token is an option of its own.",
      );
    }
    if (url.protocol === "http:" && !LOOPBACK.test(url.hostname)) {
      throw new PerdureError(
        "store_unsafe",
        `${url.origin} begins with http://, so that everybody on the way could read the memories and the token.`,
        "Write https://; without it only a server on this machine is asked.",
      );
    }
    this.base = url.origin + url.pathname.replace(/\/+$/, "");
    this.said = server;
  }

  /** The JSON of the answer. A server that wants fewer requests is waited for, as long as there is time. */
  async ask<Answer>(asked: Asked, given: Given = {}): Promise<Answer> {
    const response = await this.send(asked, given);
    const text = await response.text();
    try {
      return JSON.parse(text) as Answer;
    } catch (cause) {
      throw this.foreign("something that is not valid JSON", response.status, cause);
    }
  }

  async text(asked: Asked, given: Given = {}): Promise<string> {
    return (await this.send(asked, given)).text();
  }

  /** The values of a long answer, as they come. One that breaks off is an error, never a short answer. */
  async *values(asked: Asked, given: Given = {}): AsyncGenerator<unknown> {
    for await (const line of this.lines(asked, given)) if (line) yield JSON.parse(line);
  }

  /** What changes, until the signal says to stop. A stream that breaks off goes on behind the last event. */
  async *events(asked: Asked, given: Given = {}): AsyncGenerator<ChangeEvent> {
    let after = (asked.query as { after?: number } | undefined)?.after;
    for (;;) {
      const query = { ...asked.query, ...(after === undefined ? {} : { after }) };
      let name = "";
      let data = "";
      try {
        for await (const line of this.lines({ ...asked, query }, given)) {
          const [, field, value = ""] = /^(\w*): ?(.*)$/.exec(line) ?? [];
          if (field === "id") after = Number(value);
          if (field === "event") name = value;
          if (field === "data") data += value;
          if (line !== "" || data === "") continue;
          if (name === "error") throw asError(JSON.parse(data) as Problem, undefined);
          yield { id: after ?? 0, ...(JSON.parse(data) as Omit<ChangeEvent, "id">) };
          name = data = "";
        }
      } catch (error) {
        if (given.signal?.aborted) return;
        if (!(error instanceof BrokenOff)) throw error;
      }
      await pause(AGAIN_MS);
    }
  }

  private async *lines(asked: Asked, given: Given): AsyncGenerator<string> {
    const { body } = await this.send(asked, given, { endless: true });
    const decoder = new TextDecoder();
    let rest = "";
    try {
      for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
        const whole = (rest + decoder.decode(chunk, { stream: true })).split("\n");
        rest = whole.pop() ?? "";
        yield* whole;
      }
    } catch (cause) {
      throw new BrokenOff(this.base, cause);
    }
    if (rest) yield rest;
  }

  private async send(asked: Asked, given: Given, { endless = false } = {}): Promise<Response> {
    const limit = given.timeoutMs ?? this.said.timeoutMs ?? SECONDS * 1000;
    const deadline = Date.now() + limit;
    const url = await this.address(asked, given);
    const body = asked.body === undefined ? null : JSON.stringify(asked.body);
    const headers = this.headers(asked, given, body !== null);
    let tries = asked.repeats ? 1 : 0;
    for (;;) {
      // A stream has no end, so only its first bytes are waited for.
      const waiting = new AbortController();
      const timer = setTimeout(() => waiting.abort(), Math.max(1, deadline - Date.now()));
      const signal = given.signal ? AbortSignal.any([given.signal, waiting.signal]) : waiting.signal;
      try {
        const response = await fetch(url, { method: asked.method, headers, body, signal, redirect: "manual" });
        const wait = response.status === TOO_MANY ? retryAfter(response.headers) : undefined;
        if (wait === undefined || Date.now() + wait >= deadline) {
          if (!response.ok) throw await this.refused(response);
          // The rest of an answer is waited for as long as its beginning was.
          return endless ? response : new Response(await response.arrayBuffer(), response);
        }
        await response.body?.cancel();
        await pause(wait);
      } catch (cause) {
        if (cause instanceof PerdureError || given.signal?.aborted) throw cause;
        const sent = !NEVER_SENT.includes(codeOf(cause));
        if (tries-- > 0 && sent && !waiting.signal.aborted) continue;
        const what = waiting.signal.aborted ? `did not answer within ${limit / 1000} s` : "could not be asked";
        const remedy = sent && !asked.repeats ? UNKNOWN : "Check that it runs and can be reached, then try again.";
        throw new PerdureError(
          "store_unreachable", `The server ${this.base} ${what}.`, remedy, undefined, true, undefined, { cause },
        );
      } finally {
        clearTimeout(timer);
      }
    }
  }

  private async address(asked: Asked, given: Given): Promise<string> {
    let path = asked.path;
    for (const [name, value] of Object.entries(asked.places ?? {})) {
      let told = String(value);
      if (name === "ref" && this.words.test(told)) {
        const found = { method: "GET", path: "/v1/reference", query: { ref: told }, repeats: true };
        const { expectedVersion: _version, idempotencyKey: _key, ...reading } = given;
        told = (await this.ask<{ id: string }>(found, reading)).id;
      }
      path = path.replace(`{${name}}`, encodeURIComponent(told));
    }
    const query = new URLSearchParams();
    const all = { ...asked.query, namespace: given.namespace ?? this.said.namespace };
    for (const [name, value] of Object.entries(all) as [string, unknown][]) {
      for (const each of Array.isArray(value) ? value : [value]) {
        const isPlain = typeof each !== "object";
        if (each !== undefined && each !== null) query.append(name, isPlain ? String(each) : JSON.stringify(each));
      }
    }
    return `${this.base}${path}${query.size ? `?${query}` : ""}`;
  }

  private headers(asked: Asked, given: Given, hasBody: boolean): Headers {
    const version = given.expectedVersion;
    const key = given.idempotencyKey ?? (asked.keyed ? crypto.randomUUID() : undefined);
    const isNew = version === 0 && asked.places !== undefined && "key" in asked.places;
    const said: { [name: string]: string | undefined } = {
      authorization: this.said.token && `Bearer ${this.said.token}`,
      "content-type": hasBody ? "application/json" : undefined,
      "idempotency-key": key,
      "if-match": version === undefined || isNew ? undefined : `"${version}"`,
      "if-none-match": isNew ? "*" : undefined,
      "perdure-session": given.session ?? this.said.session,
      "perdure-batch": given.batch,
      "perdure-writer": given.writer ?? this.said.writer,
    };
    const headers = new Headers();
    // A header holds bytes: other letters are sent in UTF-8.
    const encoder = new TextEncoder();
    for (const [name, value] of Object.entries(said)) {
      if (value) headers.set(name, Array.from(encoder.encode(value), (byte) => String.fromCharCode(byte)).join(""));
    }
    return headers;
  }

  private async refused(response: Response): Promise<PerdureError> {
    const kind = response.headers.get("content-type") ?? "";
    if (kind.includes("json")) {
      const document = (await response.json().catch(() => ({}))) as Partial<Problem>;
      if (document.code) return asError(document as Problem, response.status);
    }
    if (response.status >= 300 && response.status < 400) {
      return new PerdureError(
        "store_foreign",
        `The server ${this.base} sends on to another address, and Perdure does not follow.`,
        "Name the address itself; a token is never sent on.",
        response.status,
      );
    }
    if (AWAY.includes(response.status)) {
      const sentence = `The server ${this.base} cannot answer now (${response.status}).`;
      return new PerdureError("store_unreachable", sentence, "Try again later.", response.status, true);
    }
    return this.foreign(`${response.status} and ${kind || "nothing"}`, response.status);
  }

  private foreign(what: string, status: number, cause?: unknown): PerdureError {
    return new PerdureError(
      "store_foreign",
      `The server ${this.base} answered with ${what}, which this client cannot read.`,
      "Check the address; if it is right, use a client of the server's version.",
      status,
      false,
      undefined,
      { cause },
    );
  }
}

class BrokenOff extends PerdureError {
  constructor(server: string, cause: unknown) {
    const sentence = `The answer of the server ${server} broke off.`;
    super("store_unreachable", sentence, "Ask again.", undefined, true, undefined, { cause });
  }
}

function asError(problem: Problem, status: number | undefined): PerdureError {
  const { code, error, remedy, retryable, preview } = problem;
  return new PerdureError(code, error, remedy, status, retryable ?? false, preview);
}

/** In how many milliseconds the server wants to be asked again. */
function retryAfter(headers: Headers): number | undefined {
  const millis = headers.get("retry-after-ms");
  const given = headers.get("retry-after");
  if (millis !== null) return Number(millis);
  if (given === null) return undefined;
  const wait = /^[\d.]+$/.test(given) ? Number(given) * 1000 : Date.parse(given) - Date.now();
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}

function codeOf(error: unknown): string {
  const cause = (error as { cause?: { code?: unknown } }).cause;
  return String(cause?.code ?? "");
}

function pause(millis: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, millis));
}
