-- What another store gets of this one, and what this one takes of another.

-- name: end_of_log
-- Where the log of a namespace ends, and with which hash.
SELECT seq, head FROM perdure.namespace WHERE namespace = %(namespace)s;

-- name: dump_lines
-- A part of a log, with the payloads that were not erased.
SELECT revision.seq, revision.number, revision.memory, revision.version, revision.operation, revision.actor,
       revision.surface, revision.session, revision.request, revision.at, revision.batch, revision.digest,
       revision.hash, payload.salt, payload.body
FROM perdure.revision
LEFT JOIN perdure.payload ON payload.namespace = revision.namespace AND payload.seq = revision.seq
WHERE revision.namespace = %(namespace)s AND revision.seq > %(after)s
ORDER BY revision.seq LIMIT %(limit)s;

-- name: dump_namespace
-- The secret, the limits, and the counters.
SELECT secret, number, unversioned, max_items, max_tokens FROM perdure.namespace WHERE namespace = %(namespace)s;

-- name: dump_tokens
-- The tokens were counted by whoever wrote the memory.
SELECT number, tokens FROM perdure.entry WHERE namespace = %(namespace)s;

-- name: dump_use
-- Use is not in the log.
SELECT number, recall_count, recalled_at, access_count, accessed_at FROM perdure.use WHERE namespace = %(namespace)s;

-- name: dump_reviews
-- Nor are pending reviews.
SELECT number, first_at, at, rank FROM perdure.review WHERE namespace = %(namespace)s;

-- name: dump_tombstones
-- They are keyed digests, and go with the secret.
SELECT digest, at, reason FROM perdure.tombstone WHERE namespace = %(namespace)s;

-- name: dump_vectors
-- The vectors of a generation by their position.
SELECT position, passage_hash, checksum, data FROM perdure.vector
WHERE namespace = %(namespace)s AND generation = %(generation)s AND position > %(after)s
ORDER BY position LIMIT %(limit)s;

-- name: take_vector
-- Also of a text that no memory has now: whoever asks for an earlier moment finds by it.
INSERT INTO perdure.vector (namespace, position, generation, passage_hash, checksum, data)
VALUES (%(namespace)s, %(position)s, %(generation)s, %(passage_hash)s, %(checksum)s, %(data)s)
ON CONFLICT DO NOTHING RETURNING position;

-- name: take_key
-- Two memories may have changed keys; the other one is written again by a later line.
UPDATE perdure.memory SET key = NULL
WHERE namespace = %(namespace)s AND key = %(key)s AND number <> %(number)s;

-- name: set_secret
-- Of a namespace that came with its tombstones.
UPDATE perdure.namespace SET secret = %(secret)s WHERE namespace = %(namespace)s;

-- name: put_use
-- The counts of another store, unless there are higher ones here.
INSERT INTO perdure.use (namespace, number, recall_count, recalled_at, access_count, accessed_at)
SELECT memory.namespace, memory.number, %(recalls)s, %(recalled_at)s::bigint, %(accesses)s, %(accessed_at)s::bigint
FROM perdure.memory WHERE memory.namespace = %(namespace)s AND memory.number = %(number)s
ON CONFLICT (namespace, number) DO UPDATE SET
    recall_count = greatest(use.recall_count, excluded.recall_count),
    recalled_at = greatest(use.recalled_at, excluded.recalled_at),
    access_count = greatest(use.access_count, excluded.access_count),
    accessed_at = greatest(use.accessed_at, excluded.accessed_at);

-- name: clear_tombstones
-- Those of the other store take their place.
DELETE FROM perdure.tombstone WHERE namespace = %(namespace)s;

-- name: clear_parked
-- As above.
DELETE FROM perdure.parked WHERE namespace = %(namespace)s;

-- name: copy_checkpoint
-- A checkpoint as it was; one that is here already stays.
INSERT INTO perdure.checkpoint (
    namespace, name, positions, memories, actor, spec_folder, description, metadata, created_at
) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING;
