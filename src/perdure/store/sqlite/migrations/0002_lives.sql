-- Limits, checkpoints, and the indexes that the lives of a memory need.

ALTER TABLE namespace ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE namespace ADD COLUMN max_items INTEGER;
ALTER TABLE namespace ADD COLUMN max_tokens INTEGER;

-- Of the text, as counted when it was written; characters / 4 for what was there before. Without the trigger, which
-- would write the full-text index anew for every memory.
DROP TRIGGER entry_update;
ALTER TABLE entry ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0;
UPDATE entry
SET tokens = coalesce((SELECT (length(memory.text) + 3) / 4 FROM memory WHERE memory.slot = entry.slot), 0);
UPDATE namespace SET tokens = coalesce(
    (SELECT sum(tokens) FROM entry WHERE slot BETWEEN namespace.id << 32 AND namespace.id << 32 | 4294967295), 0
);
CREATE TRIGGER entry_update AFTER UPDATE ON entry BEGIN
    INSERT INTO entry_fts (entry_fts, rowid, title, text, keywords, reasoning, tags, anchor, folder)
    VALUES ('delete', old.slot, old.title, old.text, old.keywords, old.reasoning, old.tags, old.anchor, old.folder);
    INSERT INTO entry_fts (rowid, title, text, keywords, reasoning, tags, anchor, folder)
    VALUES (new.slot, new.title, new.text, new.keywords, new.reasoning, new.tags, new.anchor, new.folder);
END;

-- With the version in it, so that the highest one of a memory is found without reading its history.
DROP INDEX revision_number;
CREATE INDEX revision_version ON revision (namespace, number, version);
CREATE INDEX revision_session ON revision (namespace, session) WHERE session IS NOT NULL;

CREATE INDEX memory_constitutional ON memory (namespace) WHERE tier = 'constitutional' AND state = 'active';
CREATE INDEX memory_folder ON memory (namespace, spec_folder, state) WHERE spec_folder IS NOT NULL;
CREATE INDEX memory_evicted ON memory (namespace) WHERE state = 'evicted';
CREATE INDEX memory_triggers ON memory (namespace)
WHERE trigger_phrases IS NOT NULL AND state = 'active' AND tier <> 'deprecated';
-- All that eviction looks at, the oldest first.
CREATE INDEX memory_age ON memory (namespace, state, updated_at, importance, tier)
WHERE state IN ('active', 'superseded');

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

-- Removing words one by one made a correction cost two and a half times an insert. They go when something is erased,
-- all at once: see scrub.py.
INSERT INTO entry_fts (entry_fts, rank) VALUES ('secure-delete', 0);
