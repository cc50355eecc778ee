-- The whole store. Every statement is a transaction of its own and may be run again: some engines commit each DDL
-- statement by itself, and a migration that was cut off goes on where it stopped.
--
-- `perdure.` before the name of a table is the schema; another one may take its place. Every key begins with `namespace`,
-- and there is no sequence, no foreign key and no trigger, so that an engine that spreads the tables over several machines
-- keeps each namespace on one of them. Times are microseconds since 1970, UTC.

CREATE SCHEMA IF NOT EXISTS perdure;

-- `schema` is the number of the last migration; `oldest_program`, the lowest number that a program must know to use it.
CREATE TABLE IF NOT EXISTS perdure.meta (
    name  text COLLATE "C" PRIMARY KEY,
    value bigint NOT NULL
);

-- `namespace` is the first half of the hash that the log begins with, so nobody has to look it up. The row is locked by
-- whoever writes: `seq`, `number`, `vector` and `parked` are handed out under the lock, gapless and ordered. `secret`
-- keys the tombstones. `unversioned` is the last position whose payload was dropped because no versions are kept.
CREATE TABLE IF NOT EXISTS perdure.namespace (
    namespace   uuid PRIMARY KEY,
    name        text COLLATE "C" NOT NULL,
    secret      bytea NOT NULL,
    seq         bigint NOT NULL,
    number      bigint NOT NULL,
    head        bytea NOT NULL,
    documents   bigint NOT NULL,
    words       bigint NOT NULL,
    vector      bigint NOT NULL,
    tokens      bigint NOT NULL,
    parked      bigint NOT NULL,
    repairs     bigint NOT NULL,
    unversioned bigint NOT NULL,
    max_items   bigint,
    max_tokens  bigint,
    created_at  bigint NOT NULL
) /* by namespace */;

-- `checksum` covers every other column: a row that was not read as it was written is never served.
CREATE TABLE IF NOT EXISTS perdure.memory (
    namespace         uuid NOT NULL,
    number            bigint NOT NULL,
    id                uuid NOT NULL,
    content_hash      bytea NOT NULL,
    passage_hash      bytea NOT NULL,
    checksum          bigint NOT NULL,
    key               text COLLATE "C",
    version           bigint NOT NULL,
    seq               bigint NOT NULL,
    state             text COLLATE "C" NOT NULL,
    tier              text COLLATE "C" NOT NULL,
    category          text COLLATE "C",
    context_type      text COLLATE "C" NOT NULL,
    source            text COLLATE "C" NOT NULL,
    source_project    text COLLATE "C",
    conversation_id   text COLLATE "C",
    session_id        text COLLATE "C",
    channel           text COLLATE "C",
    spec_folder       text COLLATE "C",
    file_path         text COLLATE "C",
    anchor_id         text COLLATE "C",
    trust             text COLLATE "C" NOT NULL,
    importance        double precision NOT NULL,
    confidence        double precision NOT NULL,
    observation_count bigint NOT NULL,
    validation_count  bigint NOT NULL,
    created_at        bigint NOT NULL,
    updated_at        bigint NOT NULL,
    valid_at          bigint,
    invalid_at        bigint,
    expires_at        bigint,
    text              text COLLATE "C" NOT NULL,
    title             text COLLATE "C",
    abstract          text COLLATE "C",
    summary           text COLLATE "C",
    reasoning         text COLLATE "C",
    tags              text COLLATE "C",
    keywords          text COLLATE "C",
    "references"      text COLLATE "C",
    trigger_phrases   text COLLATE "C",
    evidence          text COLLATE "C",
    metadata          text COLLATE "C",
    supersedes        text COLLATE "C",
    merged_from       text COLLATE "C",
    PRIMARY KEY (namespace, number)
) /* by namespace */;

CREATE UNIQUE INDEX IF NOT EXISTS memory_id ON perdure.memory (namespace, id);
CREATE UNIQUE INDEX IF NOT EXISTS memory_key ON perdure.memory (namespace, key) WHERE key IS NOT NULL;
CREATE INDEX IF NOT EXISTS memory_content ON perdure.memory (namespace, content_hash);
CREATE INDEX IF NOT EXISTS memory_passage ON perdure.memory (namespace, passage_hash)
WHERE state IN ('active', 'superseded');
CREATE INDEX IF NOT EXISTS memory_constitutional ON perdure.memory (namespace)
WHERE tier = 'constitutional' AND state = 'active';
CREATE INDEX IF NOT EXISTS memory_folder ON perdure.memory (namespace, spec_folder) WHERE spec_folder IS NOT NULL;
CREATE INDEX IF NOT EXISTS memory_evicted ON perdure.memory (namespace) WHERE state = 'evicted';
CREATE INDEX IF NOT EXISTS memory_triggers ON perdure.memory (namespace, number)
WHERE trigger_phrases IS NOT NULL AND state = 'active' AND tier <> 'deprecated';
CREATE INDEX IF NOT EXISTS memory_age ON perdure.memory (namespace, state, updated_at)
WHERE state IN ('active', 'superseded');
-- Maintenance looks for what has expired in all namespaces at once, so this one index does not begin with the namespace.
CREATE INDEX IF NOT EXISTS memory_expiry ON perdure.memory (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE IF NOT EXISTS perdure.tag (
    namespace uuid NOT NULL,
    tag       text COLLATE "C" NOT NULL,
    number    bigint NOT NULL,
    PRIMARY KEY (namespace, tag, number)
) /* by namespace */;

CREATE INDEX IF NOT EXISTS tag_number ON perdure.tag (namespace, number);

-- The words of a memory as `perdure.text.entry` packs them. A row is here exactly while its memory may be found.
CREATE TABLE IF NOT EXISTS perdure.entry (
    namespace uuid NOT NULL,
    number    bigint NOT NULL,
    terms     bytea NOT NULL,
    tokens    bigint NOT NULL,
    PRIMARY KEY (namespace, number)
) /* by namespace */;

-- The log. `hash` chains over `digest`, and `digest` over salt and body of the payload, which alone may be deleted. The
-- role of the application may only read it and add to it.
CREATE TABLE IF NOT EXISTS perdure.revision (
    namespace uuid NOT NULL,
    seq       bigint NOT NULL,
    number    bigint NOT NULL,
    memory    uuid NOT NULL,
    version   bigint NOT NULL,
    operation text COLLATE "C" NOT NULL,
    actor     text COLLATE "C" NOT NULL,
    surface   text COLLATE "C" NOT NULL,
    session   text COLLATE "C",
    request   text COLLATE "C",
    at        bigint NOT NULL,
    batch     text COLLATE "C" NOT NULL,
    digest    bytea NOT NULL,
    hash      bytea NOT NULL,
    PRIMARY KEY (namespace, seq)
) /* by namespace */;

CREATE INDEX IF NOT EXISTS revision_version ON perdure.revision (namespace, number, version);
CREATE INDEX IF NOT EXISTS revision_batch ON perdure.revision (namespace, batch);
CREATE INDEX IF NOT EXISTS revision_session ON perdure.revision (namespace, session) WHERE session IS NOT NULL;
CREATE UNIQUE INDEX IF NOT EXISTS revision_request ON perdure.revision (namespace, request) WHERE request IS NOT NULL;

CREATE TABLE IF NOT EXISTS perdure.payload (
    namespace uuid NOT NULL,
    seq       bigint NOT NULL,
    salt      bytea NOT NULL,
    body      text COLLATE "C" NOT NULL,
    PRIMARY KEY (namespace, seq)
) /* by namespace */;

-- An index over the fields of the memories that name other memories; `target` is the id of the one that is named.
CREATE TABLE IF NOT EXISTS perdure.link (
    namespace uuid NOT NULL,
    number    bigint NOT NULL,
    kind      text COLLATE "C" NOT NULL,
    target    uuid NOT NULL,
    PRIMARY KEY (namespace, number, kind, target)
) /* by namespace */;

CREATE INDEX IF NOT EXISTS link_target ON perdure.link (namespace, target);

-- Use is not history: outside revisions and hashes, written in small batches.
CREATE TABLE IF NOT EXISTS perdure.use (
    namespace    uuid NOT NULL,
    number       bigint NOT NULL,
    recall_count bigint NOT NULL,
    recalled_at  bigint,
    access_count bigint NOT NULL,
    accessed_at  bigint,
    PRIMARY KEY (namespace, number)
) /* by namespace */;

-- A memory that was retrieved and has not been reviewed since: when first and last, and its best rank. Written like use.
CREATE TABLE IF NOT EXISTS perdure.review (
    namespace uuid NOT NULL,
    number    bigint NOT NULL,
    first_at  bigint NOT NULL,
    at        bigint NOT NULL,
    rank      bigint NOT NULL,
    PRIMARY KEY (namespace, number)
) /* by namespace */;

-- `digest` is an HMAC with the namespace's secret: a forgotten value leaves no trace that can be guessed.
CREATE TABLE IF NOT EXISTS perdure.tombstone (
    namespace uuid NOT NULL,
    digest    bytea NOT NULL,
    at        bigint NOT NULL,
    reason    text COLLATE "C" NOT NULL,
    PRIMARY KEY (namespace, digest)
) /* by namespace */;

-- A vector belongs to a passage, not to a memory. `position` is counted per namespace like a number, because recall
-- indexes remember how far they have read. `generation` is the first eight bytes of the hash of the generation's name.
CREATE TABLE IF NOT EXISTS perdure.vector (
    namespace    uuid NOT NULL,
    position     bigint NOT NULL,
    generation   bigint NOT NULL,
    passage_hash bytea NOT NULL,
    checksum     bigint NOT NULL,
    data         bytea NOT NULL,
    PRIMARY KEY (namespace, position)
) /* by namespace */;

CREATE UNIQUE INDEX IF NOT EXISTS vector_passage ON perdure.vector (namespace, generation, passage_hash);

-- A named position in the log. The nil uuid stands for a checkpoint of everything; `positions` is a JSON object of the
-- name of a namespace to its seq.
CREATE TABLE IF NOT EXISTS perdure.checkpoint (
    namespace   uuid NOT NULL,
    name        text COLLATE "C" NOT NULL,
    positions   text COLLATE "C" NOT NULL,
    memories    bigint NOT NULL,
    actor       text COLLATE "C" NOT NULL,
    spec_folder text COLLATE "C",
    description text COLLATE "C",
    metadata    text COLLATE "C",
    created_at  bigint NOT NULL,
    PRIMARY KEY (namespace, name)
) /* by namespace */;

-- What a language model said that could not be used. `number` is 0 where it was asked about no memory in particular.
CREATE TABLE IF NOT EXISTS perdure.parked (
    namespace uuid NOT NULL,
    id        bigint NOT NULL,
    number    bigint NOT NULL,
    purpose   text COLLATE "C" NOT NULL,
    model     text COLLATE "C" NOT NULL,
    error     text COLLATE "C" NOT NULL,
    output    text COLLATE "C" NOT NULL,
    attempts  bigint NOT NULL,
    at        bigint NOT NULL,
    PRIMARY KEY (namespace, id)
) /* by namespace */;

CREATE UNIQUE INDEX IF NOT EXISTS parked_memory ON perdure.parked (namespace, number, purpose) WHERE number > 0;

-- Remarks that the engine keeps: about one namespace, or under the nil uuid about the store as a whole.
CREATE TABLE IF NOT EXISTS perdure.note (
    namespace uuid NOT NULL,
    name      text COLLATE "C" NOT NULL,
    value     text COLLATE "C" NOT NULL,
    PRIMARY KEY (namespace, name)
) /* by namespace */;

-- The tables below belong to no namespace. They are small, and never written in a transaction that writes a namespace.

-- One vector space. `unrelated` is the median cosine of unrelated texts with this model; NULL until that was measured.
CREATE TABLE IF NOT EXISTS perdure.generation (
    id         bigint PRIMARY KEY,
    provider   text COLLATE "C" NOT NULL,
    model      text COLLATE "C" NOT NULL,
    dimensions bigint NOT NULL,
    version    text COLLATE "C" NOT NULL,
    made_at    bigint NOT NULL,
    unrelated  double precision
);

-- One row, 1, with the generation whose vectors answer.
CREATE TABLE IF NOT EXISTS perdure.serving (
    row        bigint PRIMARY KEY CHECK (row = 1),
    generation bigint NOT NULL
);

-- One request that left a machine of the fleet. It never holds a word of a text.
CREATE TABLE IF NOT EXISTS perdure.provider_call (
    at             bigint NOT NULL,
    id             uuid NOT NULL,
    provider       text COLLATE "C" NOT NULL,
    model          text COLLATE "C" NOT NULL,
    host           text COLLATE "C" NOT NULL,
    purpose        text COLLATE "C" NOT NULL,
    items          bigint NOT NULL,
    sent_bytes     bigint NOT NULL,
    received_bytes bigint NOT NULL,
    input_tokens   bigint NOT NULL,
    output_tokens  bigint NOT NULL,
    cost           double precision,
    outcome        text COLLATE "C" NOT NULL,
    PRIMARY KEY (at, id)
);

-- Who does a piece of work now, so that nobody else does it as well; `until` is when that ends by itself.
CREATE TABLE IF NOT EXISTS perdure.lease (
    name  text COLLATE "C" PRIMARY KEY,
    owner text COLLATE "C" NOT NULL,
    until bigint NOT NULL
);
