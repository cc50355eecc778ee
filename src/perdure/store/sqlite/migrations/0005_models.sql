-- Models on servers: what was asked of them, what could not be used of their answers, and which model's vectors answer.

-- What unrelated texts reach with this model, as the median of their cosines; NULL until that was measured.
ALTER TABLE generation ADD COLUMN unrelated REAL;

-- The generation with the most vectors is the one that was complete, if any was.
INSERT INTO meta (name, value)
SELECT 'serving', generation
FROM vector GROUP BY generation ORDER BY count(*) DESC, generation DESC LIMIT 1;

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
