// Made by tools/typescript.py (`make docs`) from the OpenAPI document: change the server, not this file.
import { Connection } from "./connection.js";
import type { ChangeEvent, Guarded, Keyed, Options, ServerOptions } from "./connection.js";

export type ErrorCode = Problem["code"];

export interface AcceptRequest {
  keep?: number | string | null;
}

/**
 * What was sent today, for every purpose, and how much background work may send; None means no limit. The next
 * day begins at `resets_at`.
 */
export interface BudgetState {
  used_tokens: number;
  daily_tokens: number | null;
  used_cost: number;
  daily_cost: number | null;
  resets_at: string;
}

/**
 * How full a namespace is. `tokens` are those of the current texts: earlier versions and other fields do not
 * count. `protected` can never be evicted; `eviction_order` would go first.
 */
export interface Capacity {
  namespace: string;
  item_count: number;
  tokens: number;
  max_items: number | null;
  max_tokens: number | null;
  token_counter: string;
  version_count: number;
  protected: number;
  evicted_count: number;
  importance_range: { [name: string]: number };
  eviction_order: EvictionCandidate[];
  policy: { [name: string]: unknown };
}

export interface CapacityRequest {
  max_items?: number | "unchanged" | null;
  max_tokens?: number | "unchanged" | null;
}

/**
 * Who changes a memory, how and when; one batch is what one call did, and what one undo takes back.
 * `provenance` is what a caller who said a known memory again told about where that came from: the memory keeps
 * the origin it has. It is erased with the memory.
 */
export interface Change {
  operation: "insert" | "observe" | "update" | "annotate" | "validate" | "promote" | "forget" | "restore" | "expire" | "evict" | "undo" | "rewind" | "erase";
  at: string;
  batch: string;
  actor: string;
  surface: string;
  session: string | null;
  request: string | null;
  provenance: { [name: string]: unknown };
}

/** A named position in the log of one namespace, or of all when `namespace` is None. */
export interface Checkpoint {
  name: string;
  namespace: string | null;
  positions: { [name: string]: number };
  memory_count: number;
  created_at: string;
  actor: string;
  spec_folder: string | null;
  description: string | null;
  metadata: { [name: string]: unknown };
}

export interface CheckpointRequest {
  name: string;
  description?: string | null;
  spec_folder?: string | null;
  metadata?: { [name: string]: string | number | boolean | unknown[] | { [name: string]: unknown } | null } | null;
  all_namespaces?: boolean;
}

/**
 * How many candidates an answer was chosen from: those with a word of the question, those with a vector; and
 * how many memories pass the filter at all, where an index tells.
 */
export interface Compared {
  by_words: number;
  by_meaning: number;
  searched: number;
}

export interface ConsolidateRequest {
  conversation_id?: string | null;
  dry_run?: boolean;
  limit?: number | null;
}

/**
 * What consolidating did, or would do: while `done` is false nothing has happened. `episodes` were looked at.
 * Of facts, `learned` are new, `reinforced` got more evidence, `updated` were superseded by what is true now,
 * `invalidated` ended without a successor; `changes` has each of them. `proposed` are conflicts that a person
 * decides, `left_out` actions that were not carried out: the notes say why. `batch` is what an undo takes back;
 * None: nothing was written.
 */
export interface Consolidation {
  episodes: number;
  learned: number;
  reinforced: number;
  updated: number;
  invalidated: number;
  proposed: number;
  left_out: number;
  changes: FactChange[];
  batch: string | null;
  done: boolean;
  notes: string[];
}

/**
 * One run. `facts` may be named in an answer, by number, and no others. `instructions` and `schema` tell an
 * agent what to answer; `token` is what it gives back with the answer, and says what it was shown.
 */
export interface ConsolidationTask {
  namespace: string;
  conversation_id: string;
  episodes: TaskEpisode[];
  facts: MemoryRecord[];
  instructions: string;
  schema: { [name: string]: unknown };
  token: string;
}

/** The memories that are always surfaced, oldest first, as many as fit the budget; the others are `omitted`. */
export interface Constitution {
  records: MemoryRecord[];
  tokens: number;
  budget: number;
  omitted: Omitted[];
}

/**
 * What a model should know, within `budget` tokens: `text` is data between two lines with a `mark` that no
 * memory can hold, and empty when there is nothing to say. `items` are in the order of the text; `nearest` as
 * in `Recall`.
 */
export interface Context {
  text: string;
  tokens: number;
  budget: number;
  token_counter: string;
  items: ContextItem[];
  omitted: Omitted[];
  mark: string;
  mode: "hybrid" | "keyword" | "vector" | "time" | "none";
  notes: string[];
  nearest: Hit | null;
}

/**
 * A memory as a context says it: `text` is all of it, or what found room. Constitutional ones have no
 * relevance. `outdated` and `contradicts` are as in `Hit`.
 */
export interface ContextItem {
  record: MemoryRecord;
  text: string;
  form: "full" | "summary" | "abstract" | "excerpt";
  relevance: number | null;
  outdated: Outdated | null;
  contradicts: Contradiction[];
}

export interface ContextRequest {
  query: string;
  concepts?: string[] | null;
  budget?: number;
  limit?: number;
  format?: "text" | "records";
  namespaces?: string[] | null;
  recipe?: string | null;
  as_of?: string | null;
  known_at?: string | null;
  min_relevance?: number | null;
  include_constitutional?: boolean;
  tags?: string | string[];
  category?: string | string[] | null;
  source?: string | string[] | null;
  context_type?: string | null;
  tier?: string | null;
  source_project?: string | null;
  spec_folder?: string | null;
  conversation_id?: string | null;
  key_type?: string | null;
  where?: { [name: string]: string | number | boolean | (string | number | boolean | null)[] | null } | null;
  min_importance?: number | null;
  max_importance?: number | null;
  since?: string | null;
  until?: string | null;
  when?: string | null;
  states?: "active" | "superseded" | "merged" | "deleted" | "expired" | "evicted" | ("active" | "superseded" | "merged" | "deleted" | "expired" | "evicted")[];
}

/**
 * An undecided conflict: a memory and another one cannot both be true. `number` and `text` are of the other
 * one, and `proposal` is what `accept` and `reject` take. `is_newer`: the memory itself was said later than the
 * other one.
 */
export interface Contradiction {
  number: number;
  text: string;
  proposal: number;
  is_newer: boolean;
}

/**
 * A sentence that says what holds now, or, with a `text`, one that describes the memory which says that from
 * now on; and `confirm`, the token of the preview that the first answer holds.
 */
export interface CorrectionSentence {
  sentence: string;
  text?: string | null;
  confirm?: boolean | string;
}

/** What came of an answer to a proposal. `records` are its two memories as they are now, and the merged one. */
export interface Decision {
  proposal: number;
  decision: "accepted" | "rejected";
  records: MemoryRecord[];
  batch: string;
  notes: string[];
}

/** A memory at one level of detail: a line of about 20 tokens, an abstract, or everything it says. */
export interface Detail {
  record: MemoryRecord;
  level: "index" | "abstract" | "full";
  text: string;
}

/** From one version of a memory to another: the text in parts, and every other field that differs. */
export interface Diff {
  before: Version;
  after: Version;
  text_diff: DiffPart[];
  field_changes: FieldChange[];
}

/** A part of a text that two versions share, or that only one of them has. */
export interface DiffPart {
  kind: "same" | "removed" | "added";
  text: string;
}

export interface DiscardParkedRequest {
  ids?: number[] | null;
}

/** What left this machine on one day, to one model. `cost` is None where not every price was known. */
export interface EgressDay {
  day: string;
  provider: string;
  model: string;
  host: string;
  requests: number;
  failed: number;
  texts: number;
  sent_bytes: number;
  received_bytes: number;
  input_tokens: number;
  output_tokens: number;
  cost: number | null;
}

export interface EraseRequest {
  what?: number | string | (number | string)[] | null;
  related?: "derived" | "all" | "none";
  keep?: number | string | (number | string)[] | null;
  confirm?: boolean | string;
  dry_run?: boolean;
  tags?: string | string[];
  category?: string | string[] | null;
  source?: string | string[] | null;
  context_type?: string | null;
  tier?: string | null;
  source_project?: string | null;
  spec_folder?: string | null;
  conversation_id?: string | null;
  key_type?: string | null;
  where?: { [name: string]: string | number | boolean | (string | number | boolean | null)[] | null } | null;
  min_importance?: number | null;
  max_importance?: number | null;
  since?: string | null;
  until?: string | null;
  when?: string | null;
  states?: "active" | "superseded" | "merged" | "deleted" | "expired" | "evicted" | ("active" | "superseded" | "merged" | "deleted" | "expired" | "evicted")[];
}

/** What eviction looks at. `last_used` is the latest of access, recall and change. */
export interface EvictionCandidate {
  number: number;
  importance: number;
  tier: string;
  state: "active" | "superseded" | "merged" | "deleted" | "expired" | "evicted";
  tokens: number;
  last_used: string;
}

/**
 * A fact, from how many episodes it is known and from how many conversations, and the facts that it took the
 * place of, the newest first.
 */
export interface Fact {
  record: MemoryRecord;
  source_count: number;
  earlier: MemoryRecord[];
  conversation_count: number;
}

/**
 * What was done about one fact. `replaced` is the fact that an update ended: `record` is true now, or from when
 * it was true on. `conversation_count` conversations say so.
 */
export interface FactChange {
  action: "new" | "reinforce" | "update" | "invalidate";
  record: MemoryRecord;
  replaced: MemoryRecord | null;
  conversation_count: number;
}

export interface FactsRequest {
  query?: string | null;
  about?: string | null;
  limit?: number;
  history?: boolean;
  tags?: string | string[];
  category?: string | string[] | null;
  source?: string | string[] | null;
  context_type?: string | null;
  tier?: string | null;
  source_project?: string | null;
  spec_folder?: string | null;
  conversation_id?: string | null;
  key_type?: string | null;
  where?: { [name: string]: string | number | boolean | (string | number | boolean | null)[] | null } | null;
  min_importance?: number | null;
  max_importance?: number | null;
  since?: string | null;
  until?: string | null;
  when?: string | null;
  states?: "active" | "superseded" | "merged" | "deleted" | "expired" | "evicted" | ("active" | "superseded" | "merged" | "deleted" | "expired" | "evicted")[];
}

/** One field of a memory before and after a change. */
export interface FieldChange {
  field: string;
  old: unknown;
  new: unknown;
}

export interface FinishConsolidationRequest {
  token: string;
  actions: { [name: string]: unknown } | { [name: string]: unknown }[];
}

export interface ForgetRequest {
  what?: number | string | (number | string)[] | null;
  keep?: number | string | (number | string)[] | null;
  confirm?: boolean | string;
  dry_run?: boolean;
  tags?: string | string[];
  category?: string | string[] | null;
  source?: string | string[] | null;
  context_type?: string | null;
  tier?: string | null;
  source_project?: string | null;
  spec_folder?: string | null;
  conversation_id?: string | null;
  key_type?: string | null;
  where?: { [name: string]: string | number | boolean | (string | number | boolean | null)[] | null } | null;
  min_importance?: number | null;
  max_importance?: number | null;
  since?: string | null;
  until?: string | null;
  when?: string | null;
  states?: "active" | "superseded" | "merged" | "deleted" | "expired" | "evicted" | ("active" | "superseded" | "merged" | "deleted" | "expired" | "evicted")[];
}

/**
 * What `forget` or `erase` did, or would do: while `done` is false nothing has happened. `understood` says how
 * the instruction was read, `token` confirms exactly these memories. `related` are the numbers of those that
 * you did not name, and that go because they were made of the others. `suggested` may have been meant as well,
 * and are never touched; `near_misses` hold some of the words of a sentence, but not all, or are of another
 * time: these stay too. `scrub_pending` says that erased bytes wait in a log, or in an unfinished copy, that
 * another process holds. `copies` are those in Markdown files.
 */
export interface Forgotten {
  records: MemoryRecord[];
  deletion: "soft" | "hard";
  done: boolean;
  understood: string;
  token: string;
  batch: string | null;
  related: number[];
  suggested: MemoryRecord[];
  remaining: number;
  scrub_pending: boolean;
  notes: string[];
  copies: MarkdownCopy[];
  near_misses: NearMiss[];
}

/**
 * `relevance` says how well the memory fits, from 0 to 1, and compares between answers, models and stores.
 * `score` orders the hits of one answer by a recipe; with `balanced` it is the relevance, else it compares no
 * two answers. `concepts` says how often each of the concepts asked for stands in the memory. `outdated` is
 * None unless it is a message, and what it says about the question is no longer true. `contradicts` are the
 * memories that cannot be true together with it, as long as no person has decided which one is.
 */
export interface Hit {
  record: MemoryRecord;
  relevance: number;
  score: number;
  explain: { [name: string]: Signal };
  concepts: { [name: string]: number };
  outdated: Outdated | null;
  contradicts: Contradiction[];
}

/** Memories as objects, or as the lines of an export. `trusted` keeps what they say of themselves. */
export interface ImportRequest {
  records?: { [name: string]: unknown }[] | null;
  lines?: string | null;
  trusted?: boolean;
  revive?: boolean;
  dry_run?: boolean;
}

/**
 * What `import_` did. `present` were there already, word for word, and are left as they are. `skipped_deleted`
 * were forgotten or corrected after they were written down, and do not come back. `batch` is None when nothing
 * was written. `evicted` had to go because the namespace was full.
 */
export interface Imported {
  inserted: number;
  updated: number;
  present: number;
  batch: string | null;
  notes: string[];
  skipped_deleted: number;
  evicted: MemoryRecord[];
}

/**
 * `total` is how many learnings there are. `model` embedded the question, if it was embedded. `waiting`: some
 * learnings have no vector yet, and are found by their words alone.
 */
export interface LearningsFound {
  recall: Recall;
  total: number;
  model: string | null;
  waiting: boolean;
}

export interface LearningsRequest {
  query?: string | null;
  limit?: number;
  namespaces?: string[] | null;
  recipe?: string;
  told_in?: string[];
  min_relevance?: number;
  project?: string | null;
}

export interface ListRequest {
  limit?: number;
  after?: number | null;
  newest?: boolean;
  known_at?: string | null;
  tags?: string | string[];
  category?: string | string[] | null;
  source?: string | string[] | null;
  context_type?: string | null;
  tier?: string | null;
  source_project?: string | null;
  spec_folder?: string | null;
  conversation_id?: string | null;
  key_type?: string | null;
  where?: { [name: string]: string | number | boolean | (string | number | boolean | null)[] | null } | null;
  min_importance?: number | null;
  max_importance?: number | null;
  since?: string | null;
  until?: string | null;
  when?: string | null;
  states?: "active" | "superseded" | "merged" | "deleted" | "expired" | "evicted" | ("active" | "superseded" | "merged" | "deleted" | "expired" | "evicted")[];
}

/**
 * What `work` did. `vectors_pending` are left, because of a limit or because no model is there. `purged` are
 * evicted memories whose grace period was over. `held` are due to expire or to be purged, but wait, because the
 * clock leapt. `keywords_added` are memories that got keywords. `episodes_made` are new, `episodes_reviewed`
 * were retrieved since their last review, `episodes_consolidated` are those of which facts were made;
 * `facts_changed` counts the facts that are new, reinforced, updated or invalidated. `memories_compared` are
 * those that were compared with what is near them, and `contradictions_found` the pairs that wait for a person.
 */
export interface MaintenanceResult {
  embedded: number;
  vectors_pending: number;
  notes: string[];
  expired: number;
  purged: number;
  held: number;
  keywords_added: number;
  episodes_made: number;
  episodes_reviewed: number;
  episodes_consolidated: number;
  facts_changed: number;
  memories_compared: number;
  contradictions_found: number;
}

/**
 * What a Markdown file holds of a memory that is erased: an entry of a knowledge bank, which begins at a line,
 * or a part of a memory file. It was `found` and goes with the memory, was `removed`, or is `kept`; `reason`
 * says why, or where it still is besides.
 */
export interface MarkdownCopy {
  path: string;
  line_number: number;
  outcome: "found" | "removed" | "kept";
  reason: string | null;
}

export interface MatchTriggersRequest {
  prompt: string;
  limit?: number;
  namespaces?: string[] | null;
  told_in?: string[];
}

/**
 * One memory that was compared with the one to save, by its `number`. It was `merged`; or stays `apart`,
 * because it says something else; or a person decides whether the two are one (`proposed`) or which one is true
 * (`conflict`). At the gate a merge is `unfaithful` when its text is too far from what it was made of, and
 * `crowded` when it is too close to others. `faithfulness` is the cosine of the merged text to the farther of
 * the two, `neighbours` the mean cosine to the nearest others; None where that was not looked at.
 */
export interface MergeStep {
  number: number;
  outcome: "merged" | "apart" | "proposed" | "conflict" | "unfaithful" | "crowded";
  cosine: number | null;
  reasons: string[];
  faithfulness: number | null;
  neighbours: number | null;
}

/** What somebody said. */
export interface Message {
  role: string;
  content: string;
  at?: string | null;
  speaker?: string | null;
  session_id?: string | null;
}

/** Messages of conversations, each with `conversation_id`, `role` and `content`; as objects, or as lines. */
export interface MessagesImport {
  messages?: { [name: string]: unknown }[] | null;
  lines?: string | null;
  dry_run?: boolean;
}

/**
 * NamespaceStats(name: 'str', states: 'dict[str, int]', categories: 'dict[str, int]', revision_count: 'int',
 * vectors_pending: 'int', oldest: 'datetime | None', newest: 'datetime | None').
 */
export interface NamespaceStats {
  name: string;
  states: { [name: string]: number };
  categories: { [name: string]: number };
  revision_count: number;
  vectors_pending: number;
  oldest: string | null;
  newest: string | null;
}

/** A memory that a sentence to forget names in part, and that stays; `reason` says why. */
export interface NearMiss {
  record: MemoryRecord;
  reason: string;
}

/** What was said, in its order: each with `role` and `content`. */
export interface NewMessages {
  messages: { [name: string]: unknown }[];
}

/** A memory that found no room within a budget, or says the same as another that did. */
export interface Omitted {
  record: MemoryRecord;
  reason: "budget" | "duplicate";
}

export interface OpenConsolidationRequest {
  conversation_id?: string | null;
  limit?: number | null;
}

/**
 * A message says something that is no longer true: `until` is when that ended, and `successor` the number of
 * the memory that is true instead; None if there is none, or none that may be shown.
 */
export interface Outdated {
  until: string | null;
  successor: number | null;
}

/** One page of `list`; `next` is what to pass as `after` for the following one, or None at the end. */
export interface Page {
  records: MemoryRecord[];
  next: number | null;
}

/**
 * What became of parked questions, by id, when they were asked again. `still_parked` were answered badly once
 * more, or not asked, and the notes say why. `batch` is what an undo takes back; None: nothing was answered.
 */
export interface ParkedRetry {
  answered: number[];
  still_parked: number[];
  batch: string | null;
  notes: string[];
}

export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: "access_denied" | "ambiguous" | "backup_failed" | "bad_input" | "bad_model_output" | "bad_reference" | "bad_request" | "bad_settings" | "body_too_large" | "budget_exceeded" | "capacity_exceeded" | "conflict" | "egress_forbidden" | "error" | "export_failed" | "host_refused" | "import_failed" | "index_damaged" | "needs_confirmation" | "no_embedder" | "no_llm" | "no_route" | "not_a_file" | "not_allowed" | "not_found" | "origin_refused" | "outcome_unknown" | "provider_refused" | "provider_unavailable" | "rate_limited" | "store_busy" | "store_closed" | "store_damaged" | "store_error" | "store_foreign" | "store_full" | "store_missing" | "store_newer" | "store_read_only" | "store_remote" | "store_replaced" | "store_rolled_back" | "store_unable" | "store_unreachable" | "store_unreadable" | "store_unsafe" | "text_too_long" | "unauthenticated" | "unknown_choice" | "version_conflict" | "unexpected";
  /** The same as `detail`: every surface has it. */
  error: string;
  /** What can be done about it. */
  remedy: string;
  /** Whether the same request may succeed later. */
  retryable: boolean;
  /** What waits for a yes. */
  preview?: { [name: string]: unknown };
}

export interface PromoteRequest {
  tier?: string | null;
}

/**
 * Two memories that may say the same (`merge`), or cannot both be true (`conflict`); `second` is the newer one.
 * `number` is what `accept` and `reject` take. `text` is what one memory for both would say, where that is
 * known.
 */
export interface Proposal {
  number: number;
  kind: "merge" | "conflict";
  first: MemoryRecord;
  second: MemoryRecord;
  reasons: string[];
  cosine: number | null;
  text: string | null;
  created_at: string;
}

/**
 * The hits, best first, and how they were found: `mode` and `notes` say what was missing, if anything. No hit
 * is below `min_relevance`; where nothing is left, `nearest` is what came nearest.
 */
export interface Recall {
  hits: Hit[];
  mode: "hybrid" | "keyword" | "vector" | "time" | "none";
  notes: string[];
  constitutional: MemoryRecord[];
  min_relevance: number;
  nearest: Hit | null;
  compared: Compared;
}

export interface RecallDetailRequest {
  refs: number | string | (number | string)[];
  level?: "index" | "abstract" | "full";
}

export interface RecallRequest {
  query?: string | null;
  concepts?: string[] | null;
  limit?: number;
  namespaces?: string[] | null;
  recipe?: string | null;
  as_of?: string | null;
  known_at?: string | null;
  use_decay?: boolean | null;
  min_relevance?: number | null;
  include_constitutional?: boolean;
  tags?: string | string[];
  category?: string | string[] | null;
  source?: string | string[] | null;
  context_type?: string | null;
  tier?: string | null;
  source_project?: string | null;
  spec_folder?: string | null;
  conversation_id?: string | null;
  key_type?: string | null;
  where?: { [name: string]: string | number | boolean | (string | number | boolean | null)[] | null } | null;
  min_importance?: number | null;
  max_importance?: number | null;
  since?: string | null;
  until?: string | null;
  when?: string | null;
  states?: "active" | "superseded" | "merged" | "deleted" | "expired" | "evicted" | ("active" | "superseded" | "merged" | "deleted" | "expired" | "evicted")[];
}

/** One memory as it is now. `seq` is the position in its namespace's log of the revision that made it so. */
export interface MemoryRecord {
  id: string;
  number: number;
  namespace: string;
  key: string | null;
  content_hash: string;
  version: number;
  seq: number;
  text: string;
  title: string | null;
  abstract: string | null;
  summary: string | null;
  reasoning: string | null;
  category: string | null;
  context_type: string;
  tags: string[];
  keywords: string[];
  references: string[];
  trigger_phrases: string[];
  metadata: { [name: string]: unknown };
  source: string;
  source_project: string | null;
  conversation_id: string | null;
  session_id: string | null;
  channel: string | null;
  spec_folder: string | null;
  file_path: string | null;
  anchor_id: string | null;
  evidence: string[];
  supersedes: string[];
  merged_from: string[];
  trust: string;
  tier: string;
  importance: number;
  confidence: number;
  observation_count: number;
  validation_count: number;
  recall_count: number;
  recalled_at: string | null;
  access_count: number;
  accessed_at: string | null;
  created_at: string;
  updated_at: string;
  valid_at: string | null;
  invalid_at: string | null;
  expires_at: string | null;
  state: "active" | "superseded" | "merged" | "deleted" | "expired" | "evicted";
}

export interface RememberRequest {
  text: string;
  title?: string | null;
  abstract?: string | null;
  summary?: string | null;
  reasoning?: string | null;
  category?: string | null;
  context_type?: string;
  tags?: string[];
  keywords?: string[];
  references?: string[];
  trigger_phrases?: string[];
  metadata?: { [name: string]: unknown } | null;
  source?: string;
  source_project?: string | null;
  conversation_id?: string | null;
  session_id?: string | null;
  channel?: string | null;
  spec_folder?: string | null;
  file_path?: string | null;
  anchor_id?: string | null;
  evidence?: string[];
  trust?: string;
  tier?: string;
  importance?: number;
  confidence?: number | "high" | "medium" | "low";
  valid_at?: string | null;
  invalid_at?: string | null;
  expires_at?: string | null;
  key?: string | null;
}

/**
 * What a write did: the record as it is now, and everything else that happened on the way. `vector_pending`
 * says that this call left the vector for later: the memory is found by keyword until `work` ran. `batch` is
 * None when nothing was written. `evicted` had to go because the namespace was full; of several memories that
 * one call restored, the last one names them. `offered` is the tier that `promote` would give it. `contradicts`
 * are the memories near to it that cannot be true together with it.
 */
export interface Remembered {
  record: MemoryRecord;
  outcome: "inserted" | "observed" | "updated" | "annotated" | "validated" | "promoted" | "unchanged" | "repeated";
  batch: string | null;
  vector_pending: boolean;
  notes: string[];
  evicted: MemoryRecord[];
  offered: string | null;
  contradicts: Contradiction[];
}

export interface RestoreCheckpointRequest {
  clear_existing?: boolean;
  dry_run?: boolean;
}

export interface RestoreRequest {
  refs: number | string | (number | string)[];
}

export interface RetryParkedRequest {
  ids?: number[] | null;
}

/**
 * What `undo` or `restore_checkpoint` did. `reverted` are the numbers of memories that are as they were,
 * `removed` of those that did not exist then; undoing `batch` takes it back. It is None when nothing was
 * written. Numbers are of one namespace: with several, `parts` has a result of its own for each in which
 * something was done.
 */
export interface RevertResult {
  batch: string | null;
  reverted: number[];
  removed: number[];
  skipped: Skipped[];
  notes: string[];
  parts: { [name: string]: RevertResult };
}

/** One line of the log. `record` is None once its payload was erased; the chain stays provable without it. */
export interface Revision {
  namespace: string;
  seq: number;
  memory: string;
  number: number;
  version: number;
  change: Change;
  digest: string;
  hash: string;
  record: MemoryRecord | null;
}

export interface SaveMemoryRequest {
  text: string;
  role?: string | null;
  title?: string | null;
  abstract?: string | null;
  summary?: string | null;
  reasoning?: string | null;
  category?: string | null;
  context_type?: string;
  tags?: string[];
  keywords?: string[];
  references?: string[];
  trigger_phrases?: string[];
  metadata?: { [name: string]: unknown } | null;
  source?: string;
  source_project?: string | null;
  conversation_id?: string | null;
  session_id?: string | null;
  channel?: string | null;
  spec_folder?: string | null;
  file_path?: string | null;
  anchor_id?: string | null;
  evidence?: string[];
  trust?: string;
  tier?: string;
  importance?: number;
  confidence?: number | "high" | "medium" | "low";
  valid_at?: string | null;
  invalid_at?: string | null;
  expires_at?: string | null;
  key?: string | null;
}

/**
 * What `save_memory` did. `record` is the active memory that holds the text now. `outcome` is `observed` when
 * the text was known to the letter, `merged` when it became one with others, which are `absorbed`, else
 * `inserted`. `steps` are the memories it was compared with, `searches` how often the namespace was searched
 * for them, `asked` how often a language model was asked, `proposals` the numbers of what a person decides.
 */
export interface Saved {
  record: MemoryRecord;
  outcome: "inserted" | "observed" | "merged";
  batch: string | null;
  absorbed: MemoryRecord[];
  steps: MergeStep[];
  proposals: number[];
  searches: number;
  asked: number;
  vector_pending: boolean;
  evicted: MemoryRecord[];
  notes: string[];
}

/** A memory as `search` lists it. */
export interface SearchResult {
  id: string;
  title: string;
  url: string;
}

export interface SeveralMemories {
  refs: (number | string)[];
}

/**
 * One reason for a hit. `contribution` = weight x normalised; the contributions add up to the score, or where
 * that is the relevance, to the evidence in log-odds from which it follows. `about` says in words what was
 * compared, where the question alone does not: which time it was read as, and by which memory. `passage` says
 * from which to which character of a long memory its meaning comes nearest to the question.
 */
export interface Signal {
  raw: number;
  rank: number | null;
  normalised: number;
  weight: number;
  contribution: number;
  about: string;
  passage: number[] | null;
}

/** A memory that could not be brought back, and why. */
export interface Skipped {
  number: number;
  reason: string;
}

export interface SuggestRequest {
  prompt: string;
  limit?: number;
  namespaces?: string[] | null;
  without?: string[];
  told_in?: string[];
}

/**
 * Why a prompt brings a memory to mind: the trigger `phrase` that stands in it, or how well the memory fits it,
 * with what speaks for that.
 */
export interface SuggestedBy {
  phrase: string | null;
  relevance: number | null;
  explain: { [name: string]: Signal };
}

/**
 * What a prompt brings to mind, the best first; `why` says it for each of them. A server of version 0.2 does
 * not say why.
 */
export interface Suggestions {
  records: MemoryRecord[];
  why: SuggestedBy[];
}

export interface SummarizeRequest {
  scope?: string | null;
  token_limit?: number;
  tags?: string | string[];
  category?: string | string[] | null;
  source?: string | string[] | null;
  context_type?: string | null;
  tier?: string | null;
  source_project?: string | null;
  spec_folder?: string | null;
  conversation_id?: string | null;
  key_type?: string | null;
  where?: { [name: string]: string | number | boolean | (string | number | boolean | null)[] | null } | null;
  min_importance?: number | null;
  max_importance?: number | null;
  since?: string | null;
  until?: string | null;
  when?: string | null;
  states?: "active" | "superseded" | "merged" | "deleted" | "expired" | "evicted" | ("active" | "superseded" | "merged" | "deleted" | "expired" | "evicted")[];
}

/**
 * A text within its budget, and the memories it was made from. `omitted_count` counts those that found no room.
 */
export interface Summary {
  text: string;
  tokens: number;
  budget: number;
  sources: MemoryRecord[];
  omitted_count: number;
  token_counter: string;
  made_by: string;
}

/** One episode, and what was said in it, in order. */
export interface TaskEpisode {
  record: MemoryRecord;
  messages: MemoryRecord[];
}

/**
 * A memory that a prompt brings to mind, the phrase that does it, and how sure that is: 1 when the prompt is
 * the phrase, 0.95 when it holds the phrase word for word, less when words are inflected.
 */
export interface Triggered {
  record: MemoryRecord;
  phrase: string;
  confidence: number;
}

export interface UndoRequest {
  batch?: string | null;
  session?: string | null;
  actor?: string | null;
  since?: string | null;
  force?: boolean;
  dry_run?: boolean;
  all_namespaces?: boolean;
}

export interface UpdateRequest {
  text?: string | null;
  add_tags?: string[];
  remove_tags?: string[];
  title?: string | null;
  abstract?: string | null;
  summary?: string | null;
  reasoning?: string | null;
  category?: string | null;
  context_type?: string;
  tags?: string[];
  keywords?: string[];
  references?: string[];
  trigger_phrases?: string[];
  metadata?: { [name: string]: unknown } | null;
  source?: string;
  source_project?: string | null;
  conversation_id?: string | null;
  session_id?: string | null;
  channel?: string | null;
  spec_folder?: string | null;
  file_path?: string | null;
  anchor_id?: string | null;
  evidence?: string[];
  trust?: string;
  tier?: string;
  importance?: number;
  confidence?: number | "high" | "medium" | "low";
  valid_at?: string | null;
  invalid_at?: string | null;
  expires_at?: string | null;
  key?: string | null;
}

export interface UpsertRequest {
  text: string;
  title?: string | null;
  abstract?: string | null;
  summary?: string | null;
  reasoning?: string | null;
  category?: string | null;
  context_type?: string;
  tags?: string[];
  keywords?: string[];
  references?: string[];
  trigger_phrases?: string[];
  metadata?: { [name: string]: unknown } | null;
  source?: string;
  source_project?: string | null;
  conversation_id?: string | null;
  session_id?: string | null;
  channel?: string | null;
  spec_folder?: string | null;
  file_path?: string | null;
  anchor_id?: string | null;
  evidence?: string[];
  trust?: string;
  tier?: string;
  importance?: number;
  confidence?: number | "high" | "medium" | "low";
  valid_at?: string | null;
  invalid_at?: string | null;
  expires_at?: string | null;
}

export interface ValidateRequest {
  useful: boolean;
}

/**
 * One version of a memory: `record` as that version last was, None once it was erased. `lineage` are the
 * versions it was made from, oldest first; one that was taken back by an undo is in no other's.
 */
export interface Version {
  memory: string;
  number: number;
  version: number;
  record: MemoryRecord | null;
  lineage: number[];
  change: Change;
  current: boolean;
  taken_back: boolean;
}

export interface WorkRequest {
  limit?: number | null;
  purge?: boolean | null;
  drop_old_vectors?: boolean;
}

/** A memory on a server: the verbs of `perdure serve`, in one namespace of it. */
export class Perdure {
  private readonly server: Connection;

  constructor(server: ServerOptions) {
    this.server = new Connection(server, /\/(diff|history|promote|restore|validate|versions)(\/|$)/);
  }

  /** Whether the server answers. */
  healthz(options: Options = {}): Promise<{ [name: string]: "ok" }> {
    return this.server.ask({ method: "GET", path: "/healthz", repeats: true }, options);
  }

  /**
   * Store a memory. The same text again is one more observation of the same memory (200); under the same `key`
   * another text makes a new version.
   */
  remember(given: RememberRequest, options: Options & Keyed = {}): Promise<Remembered> {
    return this.server.ask({ method: "POST", path: "/v1/memories", body: given, repeats: true, keyed: true }, options);
  }

  /** List memories by all filters that recall has. */
  list(given: ListRequest = {}, options: Options = {}): Promise<Page> {
    return this.server.ask({ method: "POST", path: "/v1/list", body: given, repeats: true }, options);
  }

  /**
   * Get several memories, in as much detail as needed. If one of them does not exist, the whole request fails.
   */
  recallDetail(given: RecallDetailRequest, options: Options = {}): Promise<{ details: Detail[]; }> {
    return this.server.ask({ method: "POST", path: "/v1/details", body: given, repeats: true }, options);
  }

  /** Bring several memories back, all or none. */
  restoreAll(given: RestoreRequest, options: Options = {}): Promise<{ remembered: Remembered[]; }> {
    return this.server.ask({ method: "POST", path: "/v1/restore", body: given }, options);
  }

  /** List the memories that wait for a person. To be promoted, newest first. */
  offers(given: { limit?: number; cursor?: number | null } = {}, options: Options = {}): Promise<Page> {
    return this.server.ask({ method: "GET", path: "/v1/offers", query: given, repeats: true }, options);
  }

  /** Get what every recall surfaces. */
  constitution(options: Options = {}): Promise<Constitution> {
    return this.server.ask({ method: "GET", path: "/v1/constitution", repeats: true }, options);
  }

  /**
   * Store a memory under a key. The first version, or the next one, also when the text is the same and when the
   * memory was forgotten.
   */
  upsert(key: string, given: UpsertRequest, options: Options & Keyed & Guarded = {}): Promise<Remembered> {
    return this.server.ask({ method: "PUT", path: "/v1/keys/{key}", places: { key }, body: given, repeats: true, keyed: true }, options);
  }

  /** Get one version of a memory. */
  version(ref: string | number, n: number, options: Options = {}): Promise<Version> {
    return this.server.ask({ method: "GET", path: "/v1/memories/{ref}/versions/{n}", places: { ref, n }, repeats: true }, options);
  }

  /** List the versions of a memory. */
  versions(ref: string | number, options: Options = {}): Promise<{ versions: Version[]; }> {
    return this.server.ask({ method: "GET", path: "/v1/memories/{ref}/versions", places: { ref }, repeats: true }, options);
  }

  /** List everything that happened to a memory. */
  history(ref: string | number, options: Options = {}): Promise<{ revisions: Revision[]; }> {
    return this.server.ask({ method: "GET", path: "/v1/memories/{ref}/history", places: { ref }, repeats: true }, options);
  }

  /**
   * Compare two versions of a memory. Without numbers, the current version with the one that it was made from.
   */
  diff(ref: string | number, given: { before?: number | null; after?: number | null } = {}, options: Options = {}): Promise<Diff> {
    return this.server.ask({ method: "GET", path: "/v1/memories/{ref}/diff", places: { ref }, query: given, repeats: true }, options);
  }

  /** Bring a forgotten memory back. */
  restore(ref: string | number, options: Options = {}): Promise<Remembered> {
    return this.server.ask({ method: "POST", path: "/v1/memories/{ref}/restore", places: { ref } }, options);
  }

  /** Say whether a memory was useful. */
  validate(ref: string | number, given: ValidateRequest, options: Options = {}): Promise<Remembered> {
    return this.server.ask({ method: "POST", path: "/v1/memories/{ref}/validate", places: { ref }, body: given }, options);
  }

  /**
   * Give a memory another tier. Only a person makes one constitutional. Without a tier, it is the one that is
   * on offer.
   */
  promote(ref: string | number, given: PromoteRequest = {}, options: Options = {}): Promise<Remembered> {
    return this.server.ask({ method: "POST", path: "/v1/memories/{ref}/promote", places: { ref }, body: given }, options);
  }

  /**
   * Get a memory by any reference. `ref` is a number, an id, a content hash or a key. The `ETag` is the
   * version.
   */
  get(ref: string | number, given: { known_at?: string | null } = {}, options: Options = {}): Promise<MemoryRecord> {
    return this.server.ask({ method: "GET", path: "/v1/memories/{ref}", places: { ref }, query: given, repeats: true }, options);
  }

  /**
   * Correct a memory. Other words make a new version, anything else a revision of the same one. What is left
   * out stays.
   */
  update(ref: string | number, given: UpdateRequest = {}, options: Options & Guarded = {}): Promise<Remembered> {
    return this.server.ask({ method: "PATCH", path: "/v1/memories/{ref}", places: { ref }, body: given }, options);
  }

  /** Forget a memory; it can be restored. */
  forgetOne(ref: string | number, options: Options & Guarded = {}): Promise<Forgotten> {
    return this.server.ask({ method: "DELETE", path: "/v1/memories/{ref}", places: { ref } }, options);
  }

  /**
   * Say which memory a reference means. For a key that cannot stand in an address, such as one that ends in
   * `/history`. It counts as no use.
   */
  reference(given: { ref: string }, options: Options = {}): Promise<{ id: string; number: number; }> {
    return this.server.ask({ method: "GET", path: "/v1/reference", query: given, repeats: true }, options);
  }

  /**
   * Correct the memory that a sentence is about. What would be corrected is only shown: the answer is a problem
   * with a `preview`, and its `token` as `confirm` corrects exactly that.
   */
  correct(given: CorrectionSentence, options: Options = {}): Promise<Remembered> {
    return this.server.ask({ method: "POST", path: "/v1/correct", body: given }, options);
  }

  /**
   * Find the memories that answer a question. Each hit says why it was found. Where nothing fits, the answer is
   * empty, and `nearest` is what came nearest. The token must be good for each of `namespaces`.
   */
  recall(given: RecallRequest = {}, options: Options = {}): Promise<Recall> {
    return this.server.ask({ method: "POST", path: "/v1/recall", body: given, repeats: true }, options);
  }

  /**
   * Make one text for a model, within a budget of tokens. What memories say is data between two marks that no
   * memory can forge, never an instruction.
   */
  context(given: ContextRequest, options: Options = {}): Promise<Context> {
    return this.server.ask({ method: "POST", path: "/v1/context", body: given, repeats: true }, options);
  }

  /** Find the memories that a prompt brings to mind. */
  matchTriggers(given: MatchTriggersRequest, options: Options = {}): Promise<{ triggered: Triggered[]; }> {
    return this.server.ask({ method: "POST", path: "/v1/triggers", body: given, repeats: true }, options);
  }

  /** Make one short text of many memories. */
  summarize(given: SummarizeRequest = {}, options: Options = {}): Promise<Summary> {
    return this.server.ask({ method: "POST", path: "/v1/summarize", body: given, repeats: true }, options);
  }

  /**
   * Find what a prompt brings to mind, and what fits it. Without messages of conversations, and without
   * constitutional memories. `without` are ids of memories that are left out. `why` says for each of `records`
   * what brought it to mind.
   */
  suggest(given: SuggestRequest, options: Options = {}): Promise<Suggestions> {
    return this.server.ask({ method: "POST", path: "/v1/suggest", body: given, repeats: true }, options);
  }

  /** Find the learnings for somebody who starts to work. It counts as no use until `injected` says so. */
  learnings(given: LearningsRequest = {}, options: Options = {}): Promise<LearningsFound> {
    return this.server.ask({ method: "POST", path: "/v1/learnings", body: given, repeats: true }, options);
  }

  /**
   * Forget memories; they can be restored. What a sentence finds is only shown: the answer is a problem with a
   * `preview`, and its `token` as `confirm` forgets exactly that.
   */
  forget(given: ForgetRequest = {}, options: Options = {}): Promise<Forgotten> {
    return this.server.ask({ method: "POST", path: "/v1/forget", body: given }, options);
  }

  /**
   * Remove memories for ever, from every file. Only a person may. Nothing brings them back, so the first answer
   * is a problem with a `preview`, also for one memory, and its `token` as `confirm` erases exactly that.
   */
  erase(given: EraseRequest = {}, options: Options = {}): Promise<Forgotten> {
    return this.server.ask({ method: "POST", path: "/v1/erase", body: given }, options);
  }

  /** Count that memories were put before a model. Each is one recall. */
  injected(given: SeveralMemories, options: Options = {}): Promise<{ count: number; }> {
    return this.server.ask({ method: "POST", path: "/v1/injected", body: given, repeats: true }, options);
  }

  /** Search, for clients that know `search` and `fetch`. `results`, each with the `id` that `fetch` takes. */
  search(given: { query: string; limit?: number }, options: Options = {}): Promise<{ results: SearchResult[]; }> {
    return this.server.ask({ method: "GET", path: "/v1/search", query: given, repeats: true }, options);
  }

  /** Get what `search` found. */
  fetch(given: { id: string }, options: Options = {}): Promise<{ id: string; title: string; url: string; text: string; metadata: { [name: string]: unknown }; }> {
    return this.server.ask({ method: "GET", path: "/v1/fetch", query: given, repeats: true }, options);
  }

  /** List the ids of the conversations. */
  conversations(options: Options = {}): Promise<{ conversations: string[]; }> {
    return this.server.ask({ method: "GET", path: "/v1/conversations", repeats: true }, options);
  }

  /** List the last messages. In the order in which they were said. */
  messages(id: string, given: { limit?: number; episode?: string | null } = {}, options: Options = {}): Promise<Page> {
    return this.server.ask({ method: "GET", path: "/v1/conversations/{id}/messages", places: { id }, query: given, repeats: true }, options);
  }

  /** Store what somebody said. */
  addMessage(id: string, given: Message, options: Options & Keyed = {}): Promise<Remembered> {
    return this.server.ask({ method: "POST", path: "/v1/conversations/{id}/messages", places: { id }, body: given, repeats: true, keyed: true }, options);
  }

  /** Store several messages, all or none. */
  addMessages(id: string, given: NewMessages, options: Options = {}): Promise<Imported> {
    return this.server.ask({ method: "POST", path: "/v1/conversations/{id}/batch", places: { id }, body: given }, options);
  }

  /**
   * Say that nothing follows for now. The next work learns from what was said, without waiting for silence.
   * False where that was known.
   */
  end(id: string, options: Options = {}): Promise<{ ended: boolean; }> {
    return this.server.ask({ method: "POST", path: "/v1/conversations/{id}/end", places: { id } }, options);
  }

  /** Take over conversations that were written down elsewhere. What is stored already is not stored again. */
  importMessages(given: MessagesImport = {}, options: Options = {}): Promise<Imported> {
    return this.server.ask({ method: "POST", path: "/v1/messages", body: given }, options);
  }

  /** List or search the episodes of conversations. With a `query` the best first, else the newest first. */
  episodes(given: { query?: string | null; conversation_id?: string | null; limit?: number; cursor?: number | null } = {}, options: Options = {}): Promise<Recall | Page> {
    return this.server.ask({ method: "GET", path: "/v1/episodes", query: given, repeats: true }, options);
  }

  /**
   * Make facts of the episodes that wait. Facts are added, get more evidence, or end and are superseded; none
   * is deleted. Undo takes it back.
   */
  consolidate(given: ConsolidateRequest = {}, options: Options = {}): Promise<Consolidation> {
    return this.server.ask({ method: "POST", path: "/v1/consolidate", body: given }, options);
  }

  /** Find facts by all filters that recall has. */
  facts(given: FactsRequest = {}, options: Options = {}): Promise<{ facts: Fact[]; }> {
    return this.server.ask({ method: "POST", path: "/v1/facts", body: given, repeats: true }, options);
  }

  /**
   * Store a memory, and merge it with what says the same. What contradicts it is never merged. One undo takes
   * everything back. `role` is who said it.
   */
  saveMemory(given: SaveMemoryRequest, options: Options = {}): Promise<Saved> {
    return this.server.ask({ method: "POST", path: "/v1/save", body: given }, options);
  }

  /**
   * Hand out episodes that wait, for an agent to consolidate. `task` is null when nothing waits. Nothing is
   * written.
   */
  openConsolidation(given: OpenConsolidationRequest = {}, options: Options = {}): Promise<{ task: ConsolidationTask | null; }> {
    return this.server.ask({ method: "POST", path: "/v1/consolidation", body: given, repeats: true }, options);
  }

  /**
   * Take back what became of a task. It is a conflict when the episodes were consolidated, or changed, since.
   * `token` is the task's, `actions` are as its schema says.
   */
  finishConsolidation(given: FinishConsolidationRequest, options: Options = {}): Promise<Consolidation> {
    return this.server.ask({ method: "POST", path: "/v1/consolidation/finish", body: given }, options);
  }

  /** List what a model said that could not be used. */
  parked(options: Options = {}): Promise<{ parked: { [name: string]: unknown }[]; }> {
    return this.server.ask({ method: "GET", path: "/v1/parked", repeats: true }, options);
  }

  /** Ask the model again about what is parked. Without ids, about all of it. */
  retryParked(given: RetryParkedRequest = {}, options: Options = {}): Promise<ParkedRetry> {
    return this.server.ask({ method: "POST", path: "/v1/parked/retry", body: given }, options);
  }

  /** Throw away what is parked. Without ids, all of it. Memories stay as they are. */
  discardParked(given: DiscardParkedRequest = {}, options: Options = {}): Promise<{ discarded: number[]; }> {
    return this.server.ask({ method: "POST", path: "/v1/parked/discard", body: given }, options);
  }

  /**
   * List the pairs of memories that cannot both be true. Until somebody has decided: `/v1/review` accepts and
   * rejects. `uncompared` memories wait for being compared; it is null if nothing was compared.
   */
  conflicts(given: { limit?: number } = {}, options: Options = {}): Promise<{ proposals: Proposal[]; uncompared: number | null; }> {
    return this.server.ask({ method: "GET", path: "/v1/conflicts", query: given, repeats: true }, options);
  }

  /** List what waits for a person. Pairs of memories that may say the same, or cannot both be true. */
  review(given: { kind?: string | null; limit?: number } = {}, options: Options = {}): Promise<{ proposals: Proposal[]; }> {
    return this.server.ask({ method: "GET", path: "/v1/review", query: given, repeats: true }, options);
  }

  /**
   * Do what is proposed. Only a person may. Of two that cannot both be true, `keep` names the one that stays;
   * else it is the newer.
   */
  accept(number: number, given: AcceptRequest = {}, options: Options = {}): Promise<Decision> {
    return this.server.ask({ method: "POST", path: "/v1/review/{number}/accept", places: { number }, body: given }, options);
  }

  /**
   * Leave both memories as they are. Only a person may. The pair is not proposed again, unless one of the two
   * changes.
   */
  reject(number: number, options: Options = {}): Promise<Decision> {
    return this.server.ask({ method: "POST", path: "/v1/review/{number}/reject", places: { number } }, options);
  }

  /** List who did what, newest first. `next` is the `cursor` of the following page, or null at the end. */
  log(given: { batch?: string | null; session?: string | null; actor?: string | null; operation?: "insert" | "observe" | "update" | "annotate" | "validate" | "promote" | "forget" | "restore" | "expire" | "evict" | "undo" | "rewind" | "erase" | null; since?: string | null; until?: string | null; cursor?: number | null; limit?: number } = {}, options: Options = {}): Promise<{ revisions: Revision[]; next: number | null; }> {
    return this.server.ask({ method: "GET", path: "/v1/log", query: given, repeats: true }, options);
  }

  /**
   * Take back what one call, one session or one actor did. If others changed one of the memories since, it is a
   * conflict and nothing happens, unless `force` is given.
   */
  undo(given: UndoRequest = {}, options: Options = {}): Promise<{ batch: string | null; reverted: number[]; removed: number[]; skipped: Skipped[]; notes: string[]; parts: { [name: string]: RevertResult }; done: boolean; }> {
    return this.server.ask({ method: "POST", path: "/v1/undo", body: given }, options);
  }

  /** List the checkpoints, newest first. Those of all namespaces are for a token that is good for all. */
  checkpoints(given: { spec_folder?: string | null; limit?: number } = {}, options: Options = {}): Promise<{ checkpoints: Checkpoint[]; }> {
    return this.server.ask({ method: "GET", path: "/v1/checkpoints", query: given, repeats: true }, options);
  }

  /** Give the present state a name. */
  checkpoint(given: CheckpointRequest, options: Options = {}): Promise<Checkpoint> {
    return this.server.ask({ method: "POST", path: "/v1/checkpoints", body: given }, options);
  }

  /**
   * Go back to a checkpoint. What came later stays, unless `clear_existing` removes it. The answer's batch
   * undoes it.
   */
  restoreCheckpoint(name: string, given: RestoreCheckpointRequest = {}, options: Options = {}): Promise<{ batch: string | null; reverted: number[]; removed: number[]; skipped: Skipped[]; notes: string[]; parts: { [name: string]: RevertResult }; done: boolean; }> {
    return this.server.ask({ method: "POST", path: "/v1/checkpoints/{name}/restore", places: { name }, body: given }, options);
  }

  /** Delete the name of a state; the memories stay. */
  deleteCheckpoint(name: string, options: Options = {}): Promise<Checkpoint> {
    return this.server.ask({ method: "DELETE", path: "/v1/checkpoints/{name}", places: { name } }, options);
  }

  /**
   * Follow what changes, as server-sent events. The event's name is the operation, its data says which memory,
   * which version, who and when, without the text. Without a last id it begins with what happens next. A token
   * may have 8 streams open; one more is 429.
   */
  events(given: { after?: number | null } = {}, options: Options = {}): AsyncGenerator<ChangeEvent> {
    return this.server.events({ method: "GET", path: "/v1/events", query: given, repeats: true }, options);
  }

  /**
   * Count what is stored, by namespace. About the namespaces that the token is good for. A token for all
   * namespaces also gets the facts about the file.
   */
  stats(options: Options = {}): Promise<{ namespaces: NamespaceStats[]; path?: string; engine?: string; schema?: number; bytes?: number; generations?: { [name: string]: unknown }[]; }> {
    return this.server.ask({ method: "GET", path: "/v1/stats", repeats: true }, options);
  }

  /** Say how full the namespace is. */
  capacity(options: Options = {}): Promise<Capacity> {
    return this.server.ask({ method: "GET", path: "/v1/capacity", repeats: true }, options);
  }

  /**
   * Set the limits of the namespace. Only a person may. A lower limit evicts nothing by itself: the next write
   * makes room. What is left out stays as it is; 0 or null removes the limit of this namespace.
   */
  setCapacity(given: CapacityRequest = {}, options: Options = {}): Promise<Capacity> {
    return this.server.ask({ method: "PATCH", path: "/v1/capacity", body: given }, options);
  }

  /** List what left the server's machine. Every request to a model elsewhere, without a word of any text. */
  egress(given: { since?: string | null; limit?: number } = {}, options: Options = {}): Promise<{ calls: { [name: string]: unknown }[]; days: EgressDay[]; allowed: string[]; today: BudgetState; }> {
    return this.server.ask({ method: "GET", path: "/v1/egress", query: given, repeats: true }, options);
  }

  /** Do what is outstanding, such as missing vectors. */
  work(given: WorkRequest = {}, options: Options = {}): Promise<MaintenanceResult> {
    return this.server.ask({ method: "POST", path: "/v1/work", body: given }, options);
  }

  /** Say what the token allows, and who it writes as. `granted_namespaces` is null where it is good for all. */
  whoami(options: Options = {}): Promise<{ actor: string; token_id: string; scopes: string[]; granted_namespaces: string[] | null; writer: string; expires_at: string | null; }> {
    return this.server.ask({ method: "GET", path: "/v1/whoami", repeats: true }, options);
  }

  /**
   * Take over memories that an export wrote. One bad record, and none is stored. Only the token of a person may
   * call them trusted.
   */
  importMemories(given: ImportRequest = {}, options: Options = {}): Promise<Imported> {
    return this.server.ask({ method: "POST", path: "/v1/import", body: given }, options);
  }

  /**
   * Stream the namespace as JSON Lines. What `perdure export` writes. The last line is whole only if the stream
   * ended by itself.
   */
  export(given: { state?: ("active" | "superseded" | "merged" | "deleted" | "expired" | "evicted")[] } = {}, options: Options = {}): AsyncGenerator<unknown> {
    return this.server.values({ method: "GET", path: "/v1/export", query: given, repeats: true }, options);
  }

  /** Figures for Prometheus. */
  metrics(options: Options = {}): Promise<string> {
    return this.server.text({ method: "GET", path: "/metrics", repeats: true }, options);
  }
}
