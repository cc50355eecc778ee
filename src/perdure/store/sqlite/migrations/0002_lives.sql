-- Limits, checkpoints, and the indexes that the lives of a memory need.

ALTER TABLE namespace ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE namespace ADD COLUMN max_items INTEGER;
ALTER TABLE namespace ADD COLUMN max_tokens INTEGER;

-- Of the text, as counted when it was written; characters / 4 for what was there before.
ALTER TABLE entry ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0;
UPDATE entry SET tokens = (SELECT (length(memory.text) + 3) / 4 FROM memory WHERE memory.slot = entry.slot);
UPDATE namespace SET tokens = coalesce(
    (SELECT sum(tokens) FROM entry WHERE slot BETWEEN namespace.id << 32 AND namespace.id << 32 | 4294967295), 0
);

-- With the version in it, so that the highest one of a memory is found without reading its history.
DROP INDEX revision_number;
CREATE INDEX revision_version ON revision (namespace, number, version);
CREATE INDEX revision_session ON revision (namespace, session) WHERE session IS NOT NULL;

CREATE INDEX memory_constitutional ON memory (namespace) WHERE tier = 'constitutional' AND state = 'active';
CREATE INDEX memory_folder ON memory (namespace, spec_folder) WHERE spec_folder IS NOT NULL;
CREATE INDEX memory_evicted ON memory (namespace) WHERE state = 'evicted';

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
