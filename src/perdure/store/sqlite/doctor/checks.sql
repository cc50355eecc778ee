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

-- name: all_meta
-- The metadata of the store.
SELECT name, value FROM meta ORDER BY name;

-- name: delete_meta
-- Remove an invalid value.
DELETE FROM meta WHERE name = ?;

-- name: limits
-- The name of a namespace, for a message. Wants a condition.
SELECT quote(name) FROM namespace

-- name: lift_limits
-- Without a limit nothing is lost. Wants a condition.
UPDATE namespace SET
    max_items = CASE WHEN max_items >= 1 THEN max_items END,
    max_tokens = CASE WHEN max_tokens >= 1 THEN max_tokens END

-- name: bad_limit
-- A limit is at least 1.
WHERE max_items < 1 OR max_tokens < 1;

-- name: bad_tombstones
-- The digest is not ours, or the time is one that no calendar has.
SELECT quote(coalesce(namespace.name, '?'))
FROM tombstone LEFT JOIN namespace ON namespace.id = tombstone.namespace
WHERE length(tombstone.digest) <> 32 OR tombstone.at NOT BETWEEN -62135596800000000 AND 253402300799999999;

-- name: delete_bad_tombstones
-- Without a digest of ours they recognise nothing.
DELETE FROM tombstone WHERE length(digest) <> 32;

-- name: date_bad_tombstones
-- The text was deleted at the time of the last change or before.
UPDATE tombstone SET at = coalesce((SELECT max(at) FROM revision WHERE revision.namespace = tombstone.namespace), 0)
WHERE at NOT BETWEEN -62135596800000000 AND 253402300799999999;

-- name: serves_nothing
-- The generation that should answer is gone.
SELECT 1 FROM meta
WHERE name = 'serving' AND NOT EXISTS (SELECT 1 FROM generation WHERE generation.id = meta.value);

-- name: parked
-- Parked output, for a message. Wants a condition.
SELECT CAST(parked.id AS TEXT) FROM parked

-- name: delete_parked
-- Wants a condition.
DELETE FROM parked

-- name: parked_nowhere
-- What was parked about a memory must not outlive it.
WHERE parked.namespace IS NOT coalesce(parked.slot >> 32, parked.namespace)
    OR NOT EXISTS (SELECT 1 FROM namespace WHERE namespace.id = parked.namespace)
    OR (parked.slot IS NOT NULL AND NOT EXISTS (SELECT 1 FROM memory WHERE memory.slot = parked.slot));

-- name: full_text
-- The full-text index against the entries, word by word. Written as an insert, although it changes nothing.
INSERT INTO entry_fts (entry_fts, rank) VALUES ('integrity-check', 1);

-- name: drop_trigger
-- Ends in an open name.
DROP TRIGGER

-- name: drop_index
-- Ends in an open name.
DROP INDEX

-- name: drop_view
-- Ends in an open name.
DROP VIEW

-- name: drop_table
-- Ends in an open name.
DROP TABLE

-- name: forget_full_text
-- A virtual table has no pages of its own, so its row in the schema is all there is to remove. The reset makes SQLite
-- read the schema again: the tables behind the index are ordinary ones then.
PRAGMA writable_schema = ON;
DELETE FROM sqlite_schema WHERE name = 'entry_fts';
PRAGMA writable_schema = RESET;

-- name: rebuild
-- Fill the full-text index from the entries, and the indexes of unique columns, which cannot be dropped.
INSERT INTO entry_fts (entry_fts) VALUES ('rebuild');
REINDEX namespace;
REINDEX generation;

-- name: entry_slots
-- Wants a condition.
SELECT slot FROM entry

-- name: delete_entries
-- Wants a condition.
DELETE FROM entry

-- name: not_indexed
-- Entries whose memory is gone, or should not be found any more.
WHERE NOT EXISTS (
    SELECT 1 FROM memory WHERE memory.slot = entry.slot AND state IN ('active', 'superseded')
);

-- name: delete_use_left_over
-- Use of memories that are gone, and their reviews.
DELETE FROM use WHERE NOT EXISTS (SELECT 1 FROM memory WHERE memory.slot = use.slot);
DELETE FROM review WHERE NOT EXISTS (SELECT 1 FROM memory WHERE memory.slot = review.slot);

-- name: tags_left_over
-- Tags of no memory, or filed under another namespace than their memory's.
SELECT tag.slot FROM tag LEFT JOIN memory USING (slot)
WHERE memory.slot IS NULL OR memory.namespace <> tag.namespace;

-- name: links_left_over
-- Links from no memory.
SELECT slot FROM link WHERE NOT EXISTS (SELECT 1 FROM memory WHERE memory.slot = link.slot);

-- name: counters
-- The counters in the row of each namespace.
SELECT id, name, seq, number, head, documents, words, vector, tokens FROM namespace ORDER BY id;

-- name: newest_of_namespace
-- The highest number and vector in use. The log counts as well: a memory that was erased keeps its number.
SELECT max(
           (SELECT coalesce(max(slot & 4294967295), 0) FROM memory WHERE slot BETWEEN :first AND :last),
           (SELECT coalesce(max(number), 0) FROM revision WHERE namespace = :namespace)
       ),
       (SELECT coalesce(max(id & 4294967295), 0) FROM vector WHERE id BETWEEN :first AND :last);

-- name: entry_terms
-- From which the statistics of the index are counted.
SELECT terms, tokens FROM entry WHERE slot BETWEEN ? AND ?;

-- name: set_counters
-- Recount. A counter is never lowered, unless its value is impossible.
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
       memory.keywords, "references", trigger_phrases, evidence, metadata, supersedes, merged_from, 0, NULL,
       0, NULL,
       entry.terms, CAST(entry.title AS BLOB), CAST(entry.text AS BLOB), CAST(entry.keywords AS BLOB),
       CAST(entry.reasoning AS BLOB), CAST(entry.tags AS BLOB), CAST(entry.anchor AS BLOB),
       CAST(entry.folder AS BLOB), entry.tokens,
       (SELECT CAST(json_group_array(tag) AS BLOB) FROM tag WHERE tag.slot = memory.slot),
       (
           SELECT CAST(json_group_array(kind || ' ' || hex(target)) AS BLOB) FROM link WHERE link.slot = memory.slot
       ),
       memory.namespace,
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
-- The slot of a record that cannot be read.
SELECT min(slot) FROM memory WHERE slot > :after AND slot <= :last;

-- name: memories_nowhere
-- Memories in no namespace, which a pass over the namespaces does not meet.
SELECT slot FROM memory WHERE NOT EXISTS (SELECT 1 FROM namespace WHERE namespace.id = memory.slot >> 32);

-- name: savepoint
-- For a group of records that come back together or not at all.
SAVEPOINT records;

-- name: rollback_to_savepoint
-- Undo the whole group.
ROLLBACK TO records;

-- name: release_savepoint
-- Keep the whole group.
RELEASE records;

-- name: vacate
-- Free the id and the key: two damaged memories may have those of each other.
UPDATE memory SET namespace = :namespace, id = randomblob(16), key = NULL WHERE slot = :slot;

-- name: payloads_nowhere
-- Payloads of no log entry.
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
-- Memories that were erased, but whose row or payload is there; and the position of the `erase` entry.
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
-- Every checkpoint.
SELECT namespace, name, positions, memories, actor, spec_folder, description, metadata, created_at
FROM checkpoint ORDER BY namespace, name;

-- name: examine_revisions
-- The log of one namespace in its order, with the payloads that were not erased.
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
-- The log entry that a damaged record is restored from.
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
-- The later copy of each. A unique index prevents them, unless the index was missing.
SELECT vector.id
FROM (
    SELECT namespace, generation, passage_hash, min(id) AS first FROM vector
    GROUP BY namespace, generation, passage_hash HAVING count(*) > 1
) AS twice
CROSS JOIN vector ON vector.namespace = twice.namespace AND vector.generation = twice.generation
    AND vector.passage_hash = twice.passage_hash AND vector.id > twice.first;

-- name: generation_names
-- Wants a condition.
SELECT name FROM generation

-- name: delete_generations
-- Wants a condition.
DELETE FROM generation

-- name: bad_generation
-- A generation that does not go by its own name: nobody finds it, or its vectors are taken for those of another.
WHERE name <> provider || '/' || model || '/' || dimensions || '/' || version

-- name: without_vectors
-- A further condition: a generation that has vectors stays.
AND NOT EXISTS (SELECT 1 FROM vector WHERE vector.generation = generation.id);

-- name: count_vectors
-- Wants a condition.
SELECT count(*) FROM vector

-- name: delete_vectors
-- Wants a condition.
DELETE FROM vector

-- name: of_earlier_text
-- Vectors of passages that no memory has any more.
WHERE NOT EXISTS (
    SELECT 1 FROM memory
    WHERE memory.namespace = vector.namespace AND memory.passage_hash = vector.passage_hash
        AND memory.state IN ('active', 'superseded')
);

-- name: delete_vector
-- The vector becomes pending, and is computed again.
DELETE FROM vector WHERE id = ?;
