-- What doctor asks and what a repair rebuilds, namespace by namespace.

-- name: counters
-- The counters in the row of a namespace.
SELECT seq, number, head, documents, words, vector, tokens, unversioned, length(secret), max_items, max_tokens
FROM perdure.namespace WHERE namespace = %(namespace)s;

-- name: examine_memory
-- Records beside everything that is derived from them, by number. Begins with the columns of `select_memory`.
SELECT memory.number, memory.id, memory.content_hash, memory.passage_hash, memory.checksum, memory.key,
       memory.version, memory.seq, memory.state, memory.tier, memory.category, memory.context_type, memory.source,
       memory.source_project, memory.conversation_id, memory.session_id, memory.channel, memory.spec_folder,
       memory.file_path, memory.anchor_id, memory.trust, memory.importance, memory.confidence,
       memory.observation_count, memory.validation_count, memory.created_at, memory.updated_at, memory.valid_at,
       memory.invalid_at, memory.expires_at, memory.text, memory.title, memory.abstract, memory.summary,
       memory.reasoning, memory.tags, memory.keywords, memory."references", memory.trigger_phrases, memory.evidence,
       memory.metadata, memory.supersedes, memory.merged_from,
       0, NULL::bigint, 0, NULL::bigint,
       entry.terms, entry.tokens,
       (SELECT coalesce(json_agg(tag.tag), '[]')::text FROM perdure.tag
        WHERE tag.namespace = %(namespace)s AND tag.number = memory.number),
       (SELECT coalesce(json_agg(link.kind || ' ' || upper(replace(link.target::text, '-', ''))), '[]')::text
        FROM perdure.link WHERE link.namespace = %(namespace)s AND link.number = memory.number),
       (SELECT max(revision.seq) FROM perdure.revision
        WHERE revision.namespace = %(namespace)s AND revision.number = memory.number),
       payload.body
FROM perdure.memory
LEFT JOIN perdure.entry ON entry.namespace = memory.namespace AND entry.number = memory.number
LEFT JOIN perdure.payload ON payload.namespace = memory.namespace AND payload.seq = memory.seq
WHERE memory.namespace = %(namespace)s AND memory.number > %(after)s
ORDER BY memory.number LIMIT %(limit)s;

-- name: not_indexed
-- Entries, tags and links whose memory is gone, and entries of memories that should not be found any more.
SELECT 'entries', entry.number FROM perdure.entry
WHERE entry.namespace = %(namespace)s AND NOT EXISTS (
    SELECT 1 FROM perdure.memory WHERE memory.namespace = %(namespace)s AND memory.number = entry.number
        AND memory.state IN ('active', 'superseded')
)
UNION
SELECT 'tags', tag.number FROM perdure.tag
WHERE tag.namespace = %(namespace)s AND NOT EXISTS (
    SELECT 1 FROM perdure.memory WHERE memory.namespace = %(namespace)s AND memory.number = tag.number
)
UNION
SELECT 'links', link.number FROM perdure.link
WHERE link.namespace = %(namespace)s AND NOT EXISTS (
    SELECT 1 FROM perdure.memory WHERE memory.namespace = %(namespace)s AND memory.number = link.number
)
UNION
SELECT 'parked', parked.number FROM perdure.parked
WHERE parked.namespace = %(namespace)s AND parked.number > 0 AND NOT EXISTS (
    SELECT 1 FROM perdure.memory WHERE memory.namespace = %(namespace)s AND memory.number = parked.number
);

-- name: newest_lines
-- For each memory that the log knows, its newest line, and whether its row and any payload of it are there.
SELECT newest.number, newest.seq, revision.operation,
       EXISTS (SELECT 1 FROM perdure.memory
               WHERE memory.namespace = %(namespace)s AND memory.number = newest.number),
       newest.payloads > 0
FROM (
    SELECT line.number, max(line.seq) AS seq, count(payload.seq) AS payloads
    FROM perdure.revision AS line
    LEFT JOIN perdure.payload ON payload.namespace = %(namespace)s AND payload.seq = line.seq
    WHERE line.namespace = %(namespace)s GROUP BY line.number
) AS newest
JOIN perdure.revision ON revision.namespace = %(namespace)s AND revision.seq = newest.seq
ORDER BY newest.number;

-- name: examine_revisions
-- The log in its order, with the payloads that were not erased, a part at a time.
SELECT revision.seq, revision.number, revision.memory, revision.version, revision.operation, revision.actor,
       revision.surface, revision.session, revision.request, revision.at, revision.batch, revision.digest,
       revision.hash, payload.salt, convert_to(payload.body, 'UTF8')
FROM perdure.revision
LEFT JOIN perdure.payload ON payload.namespace = revision.namespace AND payload.seq = revision.seq
WHERE revision.namespace = %(namespace)s AND revision.seq > %(after)s
ORDER BY revision.seq LIMIT %(limit)s;

-- name: payloads_nowhere
-- Payloads of no log entry.
SELECT payload.seq FROM perdure.payload
WHERE payload.namespace = %(namespace)s AND NOT EXISTS (
    SELECT 1 FROM perdure.revision WHERE revision.namespace = %(namespace)s AND revision.seq = payload.seq
);

-- name: bodies
-- What the log entries of one memory say.
SELECT payload.body FROM perdure.revision
JOIN perdure.payload ON payload.namespace = %(namespace)s AND payload.seq = revision.seq
WHERE revision.namespace = %(namespace)s AND revision.number = %(number)s;

-- name: entry_terms
-- From which the statistics of the index are counted.
SELECT terms, tokens FROM perdure.entry WHERE namespace = %(namespace)s;

-- name: newest_of_namespace
-- The highest number and vector in use. The log counts as well: a memory that was erased keeps its number.
SELECT greatest(
           (SELECT coalesce(max(memory.number), 0) FROM perdure.memory WHERE memory.namespace = %(namespace)s),
           (SELECT coalesce(max(revision.number), 0) FROM perdure.revision WHERE revision.namespace = %(namespace)s)
       ),
       (SELECT coalesce(max(vector.position), 0) FROM perdure.vector WHERE vector.namespace = %(namespace)s);

-- name: examine_vectors
-- Vectors beside the dimensions that they should have; none when there is no such generation. A part at a time.
SELECT vector.position, vector.passage_hash, vector.checksum, vector.data, generation.dimensions
FROM perdure.vector LEFT JOIN perdure.generation ON generation.id = vector.generation
WHERE vector.namespace = %(namespace)s AND vector.position > %(after)s
ORDER BY vector.position LIMIT %(limit)s;

-- name: generation_rows
-- A generation whose id is not that of its name is found by nobody.
SELECT id, provider, model, dimensions, version FROM perdure.generation;

-- name: vectors_of_earlier_texts
-- Vectors of passages that no memory has any more.
SELECT count(*) FROM perdure.vector
WHERE vector.namespace = %(namespace)s AND NOT EXISTS (
    SELECT 1 FROM perdure.memory
    WHERE memory.namespace = %(namespace)s AND memory.passage_hash = vector.passage_hash
        AND memory.state IN ('active', 'superseded')
);

-- name: examine_checkpoints
-- Every checkpoint of a namespace, or of everything.
SELECT namespace, name, positions, memories, actor, spec_folder, description, metadata, created_at
FROM perdure.checkpoint WHERE namespace = %(namespace)s ORDER BY name;

-- name: bad_tombstones
-- The digest is not ours, or the time is one that no calendar has.
SELECT count(*) FROM perdure.tombstone
WHERE namespace = %(namespace)s
    AND (length(digest) <> 32 OR at NOT BETWEEN -62135596800000000 AND 253402300799999999);

-- name: server_settings
-- What decides whether an acknowledged write survives, and where erased bytes may stay.
SELECT current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit'),
       current_setting('archive_mode'), (SELECT count(*) FROM pg_stat_replication),
       (SELECT count(*) FROM pg_replication_slots), current_setting('data_checksums'),
       (SELECT coalesce(sum(n_dead_tup), 0)::bigint FROM pg_stat_user_tables WHERE schemaname = %(schema)s);

-- name: newest_payload
-- The log entry that a damaged record is restored from.
SELECT revision.seq, revision.operation, revision.digest, payload.salt, convert_to(payload.body, 'UTF8')
FROM perdure.revision
LEFT JOIN perdure.payload ON payload.namespace = revision.namespace AND payload.seq = revision.seq
WHERE revision.namespace = %(namespace)s AND revision.number = %(number)s
ORDER BY revision.seq DESC LIMIT 1;

-- name: vacate
-- Free the key: two damaged memories may have those of each other.
UPDATE perdure.memory SET key = NULL WHERE namespace = %(namespace)s AND number = %(number)s;

-- name: delete_entries_left_over
-- Of memories that are gone, or should not be found any more.
DELETE FROM perdure.entry WHERE entry.namespace = %(namespace)s AND NOT EXISTS (
    SELECT 1 FROM perdure.memory WHERE memory.namespace = %(namespace)s AND memory.number = entry.number
        AND memory.state IN ('active', 'superseded')
);

-- name: delete_every_tag
-- They are written again from the memories.
DELETE FROM perdure.tag WHERE namespace = %(namespace)s;

-- name: delete_every_link
-- They are written again from the memories.
DELETE FROM perdure.link WHERE namespace = %(namespace)s;

-- name: delete_use_left_over
-- Use of memories that are gone.
DELETE FROM perdure.use WHERE use.namespace = %(namespace)s AND NOT EXISTS (
    SELECT 1 FROM perdure.memory WHERE memory.namespace = %(namespace)s AND memory.number = use.number
);

-- name: delete_reviews_left_over
-- And their reviews.
DELETE FROM perdure.review WHERE review.namespace = %(namespace)s AND NOT EXISTS (
    SELECT 1 FROM perdure.memory WHERE memory.namespace = %(namespace)s AND memory.number = review.number
);

-- name: delete_parked_left_over
-- What was parked about a memory must not outlive it.
DELETE FROM perdure.parked WHERE parked.namespace = %(namespace)s AND parked.number > 0 AND NOT EXISTS (
    SELECT 1 FROM perdure.memory WHERE memory.namespace = %(namespace)s AND memory.number = parked.number
);

-- name: delete_bad_tombstones
-- Without a digest of ours they recognise nothing.
DELETE FROM perdure.tombstone WHERE namespace = %(namespace)s
    AND (length(digest) <> 32 OR at NOT BETWEEN -62135596800000000 AND 253402300799999999);

-- name: delete_vectors
-- The vectors become pending, and are computed again.
DELETE FROM perdure.vector WHERE namespace = %(namespace)s AND position = ANY(%(positions)s::bigint[]);

-- name: set_counters
-- Recount. The log does not show what a repair changed: indexes are read again when `repairs` changes.
UPDATE perdure.namespace SET
    documents = %(documents)s, words = %(words)s, tokens = %(tokens)s, repairs = repairs + 1,
    number = greatest(CASE WHEN number > 4294967295 THEN 0 ELSE number END, %(number)s),
    vector = greatest(CASE WHEN vector > 4294967295 THEN 0 ELSE vector END, %(vector)s),
    max_items = CASE WHEN max_items >= 1 THEN max_items END,
    max_tokens = CASE WHEN max_tokens >= 1 THEN max_tokens END
WHERE namespace = %(namespace)s;
