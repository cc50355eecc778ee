-- The whole store, for a new file. The numbered files in migrations/ lead an old one to the same end; a test compares.
--
-- slot = namespace << 32 | number: the row id of everything that belongs to one memory, so that one namespace is one
-- range of every table and index, the full-text index included. Times are microseconds since 1970, UTC.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value ANY NOT NULL
) STRICT, WITHOUT ROWID;

-- A namespace is never deleted, so its id may be remembered for as long as a store is open.
-- `seq`, `number` and `head` are handed out under this row's lock: gapless and ordered.
-- `documents` and `words` are the index's own statistics, kept so that no search has to count; `vector` is the position
-- of the newest vector of the namespace, so that a recall index sees in one read whether it is fresh. `tokens` is the
-- sum over its entries, kept like `words`; the limits are its own, NULL where it has none.
CREATE TABLE namespace (
    id         INTEGER PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    seq        INTEGER NOT NULL DEFAULT 0,
    number     INTEGER NOT NULL DEFAULT 0,
    head       BLOB NOT NULL,
    documents  INTEGER NOT NULL DEFAULT 0,
    words      INTEGER NOT NULL DEFAULT 0,
    vector     INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    tokens INTEGER NOT NULL DEFAULT 0,
    max_items INTEGER,
    max_tokens INTEGER
) STRICT;

-- The short columns that filters look at stand before the long texts, so that a filter never reads a text's pages.
-- `checksum` covers every other column: a row that was not read as it was written is never served.
CREATE TABLE memory (
    slot              INTEGER PRIMARY KEY,
    namespace         INTEGER NOT NULL REFERENCES namespace (id),
    id                BLOB NOT NULL,
    key               TEXT,
    content_hash      BLOB NOT NULL,
    passage_hash      BLOB NOT NULL,
    version           INTEGER NOT NULL,
    seq               INTEGER NOT NULL,
    state             TEXT NOT NULL,
    tier              TEXT NOT NULL,
    category          TEXT,
    context_type      TEXT NOT NULL,
    source            TEXT NOT NULL,
    source_project    TEXT,
    conversation_id   TEXT,
    session_id        TEXT,
    channel           TEXT,
    spec_folder       TEXT,
    file_path         TEXT,
    anchor_id         TEXT,
    trust             TEXT NOT NULL,
    importance        REAL NOT NULL,
    confidence        REAL NOT NULL,
    observation_count INTEGER NOT NULL,
    validation_count  INTEGER NOT NULL,
    created_at        INTEGER NOT NULL,
    updated_at        INTEGER NOT NULL,
    valid_at          INTEGER,
    invalid_at        INTEGER,
    expires_at        INTEGER,
    checksum          INTEGER NOT NULL,
    text              TEXT NOT NULL,
    title             TEXT,
    abstract          TEXT,
    summary           TEXT,
    reasoning         TEXT,
    tags              TEXT,
    keywords          TEXT,
    "references"      TEXT,
    trigger_phrases   TEXT,
    evidence          TEXT,
    metadata          TEXT,
    supersedes TEXT,
    merged_from TEXT
) STRICT;

CREATE UNIQUE INDEX memory_id ON memory (namespace, id);
CREATE UNIQUE INDEX memory_key ON memory (namespace, key) WHERE key IS NOT NULL;
CREATE INDEX memory_content
ON memory (namespace, content_hash, conversation_id, spec_folder, file_path, anchor_id);
CREATE INDEX memory_passage ON memory (namespace, passage_hash) WHERE state IN ('active', 'superseded');
CREATE INDEX memory_expiry ON memory (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX memory_constitutional ON memory (namespace) WHERE tier = 'constitutional' AND state = 'active';
CREATE INDEX memory_folder ON memory (namespace, spec_folder, state) WHERE spec_folder IS NOT NULL;
CREATE INDEX memory_evicted ON memory (namespace) WHERE state = 'evicted';
CREATE INDEX memory_triggers ON memory (namespace)
WHERE trigger_phrases IS NOT NULL AND state = 'active' AND tier <> 'deprecated';
-- All that eviction looks at, the oldest first.
CREATE INDEX memory_age ON memory (namespace, state, updated_at, importance, tier)
WHERE state IN ('active', 'superseded');

CREATE TABLE tag (
    namespace INTEGER NOT NULL,
    tag       TEXT NOT NULL,
    slot      INTEGER NOT NULL REFERENCES memory (slot) ON DELETE CASCADE,
    PRIMARY KEY (namespace, tag, slot)
) STRICT, WITHOUT ROWID;

CREATE INDEX tag_slot ON tag (slot);

-- The log. `hash` chains over `digest`, and `digest` over salt and body of the payload, which alone may be deleted:
-- without the salt the digest of an erased memory cannot be guessed from its text.
CREATE TABLE revision (
    namespace INTEGER NOT NULL REFERENCES namespace (id),
    seq       INTEGER NOT NULL,
    number    INTEGER NOT NULL,
    memory    BLOB NOT NULL,
    version   INTEGER NOT NULL,
    operation TEXT NOT NULL,
    actor     TEXT NOT NULL,
    surface   TEXT NOT NULL,
    session   TEXT,
    request   TEXT,
    at        INTEGER NOT NULL,
    batch     ANY NOT NULL,
    digest    BLOB NOT NULL,
    hash      BLOB NOT NULL,
    PRIMARY KEY (namespace, seq)
) STRICT, WITHOUT ROWID;

-- With the version in it, so that the highest one of a memory is found without reading its history.
CREATE INDEX revision_version ON revision (namespace, number, version);
CREATE INDEX revision_batch ON revision (namespace, batch);
CREATE INDEX revision_session ON revision (namespace, session) WHERE session IS NOT NULL;
CREATE UNIQUE INDEX revision_request ON revision (namespace, request) WHERE request IS NOT NULL;

-- rowid = namespace << 32 | seq
CREATE TABLE payload (
    id   INTEGER PRIMARY KEY,
    salt BLOB NOT NULL,
    body TEXT NOT NULL
) STRICT;

-- An index over the fields of the memories that name other memories; `target` is the id of the one that is named.
CREATE TABLE link (
    slot   INTEGER NOT NULL REFERENCES memory (slot) ON DELETE CASCADE,
    kind   TEXT NOT NULL CHECK (kind IN ('evidence', 'supersedes', 'merged_from')),
    target BLOB NOT NULL,
    PRIMARY KEY (slot, kind, target)
) STRICT, WITHOUT ROWID;

CREATE INDEX link_target ON link (target);

-- Use is not history: outside revisions and hashes, written in small batches.
CREATE TABLE use (
    slot         INTEGER PRIMARY KEY REFERENCES memory (slot) ON DELETE CASCADE,
    recall_count INTEGER NOT NULL DEFAULT 0,
    recalled_at  INTEGER,
    access_count INTEGER NOT NULL DEFAULT 0,
    accessed_at  INTEGER
) STRICT;

-- A memory that was retrieved and has not been reviewed since: when first and last, and its best rank. Written like use.
CREATE TABLE review (
    slot     INTEGER PRIMARY KEY REFERENCES memory (slot) ON DELETE CASCADE,
    first_at INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    rank     INTEGER NOT NULL
) STRICT;

-- `digest` is an HMAC with the store's secret: a forgotten value leaves no trace that can be guessed.
CREATE TABLE tombstone (
    namespace INTEGER NOT NULL REFERENCES namespace (id),
    digest    BLOB NOT NULL,
    at        INTEGER NOT NULL,
    reason    TEXT NOT NULL,
    PRIMARY KEY (namespace, digest)
) STRICT, WITHOUT ROWID;

-- One vector space. The meta value `serving` is the id of the one whose vectors answer. `unrelated` is the median cosine of
-- unrelated texts with this model; NULL until that was measured.
CREATE TABLE generation (
    id         INTEGER PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    provider   TEXT NOT NULL,
    model      TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    version    TEXT NOT NULL,
    unrelated REAL
) STRICT;

-- A vector belongs to a passage, not to a memory: neither a new model nor a new title can leave one stale.
-- id = namespace << 32 | position: counted per namespace like a number, because recall indexes remember how far they
-- have read. `data` is one vector or, of a passage that was too long for one, several, one behind the other.
CREATE TABLE vector (
    id           INTEGER PRIMARY KEY,
    namespace    INTEGER NOT NULL REFERENCES namespace (id),
    generation   INTEGER NOT NULL REFERENCES generation (id),
    passage_hash BLOB NOT NULL,
    checksum     INTEGER NOT NULL,
    data         BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX vector_passage ON vector (namespace, generation, passage_hash);

-- The text as we normalise it for search. A row is here exactly while its memory may be found. `tokens` are those of the
-- memory's text, as they were counted when it was written.
CREATE TABLE entry (
    slot      INTEGER PRIMARY KEY REFERENCES memory (slot) ON DELETE CASCADE,
    terms     BLOB NOT NULL,
    title     TEXT NOT NULL,
    text      TEXT NOT NULL,
    keywords  TEXT NOT NULL,
    reasoning TEXT NOT NULL,
    tags      TEXT NOT NULL,
    anchor    TEXT NOT NULL,
    folder    TEXT NOT NULL,
    tokens INTEGER NOT NULL DEFAULT 0
) STRICT;

-- detail = none, columnsize = 0: it only says which memories hold a word; the score comes from `terms`. A third of the
-- size of a full one.
CREATE VIRTUAL TABLE entry_fts USING fts5 (
    title, text, keywords, reasoning, tags, anchor, folder,
    content = 'entry', content_rowid = 'slot', detail = none, columnsize = 0,
    tokenize = 'porter unicode61 remove_diacritics 2'
);

CREATE TRIGGER entry_insert AFTER INSERT ON entry BEGIN
    INSERT INTO entry_fts (rowid, title, text, keywords, reasoning, tags, anchor, folder)
    VALUES (new.slot, new.title, new.text, new.keywords, new.reasoning, new.tags, new.anchor, new.folder);
END;

CREATE TRIGGER entry_delete AFTER DELETE ON entry BEGIN
    INSERT INTO entry_fts (entry_fts, rowid, title, text, keywords, reasoning, tags, anchor, folder)
    VALUES ('delete', old.slot, old.title, old.text, old.keywords, old.reasoning, old.tags, old.anchor, old.folder);
END;

CREATE TRIGGER entry_update AFTER UPDATE ON entry BEGIN
    INSERT INTO entry_fts (entry_fts, rowid, title, text, keywords, reasoning, tags, anchor, folder)
    VALUES ('delete', old.slot, old.title, old.text, old.keywords, old.reasoning, old.tags, old.anchor, old.folder);
    INSERT INTO entry_fts (rowid, title, text, keywords, reasoning, tags, anchor, folder)
    VALUES (new.slot, new.title, new.text, new.keywords, new.reasoning, new.tags, new.anchor, new.folder);
END;

-- A named position in the log. `namespace` is 0 for a checkpoint of everything; `positions` is a JSON object of
-- namespace id to seq.
CREATE TABLE checkpoint (
    namespace   INTEGER NOT NULL,
    name        TEXT NOT NULL,
    positions   TEXT NOT NULL,
    memories    INTEGER NOT NULL,
    actor       TEXT NOT NULL,
    spec_folder TEXT,
    description TEXT,
    metadata    TEXT,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (namespace, name)
) STRICT, WITHOUT ROWID;

-- One request that left this machine. It never holds a word of a text.
CREATE TABLE provider_call (
    id             INTEGER PRIMARY KEY,
    at             INTEGER NOT NULL,
    provider       TEXT NOT NULL,
    model          TEXT NOT NULL,
    host           TEXT NOT NULL,
    purpose        TEXT NOT NULL,
    items          INTEGER NOT NULL,
    sent_bytes     INTEGER NOT NULL,
    received_bytes INTEGER NOT NULL,
    input_tokens   INTEGER NOT NULL,
    output_tokens  INTEGER NOT NULL,
    cost           REAL,
    outcome        TEXT NOT NULL
) STRICT;

CREATE INDEX provider_call_at ON provider_call (at);

-- What a language model said that could not be used. `slot` is NULL where it was asked about no memory in particular;
-- otherwise it goes with its memory, because it may say what the memory said.
CREATE TABLE parked (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace INTEGER NOT NULL REFERENCES namespace (id),
    slot      INTEGER REFERENCES memory (slot) ON DELETE CASCADE,
    purpose   TEXT NOT NULL,
    model     TEXT NOT NULL,
    error     TEXT NOT NULL,
    output    TEXT NOT NULL,
    attempts  INTEGER NOT NULL,
    at        INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX parked_slot ON parked (slot, purpose);
CREATE INDEX parked_namespace ON parked (namespace, at);
