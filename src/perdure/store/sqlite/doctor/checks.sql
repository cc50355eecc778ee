-- What doctor asks and what a repair rebuilds.

-- name: integrity
-- SQLite's own look at its pages, indexes and the full-text index's inner consistency.
PRAGMA integrity_check (20);

-- name: foreign_keys
-- Rows whose owner is gone.
PRAGMA foreign_key_check;

-- name: schema
-- Everything but what SQLite makes for itself.
SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!';

-- name: facts
-- What the store says of itself.
SELECT name, value FROM meta ORDER BY name;

-- name: forget_fact
-- One that makes no sense.
DELETE FROM meta WHERE name = ?;

-- name: bad_limits
-- A limit is at least 1.
SELECT name FROM namespace WHERE max_items < 1 OR max_tokens < 1 ORDER BY name;

-- name: lift_bad_limits
-- As above. Without a limit nothing is lost.
UPDATE namespace SET
    max_items = CASE WHEN max_items >= 1 THEN max_items END,
    max_tokens = CASE WHEN max_tokens >= 1 THEN max_tokens END
WHERE max_items < 1 OR max_tokens < 1;

-- name: bad_links
-- From or to memories that the log does not know either; those that it knows may come back.
SELECT coalesce(namespace.name, '?'), link.kind
FROM link LEFT JOIN namespace ON namespace.id = link.namespace
WHERE link.kind NOT IN ('supersedes', 'merged_from', 'evidence', 'references') OR (
    NOT EXISTS (SELECT 1 FROM memory WHERE memory.namespace = link.namespace AND memory.id = link.source)
    AND NOT EXISTS (SELECT 1 FROM revision WHERE revision.namespace = link.namespace AND revision.memory = link.source)
) OR (
    link.kind IN ('supersedes', 'merged_from')
    AND NOT EXISTS (SELECT 1 FROM memory WHERE memory.namespace = link.namespace AND memory.id = link.target)
    AND NOT EXISTS (SELECT 1 FROM revision WHERE revision.namespace = link.namespace AND revision.memory = link.target)
)
ORDER BY link.namespace, link.source;

-- name: delete_bad_links
-- As above, removed.
DELETE FROM link
WHERE link.kind NOT IN ('supersedes', 'merged_from', 'evidence', 'references') OR (
    NOT EXISTS (SELECT 1 FROM memory WHERE memory.namespace = link.namespace AND memory.id = link.source)
    AND NOT EXISTS (SELECT 1 FROM revision WHERE revision.namespace = link.namespace AND revision.memory = link.source)
) OR (
    link.kind IN ('supersedes', 'merged_from')
    AND NOT EXISTS (SELECT 1 FROM memory WHERE memory.namespace = link.namespace AND memory.id = link.target)
    AND NOT EXISTS (SELECT 1 FROM revision WHERE revision.namespace = link.namespace AND revision.memory = link.target)
);

-- name: bad_tombstones
-- No digest of ours, or a moment that no calendar has.
SELECT coalesce(namespace.name, '?')
FROM tombstone LEFT JOIN namespace ON namespace.id = tombstone.namespace
WHERE length(tombstone.digest) <> 32 OR tombstone.at NOT BETWEEN -62135596800000000 AND 253402300799999999;

-- name: delete_bad_tombstones
-- They keep nothing out.
DELETE FROM tombstone WHERE length(digest) <> 32;

-- name: date_bad_tombstones
-- Whenever it was: not after the last change.
UPDATE tombstone SET at = coalesce((SELECT max(at) FROM revision WHERE revision.namespace = tombstone.namespace), 0)
WHERE at NOT BETWEEN -62135596800000000 AND 253402300799999999;

-- name: full_text
-- The full-text index against the entries, word by word. Written as an insert, although it changes nothing.
INSERT INTO entry_fts (entry_fts, rank) VALUES ('integrity-check', 1);

-- name: drop_trigger
-- One that nobody here made, or that does something else. Ends in an open name.
DROP TRIGGER

-- name: drop_index
-- As above.
DROP INDEX

-- name: drop_view
-- As above.
DROP VIEW

-- name: drop_table
-- What is left of the full-text index when it is gone itself. Ends in an open name.
DROP TABLE

-- name: name_format
-- The one that every FTS5 knows: without it, SQLite would not even drop the index.
INSERT INTO entry_fts_config (k, v) VALUES ('version', 4) ON CONFLICT (k) DO UPDATE SET v = excluded.v;

-- name: drop_full_text
-- When it is too damaged to be rebuilt.
DROP TABLE entry_fts;

-- name: rebuild_full_text
-- The only way to repair it.
INSERT INTO entry_fts (entry_fts) VALUES ('rebuild');

-- name: entries_left_over
-- Entries whose memory is gone, or should not be found any more.
SELECT entry.slot FROM entry
WHERE NOT EXISTS (
    SELECT 1 FROM memory WHERE memory.slot = entry.slot AND state IN ('active', 'superseded')
);

-- name: delete_left_over
-- As above, removed.
DELETE FROM entry
WHERE NOT EXISTS (
    SELECT 1 FROM memory WHERE memory.slot = entry.slot AND state IN ('active', 'superseded')
);

-- name: delete_left_over_use
-- Use of memories that are gone.
DELETE FROM use WHERE NOT EXISTS (SELECT 1 FROM memory WHERE memory.slot = use.slot);

-- name: tags_left_over
-- Tags of no memory, or filed under another namespace than their memory's.
SELECT tag.slot FROM tag LEFT JOIN memory USING (slot)
WHERE memory.slot IS NULL OR memory.namespace <> tag.namespace;

-- name: delete_all_tags
-- They are written again from the records.
DELETE FROM tag;

-- name: counters
-- What the namespace's row says of itself.
SELECT id, name, seq, number, head, documents, words, vector, tokens FROM namespace ORDER BY id;

-- name: newest_of_namespace
-- What the tables say. The log as well: a memory that was erased keeps its number.
SELECT max(
           (SELECT coalesce(max(slot & 4294967295), 0) FROM memory WHERE slot BETWEEN :first AND :last),
           (SELECT coalesce(max(number), 0) FROM revision WHERE namespace = :namespace)
       ),
       (SELECT coalesce(max(id & 4294967295), 0) FROM vector WHERE id BETWEEN :first AND :last);

-- name: entry_terms
-- From which the statistics of the index are counted.
SELECT terms, tokens FROM entry WHERE slot BETWEEN ? AND ?;

-- name: set_counters
-- Counted anew; what was handed out is never lowered, unless nobody can ever have handed it out.
UPDATE namespace SET
    documents = :documents,
    words = :words,
    tokens = :tokens,
    number = max(
        iif(number > 4294967295, 0, number),
        (SELECT coalesce(max(slot & 4294967295), 0) FROM memory WHERE slot BETWEEN :first AND :last),
        (SELECT coalesce(max(revision.number), 0) FROM revision WHERE revision.namespace = :namespace)
    ),
    vector = max(
        iif(vector > 4294967295, 0, vector),
        (SELECT coalesce(max(id & 4294967295), 0) FROM vector WHERE id BETWEEN :first AND :last)
    )
WHERE id = :namespace;

-- name: examine_memory
-- Every record beside everything that is derived from it, in the order of the slots. Begins with the columns of
-- `select_memory`; what follows them is read as bytes, so that only a damaged record can be unreadable.
SELECT memory.slot, memory.id, content_hash, passage_hash, checksum, key, memory.version, memory.seq, state, tier,
       category, context_type, source, source_project, conversation_id, session_id, channel, spec_folder, file_path,
       anchor_id, trust, importance, confidence, observation_count, validation_count, created_at, updated_at, valid_at,
       invalid_at, expires_at, memory.text, memory.title, abstract, summary, memory.reasoning, memory.tags,
       memory.keywords, "references", trigger_phrases, evidence, metadata, 0, NULL, 0, NULL,
       entry.terms, CAST(entry.title AS BLOB), CAST(entry.text AS BLOB), CAST(entry.keywords AS BLOB),
       CAST(entry.reasoning AS BLOB), CAST(entry.tags AS BLOB), CAST(entry.anchor AS BLOB),
       CAST(entry.folder AS BLOB), entry.tokens,
       (SELECT CAST(json_group_array(tag) AS BLOB) FROM tag WHERE tag.slot = memory.slot), memory.namespace,
       (
           SELECT max(seq) FROM revision INDEXED BY revision_version
           WHERE namespace = memory.slot >> 32 AND number = memory.slot & 4294967295
       ),
       CAST(payload.body AS BLOB)
FROM memory
LEFT JOIN entry ON entry.slot = memory.slot
LEFT JOIN payload ON payload.id = (memory.slot >> 32 << 32 | memory.seq)
WHERE memory.slot > :after AND memory.slot <= :last
ORDER BY memory.slot;

-- name: next_memory
-- Where a record stands that cannot be read.
SELECT min(slot) FROM memory WHERE slot > ? AND slot <= ?;

-- name: memories_nowhere
-- Memories in no namespace: what goes through one after the other never comes by.
SELECT slot FROM memory WHERE NOT EXISTS (SELECT 1 FROM namespace WHERE namespace.id = memory.slot >> 32);

-- name: savepoint
-- Of records that come back together or not at all.
SAVEPOINT records;

-- name: rollback_to_savepoint
-- As if none of them had been touched.
ROLLBACK TO records;

-- name: release_savepoint
-- They are part of the repair now.
RELEASE records;

-- name: vacate
-- Two damaged memories may each go by the name of the other.
UPDATE memory SET namespace = :namespace, id = randomblob(16), key = NULL WHERE slot = :slot;

-- name: payloads_nowhere
-- What no line said.
SELECT payload.id FROM payload
WHERE NOT EXISTS (
    SELECT 1 FROM revision
    WHERE revision.namespace = payload.id >> 32 AND revision.seq = payload.id & 4294967295
);

-- name: memories_missing
-- Memories that the log knows and nobody erased, but that are not there.
SELECT newest.namespace << 32 | newest.number
FROM (
    SELECT namespace, number, max(seq) AS seq FROM revision INDEXED BY revision_version
    WHERE namespace = :namespace GROUP BY number
) AS newest
CROSS JOIN revision ON revision.namespace = newest.namespace AND revision.seq = newest.seq
WHERE revision.operation <> 'erase' AND NOT EXISTS (
    SELECT 1 FROM memory WHERE memory.slot = (newest.namespace << 32 | newest.number)
)
ORDER BY newest.number;

-- name: erased_and_there
-- Memories that were erased, but of which something is left that says what they said; and where they were erased.
SELECT newest.namespace << 32 | newest.number, newest.seq
FROM (
    SELECT namespace, number, max(seq) AS seq FROM revision INDEXED BY revision_version
    WHERE namespace = :namespace GROUP BY number
) AS newest
CROSS JOIN revision ON revision.namespace = newest.namespace AND revision.seq = newest.seq
WHERE revision.operation = 'erase' AND (
    EXISTS (SELECT 1 FROM memory WHERE memory.slot = (newest.namespace << 32 | newest.number))
    OR EXISTS (
        SELECT 1 FROM revision AS line INDEXED BY revision_version
        JOIN payload ON payload.id = (line.namespace << 32 | line.seq)
        WHERE line.namespace = newest.namespace AND line.number = newest.number
    )
)
ORDER BY newest.number;

-- name: examine_checkpoints
-- Every name for a position.
SELECT namespace, name, positions, memories, actor, spec_folder, description, metadata, created_at
FROM checkpoint ORDER BY namespace, name;

-- name: examine_revisions
-- The log of one namespace in its order, with what was not erased.
SELECT revision.seq, revision.number, revision.memory, revision.version, revision.operation, revision.actor,
       revision.surface, revision.session, revision.request, revision.at, revision.batch, revision.digest,
       revision.hash, payload.salt, CAST(payload.body AS BLOB)
FROM revision LEFT JOIN payload ON payload.id = (revision.namespace << 32 | revision.seq)
WHERE revision.namespace = ?
ORDER BY revision.seq;

-- name: end_of_log
-- Where the log of a namespace should end, and with which hash.
SELECT seq, head FROM namespace WHERE id = ?;

-- name: newest_payload
-- What a damaged record is brought back from.
SELECT revision.seq, revision.operation, revision.digest, payload.salt, CAST(payload.body AS BLOB)
FROM revision INDEXED BY revision_version
LEFT JOIN payload ON payload.id = (revision.namespace << 32 | revision.seq)
WHERE revision.namespace = ? AND revision.number = ?
ORDER BY revision.seq DESC LIMIT 1;

-- name: examine_vectors
-- Every vector beside the dimensions it should have; none when its generation does not go by its own name.
SELECT vector.id, vector.namespace, vector.passage_hash, vector.checksum, vector.data, generation.dimensions
FROM vector LEFT JOIN generation ON generation.id = vector.generation
    AND name = provider || '/' || model || '/' || dimensions || '/' || version;

-- name: duplicate_vectors
-- The later ones. An index keeps them apart, unless it was gone.
SELECT vector.id
FROM (
    SELECT namespace, generation, passage_hash, min(id) AS first FROM vector
    GROUP BY namespace, generation, passage_hash HAVING count(*) > 1
) AS twice
CROSS JOIN vector ON vector.namespace = twice.namespace AND vector.generation = twice.generation
    AND vector.passage_hash = twice.passage_hash AND vector.id > twice.first;

-- name: bad_generations
-- A generation that does not go by its own name: nobody finds it, or its vectors are taken for those of another.
SELECT name FROM generation WHERE name <> provider || '/' || model || '/' || dimensions || '/' || version;

-- name: delete_bad_generations
-- As above; what has vectors keeps them until they are removed.
DELETE FROM generation
WHERE name <> provider || '/' || model || '/' || dimensions || '/' || version
    AND NOT EXISTS (SELECT 1 FROM vector WHERE vector.generation = generation.id);

-- name: orphan_vectors
-- Vectors of passages that no memory has any more: earlier texts.
SELECT count(*) FROM vector
WHERE NOT EXISTS (
    SELECT 1 FROM memory
    WHERE memory.namespace = vector.namespace AND memory.passage_hash = vector.passage_hash
        AND memory.state IN ('active', 'superseded')
);

-- name: delete_orphan_vectors
-- As above, removed.
DELETE FROM vector
WHERE NOT EXISTS (
    SELECT 1 FROM memory
    WHERE memory.namespace = vector.namespace AND memory.passage_hash = vector.passage_hash
        AND memory.state IN ('active', 'superseded')
);

-- name: delete_vector
-- It becomes pending, and is computed again.
DELETE FROM vector WHERE id = ?;
