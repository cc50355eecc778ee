-- What a memory was made of, and what it replaced, are fields of the memory, so that undo, export and repair have them.
-- The table of links is an index over these fields; the links of before were never written by any verb.

ALTER TABLE memory ADD COLUMN supersedes TEXT;
ALTER TABLE memory ADD COLUMN merged_from TEXT;

DROP TABLE link;

-- An index over the fields of the memories that name other memories; `target` is the id of the one that is named.
CREATE TABLE link (
    slot   INTEGER NOT NULL REFERENCES memory (slot) ON DELETE CASCADE,
    kind   TEXT NOT NULL CHECK (kind IN ('evidence', 'supersedes', 'merged_from')),
    target BLOB NOT NULL,
    PRIMARY KEY (slot, kind, target)
) STRICT, WITHOUT ROWID;

CREATE INDEX link_target ON link (target);

-- A memory that was retrieved and has not been reviewed since: when first and last, and its best rank. Written like use.
CREATE TABLE review (
    slot     INTEGER PRIMARY KEY REFERENCES memory (slot) ON DELETE CASCADE,
    first_at INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    rank     INTEGER NOT NULL
) STRICT;
