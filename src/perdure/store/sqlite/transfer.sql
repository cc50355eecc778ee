-- What another store gets of this one, and what this one takes of another.

-- name: dump_lines
-- A part of a log, with the payloads that were not erased.
SELECT revision.seq, revision.number, revision.memory, revision.version, revision.operation, revision.actor,
       revision.surface, revision.session, revision.request, revision.at, revision.batch, revision.digest,
       revision.hash, payload.salt, payload.body
FROM revision LEFT JOIN payload ON payload.id = (revision.namespace << 32 | revision.seq)
WHERE revision.namespace = ? AND revision.seq > ?
ORDER BY revision.seq LIMIT ?;

-- name: end_of_log
-- Where the log of a namespace ends, and with which hash.
SELECT seq, head FROM namespace WHERE id = ?;

-- name: dump_namespace
-- The limits, and the highest number that was given out.
SELECT number, max_items, max_tokens FROM namespace WHERE id = ?;

-- name: dump_tokens
-- The tokens were counted by whoever wrote the memory.
SELECT slot & 4294967295, tokens FROM entry WHERE slot BETWEEN ? AND ?;

-- name: dump_use
-- Use is not in the log.
SELECT slot & 4294967295, recall_count, recalled_at, access_count, accessed_at FROM use WHERE slot BETWEEN ? AND ?;

-- name: dump_reviews
-- Nor are pending reviews.
SELECT slot & 4294967295, first_at, at, rank FROM review WHERE slot BETWEEN ? AND ?;

-- name: dump_tombstones
-- They are keyed digests, and go with the secret.
SELECT digest, at, reason FROM tombstone WHERE namespace = ?;

-- name: dump_vectors
-- The vectors of a generation by their position.
SELECT id & 4294967295, passage_hash, checksum, data FROM vector
WHERE id > ? AND id <= ? AND generation = ? ORDER BY id LIMIT ?;

-- name: take_vector
-- Also of a text that no memory has now: whoever asks for an earlier moment finds by it.
INSERT OR IGNORE INTO vector (id, namespace, generation, passage_hash, checksum, data) VALUES (?, ?, ?, ?, ?, ?);

-- name: take_key
-- Two memories may have changed keys; the other one is written again by a later line.
UPDATE memory SET key = NULL WHERE namespace = ? AND key = ? AND slot <> ?;

-- name: put_use
-- The counts of another store, unless there are higher ones here.
INSERT INTO use (slot, recall_count, recalled_at, access_count, accessed_at)
SELECT slot, ?2, ?3, ?4, ?5 FROM memory WHERE slot = ?1
ON CONFLICT (slot) DO UPDATE SET
    recall_count = max(recall_count, excluded.recall_count),
    recalled_at = max(coalesce(recalled_at, excluded.recalled_at), coalesce(excluded.recalled_at, recalled_at)),
    access_count = max(access_count, excluded.access_count),
    accessed_at = max(coalesce(accessed_at, excluded.accessed_at), coalesce(excluded.accessed_at, accessed_at));

-- name: clear_tombstones
-- Those of the other store take their place.
DELETE FROM tombstone WHERE namespace = ?;

-- name: clear_parked
-- As above.
DELETE FROM parked WHERE namespace = ?;

-- name: put_checkpoint
-- A checkpoint as it was; one that is here already stays.
INSERT INTO checkpoint (
    namespace, name, positions, memories, actor, spec_folder, description, metadata, created_at
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING;
