-- Every statement the SQLite store runs, by name, each with its reason.

-- name: settings
-- What every connection gets. FULL: acknowledged means on disk. secure_delete: deleted means gone. No memory mapping,
-- because several processes share the file. The cache is small, because the operating system has one as well.
PRAGMA cache_size = -8192;
PRAGMA mmap_size = 0;
PRAGMA synchronous = FULL;
-- On macOS fsync alone leaves the data in the drive's cache; elsewhere these two change nothing.
PRAGMA fullfsync = ON;
PRAGMA checkpoint_fullfsync = ON;
PRAGMA foreign_keys = ON;
PRAGMA secure_delete = ON;
PRAGMA trusted_schema = OFF;
PRAGMA cell_size_check = ON;
PRAGMA journal_size_limit = 67108864;
PRAGMA wal_autocheckpoint = 2000;

-- name: read_only
-- A connection of the reading pool cannot write, whatever it is asked.
PRAGMA query_only = ON;

-- name: sole_owner
-- A VFS written in Python has no shared memory; a single owner can write ahead without it.
PRAGMA locking_mode = EXCLUSIVE;

-- name: begin_write
-- Deferred transactions that read first and write later fail under contention; this one waits at its start.
BEGIN IMMEDIATE;

-- name: begin_exclusive
-- In SQLite's exclusive locking mode the lock outlives the transaction.
BEGIN EXCLUSIVE;

-- name: begin_read
-- Several statements see one moment.
BEGIN;

-- name: commit
-- From here on the transaction is acknowledged.
COMMIT;

-- name: rollback
-- Everything stays as it was.
ROLLBACK;

-- name: has_tables
-- Tells an empty database from one of another program.
SELECT EXISTS (SELECT 1 FROM sqlite_schema);

-- name: put_meta
-- Facts about the store itself, written when it is made.
INSERT INTO meta (name, value) VALUES (?, ?);

-- name: get_meta
-- Read a meta value.
SELECT value FROM meta WHERE name = ?;

-- name: secret
-- The secret of the store, unless the namespace came from another one, with its tombstones.
SELECT value FROM meta WHERE name IN ('secret', ?) ORDER BY name DESC LIMIT 1;

-- name: change_meta
-- Upsert a meta value.
INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: raise_mark
-- Upsert, keeping the larger value.
INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value);

-- name: namespace_id
-- The name of a namespace stands in one row; everything else refers to the id.
SELECT id FROM namespace WHERE name = ?;

-- name: namespace_names
-- For what concerns all namespaces: statistics, maintenance, doctor.
SELECT id, name FROM namespace ORDER BY name;

-- name: open_namespace
-- Read once per write transaction. The write lock of the file makes the numbers it hands out gapless. Which generation
-- serves comes along, so that a process that only writes learns of it too.
SELECT (SELECT value FROM meta WHERE meta.name = 'serving'), id, seq, number, head, documents, words, vector, tokens,
       max_items, max_tokens
FROM namespace WHERE name = ?;

-- name: create_namespace
-- The first write into a namespace makes it.
INSERT INTO namespace (name, head, created_at) VALUES (?, ?, ?) RETURNING id;

-- name: close_namespace
-- Written once per write transaction, at its end.
UPDATE namespace
SET seq = ?, number = ?, head = ?, documents = ?, words = ?, vector = ?, tokens = ?, max_items = ?, max_tokens = ?
WHERE id = ?;

-- name: put_memory
-- A later revision of a memory takes the same slot.
INSERT INTO memory (
    namespace, slot, id, content_hash, passage_hash, checksum, key, version, seq, state, tier, category, context_type,
    source, source_project, conversation_id, session_id, channel, spec_folder, file_path, anchor_id, trust, importance,
    confidence, observation_count, validation_count, created_at, updated_at, valid_at, invalid_at, expires_at, text,
    title, abstract, summary, reasoning, tags, keywords, "references", trigger_phrases, evidence, metadata,
    supersedes, merged_from
) VALUES (
    ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
    ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
    ?, ?, ?, ?, ?, ?, ?, ?, ?,
    ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
    ?, ?
) ON CONFLICT (slot) DO UPDATE SET
    id = excluded.id, content_hash = excluded.content_hash, passage_hash = excluded.passage_hash,
    checksum = excluded.checksum, key = excluded.key, version = excluded.version, seq = excluded.seq,
    state = excluded.state, tier = excluded.tier, category = excluded.category, context_type = excluded.context_type,
    source = excluded.source, source_project = excluded.source_project, conversation_id = excluded.conversation_id,
    session_id = excluded.session_id, channel = excluded.channel, spec_folder = excluded.spec_folder,
    file_path = excluded.file_path, anchor_id = excluded.anchor_id, trust = excluded.trust,
    importance = excluded.importance, confidence = excluded.confidence,
    observation_count = excluded.observation_count, validation_count = excluded.validation_count,
    created_at = excluded.created_at, updated_at = excluded.updated_at, valid_at = excluded.valid_at,
    invalid_at = excluded.invalid_at, expires_at = excluded.expires_at, text = excluded.text, title = excluded.title,
    abstract = excluded.abstract, summary = excluded.summary, reasoning = excluded.reasoning, tags = excluded.tags,
    keywords = excluded.keywords, "references" = excluded."references", trigger_phrases = excluded.trigger_phrases,
    evidence = excluded.evidence, metadata = excluded.metadata, supersedes = excluded.supersedes,
    merged_from = excluded.merged_from;

-- name: release_key
-- Two keys that change places are free for a moment; `put` writes the row again.
UPDATE memory SET key = NULL WHERE slot = ?;

-- name: memory_before
-- The old tags, links and index row, which a new revision replaces.
SELECT memory.tags, memory.evidence, memory.supersedes, memory.merged_from, entry.terms, entry.title, entry.text, entry.keywords, entry.reasoning, entry.tags, entry.anchor,
       entry.folder, entry.tokens
FROM memory LEFT JOIN entry USING (slot)
WHERE memory.slot = ?;

-- name: put_tag
-- A tag given twice counts once.
INSERT OR IGNORE INTO tag (namespace, tag, slot) VALUES (?, ?, ?);

-- name: delete_tags
-- Run before the new tags are written.
DELETE FROM tag WHERE slot = ?;

-- name: put_entry
-- A trigger adds the words to the full-text index.
INSERT INTO entry (terms, title, text, keywords, reasoning, tags, anchor, folder, tokens, slot)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: change_entry
-- A trigger takes the old words out of the full-text index first.
UPDATE entry
SET terms = ?, title = ?, text = ?, keywords = ?, reasoning = ?, tags = ?, anchor = ?, folder = ?, tokens = ?
WHERE slot = ?;

-- name: entry_before
-- What a memory's words are compared with when they are read anew.
SELECT terms, title, text, keywords, reasoning, tags, anchor, folder, tokens FROM entry WHERE slot = ?;

-- name: entries_to_look_at
-- Entries of memories with a key, and those with any letter that is not of ASCII. char(1) to char(127) is ASCII.
SELECT entry.slot, memory.key IS NOT NULL AS keyed,
       entry.text || char(10) || entry.title || char(10) || entry.keywords || char(10)
       || entry.reasoning || char(10) || entry.tags || char(10) || entry.anchor || char(10) || entry.folder AS every
FROM entry
CROSS JOIN memory ON memory.slot = entry.slot
WHERE entry.slot BETWEEN ? AND ? AND (keyed OR every GLOB '*[^' || char(1) || '-' || char(127) || ']*');

-- name: add_words
-- After entries of a namespace were made anew.
UPDATE namespace SET words = words + ? WHERE id = ?;

-- name: delete_entry
-- A memory that left the indexed states cannot be found.
DELETE FROM entry WHERE slot = ?;

-- name: append_revision
-- Appends one line to the log.
INSERT INTO revision (
    namespace, seq, number, memory, version, operation, actor, surface, session, request, at, batch, digest, hash
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: put_payload
-- The part of a revision that can be erased.
INSERT INTO payload (id, salt, body) VALUES (?, ?, ?);

-- name: put_link
-- A memory that is named twice counts once.
INSERT INTO link (slot, kind, target) VALUES (?, ?, ?) ON CONFLICT DO NOTHING;

-- name: delete_link
-- The memory does not name the other one any more.
DELETE FROM link WHERE slot = ? AND kind = ? AND target = ?;

-- name: links
-- Links in both directions.
SELECT link.slot AS slot, memory.id, link.kind AS kind, link.target AS target
FROM memory CROSS JOIN link ON link.slot = memory.slot
WHERE memory.namespace = :namespace AND memory.id = :memory
UNION
SELECT link.slot, memory.id, link.kind, link.target
FROM link CROSS JOIN memory ON memory.slot = link.slot
WHERE link.target = :memory AND link.slot BETWEEN :first AND :last
ORDER BY slot, kind, target;

-- name: links_to
-- The memories that name one of some, given as a list of ids in hexadecimal digits; of keys of one type, if it is given.
SELECT DISTINCT link.slot, memory.id, link.kind, link.target
FROM json_each(:memories) AS named
CROSS JOIN link ON link.target = unhex(named.value)
CROSS JOIN memory ON memory.slot = link.slot
WHERE link.slot BETWEEN :first AND :last
    AND (:key_type IS NULL OR (memory.key >= :key_type || ':' AND memory.key < :key_type || ';'))
ORDER BY link.slot, link.kind, link.target;

-- name: with_evidence
-- The memories of a namespace that may have links, when the index of links is first made.
memory.evidence IS NOT NULL AND memory.slot > :after AND memory.slot <= :last ORDER BY memory.slot

-- name: add_tombstone
-- Of two tombstones of one text the later time counts.
INSERT INTO tombstone (namespace, digest, at, reason) VALUES (?, ?, ?, ?)
ON CONFLICT (namespace, digest) DO UPDATE SET at = max(at, excluded.at), reason = excluded.reason;

-- name: tombstone_since
-- Evidence that is older than this must not bring the text back.
SELECT max(at) FROM tombstone WHERE namespace = ? AND digest IN (?, ?, ?);

-- name: lift_tombstone
-- The text was remembered again, so older evidence may mention it.
DELETE FROM tombstone WHERE namespace = ? AND digest IN (?, ?, ?);

-- name: generation_id
-- A generation is one vector space.
SELECT id FROM generation WHERE name = ?;

-- name: create_generation
-- The first vector of a model makes its generation.
INSERT INTO generation (name, provider, model, dimensions, version) VALUES (?, ?, ?, ?, ?) RETURNING id;

-- name: first_serves
-- The first generation of a store serves at once.
INSERT INTO meta (name, value) VALUES ('serving', ?) ON CONFLICT DO NOTHING;

-- name: serving
-- The generation whose vectors answer.
SELECT meta.value, provider, model, dimensions, version
FROM meta LEFT JOIN generation ON generation.id = meta.value
WHERE meta.name = 'serving';

-- name: generations
-- Every generation with its vectors, counted from an index. A vector that is damaged counts as well.
SELECT provider, model, dimensions, version, generation.id IS (SELECT value FROM meta WHERE meta.name = 'serving'),
       (
           SELECT coalesce(sum((
               SELECT count(*) FROM vector INDEXED BY vector_passage
               WHERE vector.namespace = namespace.id AND vector.generation = generation.id
           )), 0)
           FROM namespace
       )
FROM generation ORDER BY generation.id;

-- name: drop_vectors
-- A part of the vectors of a generation: a transaction should be short.
DELETE FROM vector WHERE id IN (
    SELECT vector.id FROM namespace CROSS JOIN vector INDEXED BY vector_passage ON vector.namespace = namespace.id
    WHERE vector.generation = ? LIMIT ?
);

-- name: delete_generation
-- Without vectors nothing refers to it.
DELETE FROM generation WHERE id = ?;

-- name: calibration
-- What unrelated texts reach with a model.
SELECT unrelated FROM generation WHERE name = ?;

-- name: put_calibration
-- Whoever measured it first wins: relevance should not change without a reason.
UPDATE generation SET unrelated = coalesce(unrelated, ?) WHERE id = ?;

-- name: put_call
-- One request to a provider.
INSERT INTO provider_call (
    at, provider, model, host, purpose, items, sent_bytes, received_bytes, input_tokens, output_tokens, cost, outcome
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: prune_calls
-- Calls of long ago, and what is beyond the bound.
DELETE FROM provider_call WHERE at < ? OR id <= (SELECT max(id) FROM provider_call) - ?;

-- name: calls
-- Newest first.
SELECT at, provider, model, host, purpose, items, sent_bytes, received_bytes, input_tokens, output_tokens, cost, outcome
FROM provider_call WHERE at >= ? ORDER BY at DESC, id DESC LIMIT ?;

-- name: calls_total
-- For the budget of a day.
SELECT coalesce(sum(input_tokens + output_tokens), 0), coalesce(sum(cost), 0.0) FROM provider_call WHERE at >= ?;

-- name: park
-- A later failure about the same memory takes the place of the earlier one. What was erased meanwhile stays gone.
INSERT INTO parked (namespace, slot, purpose, model, error, output, attempts, at)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8
WHERE ?2 IS NULL OR EXISTS (SELECT 1 FROM memory WHERE memory.slot = ?2)
ON CONFLICT (slot, purpose) DO UPDATE SET
    model = excluded.model, error = excluded.error, output = excluded.output, attempts = excluded.attempts,
    at = excluded.at
RETURNING id;

-- name: parked
-- Oldest first.
SELECT id, purpose, slot & 4294967295, model, error, output, attempts, at
FROM parked WHERE namespace = ? ORDER BY at, id;

-- name: unpark
-- Asked again, or thrown away.
DELETE FROM parked WHERE namespace = ? AND id = ?;

-- name: unpark_memory
-- It may say what an earlier version said.
DELETE FROM parked WHERE slot = ?;

-- name: unpark_rest
-- What is parked about no memory in particular goes with the last memory of its namespace.
DELETE FROM parked WHERE namespace = ?1 AND NOT EXISTS (SELECT 1 FROM memory WHERE memory.namespace = ?1);

-- name: put_vector
-- A passage has one vector per generation; whoever computed it first wins. A passage that was erased or changed while it
-- was embedded must not come back as a vector.
INSERT OR IGNORE INTO vector (id, namespace, generation, passage_hash, checksum, data)
SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE EXISTS (
    SELECT 1 FROM memory
    WHERE namespace = ?2 AND passage_hash = ?4 AND state IN ('active', 'superseded')
);

-- name: note_use
-- Counters only grow and last times only move forward, in whatever order the processes flush.
INSERT INTO use (slot, recall_count, recalled_at, access_count, accessed_at)
SELECT slot, ?2, ?3, ?4, ?5 FROM memory WHERE slot = ?1
ON CONFLICT (slot) DO UPDATE SET
    recall_count = recall_count + excluded.recall_count,
    recalled_at = max(coalesce(recalled_at, excluded.recalled_at), coalesce(excluded.recalled_at, recalled_at)),
    access_count = access_count + excluded.access_count,
    accessed_at = max(coalesce(accessed_at, excluded.accessed_at), coalesce(excluded.accessed_at, accessed_at));

-- name: use_totals
-- RETURNING in the statement above would take twice as long.
SELECT slot & 4294967295, recall_count, access_count FROM use WHERE slot IN (SELECT value FROM json_each(?));

-- name: note_review
-- The best rank and both ends of the time count, in whatever order the processes flush.
INSERT INTO review (slot, first_at, at, rank)
SELECT slot, ?2, ?3, ?4 FROM memory WHERE slot = ?1
ON CONFLICT (slot) DO UPDATE SET
    first_at = min(first_at, excluded.first_at), at = max(at, excluded.at), rank = min(rank, excluded.rank);

-- name: pending_reviews
-- Oldest first.
SELECT slot, rank, first_at, at FROM review WHERE slot BETWEEN ? AND ? ORDER BY at, slot;

-- name: take_review
-- One that was retrieved once more since it was read stays for the next time.
DELETE FROM review WHERE slot = ? AND at = ?;

-- name: select_memory
-- The columns in the order that rows.py reads them. Ends in an open WHERE: each query adds its own condition.
SELECT memory.slot, id, content_hash, passage_hash, checksum, key, version, seq, state, tier, category, context_type,
       source, source_project, conversation_id, session_id, channel, spec_folder, file_path, anchor_id, trust,
       importance, confidence, observation_count, validation_count, created_at, updated_at, valid_at, invalid_at,
       expires_at, text, title, abstract, summary, reasoning, tags, keywords, "references", trigger_phrases, evidence,
       metadata, supersedes, merged_from, recall_count, recalled_at, access_count, accessed_at
FROM memory LEFT JOIN use USING (slot)
WHERE

-- name: select_slot
-- The slot alone, also of a row whose other columns cannot be read. Ends in an open WHERE.
SELECT memory.slot FROM memory WHERE

-- name: by_slot
-- One memory by its number.
memory.slot = ?

-- name: by_slots
-- Several memories at once, by a JSON list of slots.
memory.slot IN (SELECT value FROM json_each(?))

-- name: by_id
-- A UUID within the namespace.
namespace = ? AND id = ?

-- name: by_key
-- A key is an identity for ever, so the state does not matter.
namespace = ? AND key = ?

-- name: keys_of
-- In the order of the index on keys, which is that of code points. Nothing of a key comes after U+10FFFF.
SELECT key, slot FROM memory
WHERE namespace = :namespace AND key > :after AND key >= :prefix AND key < :prefix || char(1114111)
ORDER BY key LIMIT :limit;

-- name: last_keys_of
-- The same from the end.
SELECT key, slot FROM memory
WHERE namespace = :namespace AND key > :after AND key >= :prefix AND key < :prefix || char(1114111)
ORDER BY key DESC LIMIT :limit;

-- name: by_hash
-- Every memory of one content hash, oldest first.
namespace = ? AND content_hash = ? ORDER BY memory.slot

-- name: by_content
-- The memory that a new one without a key would duplicate: the same text in the same scope.
namespace = ? AND content_hash = ? AND conversation_id IS ? AND spec_folder IS ? AND file_path IS ? AND anchor_id IS ?
AND key IS NULL AND state = 'active' ORDER BY memory.slot LIMIT 1

-- name: has_active_text
-- Whether an active memory, with a key or without, has this text in this scope.
SELECT EXISTS (
    SELECT 1 FROM memory
    WHERE namespace = ? AND content_hash = ? AND conversation_id IS ? AND spec_folder IS ? AND file_path IS ?
    AND anchor_id IS ? AND state = 'active'
);

-- name: has_active_key
-- Whether the memory with this key is active and has this text.
SELECT EXISTS (SELECT 1 FROM memory WHERE namespace = ? AND key = ? AND content_hash = ? AND state = 'active');

-- name: matching
-- A hundred thousand numbers as one value: a row for each would cost ten times as much.
SELECT json_group_array(memory.slot & 4294967295) FROM memory WHERE

-- name: in_namespace
-- A namespace is a range of slots.
memory.slot BETWEEN :first AND :last

-- name: above
-- The next page, oldest first.
memory.slot > :after

-- name: below
-- The next page, newest first.
memory.slot < :after

-- name: all_after
-- Every row of a namespace, whatever its state.
memory.slot > :after AND memory.slot <= :last ORDER BY memory.slot LIMIT :limit

-- name: oldest_first
-- Order of a page.
ORDER BY memory.slot LIMIT :limit

-- name: newest_first
-- Order of a page.
ORDER BY memory.slot DESC LIMIT :limit

-- name: where_tags
-- The memory has all of the tags, not any.
memory.slot IN (
    SELECT slot FROM tag
    WHERE namespace = :namespace AND tag IN (SELECT value FROM json_each(:tags))
    GROUP BY slot HAVING count(*) = :tag_count
)

-- name: where_categories
-- The category is one of the list.
category IN (SELECT value FROM json_each(:categories))

-- name: where_sources
-- The source is one of the list.
source IN (SELECT value FROM json_each(:sources))

-- name: where_states
-- The state is one of the list.
state IN (SELECT value FROM json_each(:states))

-- name: where_active
-- The most common filter by far, without a list to search.
state = 'active'

-- name: where_context_type
-- The field has exactly this value.
context_type = :context_type

-- name: where_tier
-- The field has exactly this value.
tier = :tier

-- name: where_constitutional
-- Asked with every recall: written so that the index of these few is used.
namespace = :namespace AND tier = 'constitutional'

-- name: where_source_project
-- The field has exactly this value.
source_project = :source_project

-- name: where_spec_folder
-- The field has exactly this value.
spec_folder = :spec_folder

-- name: where_conversation_id
-- The field has exactly this value.
conversation_id = :conversation_id

-- name: where_key_type
-- What stands before the colon of a key. The next character after a colon is a semicolon. `json_each` has a key as well.
memory.namespace = :namespace AND memory.key >= :key_type || ':' AND memory.key < :key_type || ';'

-- name: where_min_importance
-- Both ends are included.
importance >= :min_importance

-- name: where_max_importance
-- Both ends are included.
importance <= :max_importance

-- name: where_where
-- Each entry that is asked for is one of its values, or a list that holds one: `json_each` of a list gives what is in it,
-- of a single value that value. Of an object it gives what is in it as well, and that is not meant. A name needs its
-- quotes because of dots, and holds no quote itself. True is 1 and false 0 to SQLite, so the type counts too.
CASE WHEN json_valid(memory.metadata) THEN NOT EXISTS (
    SELECT 1 FROM json_each(:where) AS wanted
    WHERE coalesce(json_type(memory.metadata, '$."' || wanted.key || '"') = 'object', TRUE) OR NOT EXISTS (
        SELECT 1
        FROM json_each(memory.metadata, '$."' || wanted.key || '"') AS held, json_each(wanted.value) AS allowed
        WHERE held.atom IS allowed.atom
            AND (held.type = allowed.type OR held.type IN ('integer', 'real') AND allowed.type IN ('integer', 'real'))
    )
) ELSE FALSE END

-- name: where_told_in
-- As `perdure.visibility.places_of` decides: what was imported from a project that nobody vouches for is told there alone.
(memory.trust <> 'low' OR memory.source <> 'import' OR CASE
    WHEN json_valid(memory.metadata) AND json_type(memory.metadata, '$.told_in') = 'array' THEN EXISTS (
        SELECT 1 FROM json_each(memory.metadata, '$.told_in') AS place, json_each(:told_in) AS asked
        WHERE place.atom = asked.atom
    )
    ELSE coalesce('/' || memory.source_project IN (SELECT asked.atom FROM json_each(:told_in) AS asked), TRUE) END)

-- name: where_since
-- The time of a memory is when it became true, else when it was made.
coalesce(valid_at, created_at) >= :since

-- name: where_until
-- The end is not included, so that two adjoining ranges share nothing.
coalesce(valid_at, created_at) < :until

-- name: where_not_deprecated
-- Deprecated memories leave ordinary results at once.
tier <> 'deprecated'

-- name: where_no_episode
-- As `perdure.visibility.kind_of` decides: the key is one that Perdure gave to an episode.
(memory.key GLOB 'episode:*/[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]') IS NOT TRUE

-- name: where_no_proposal
-- The same of proposals.
(memory.key GLOB 'proposal:*/[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]') IS NOT TRUE

-- name: where_no_message
-- The same of messages.
(memory.key GLOB 'message:*/[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]') IS NOT TRUE

-- name: where_valid
-- The memory is true now and has not expired.
coalesce(valid_at <= :now, TRUE) AND coalesce(invalid_at > :now, TRUE) AND coalesce(expires_at > :now, TRUE)

-- name: where_created_since
-- The time when the memory was made, whatever it speaks of.
created_at >= :created_since

-- name: where_created_until
-- The end is not included.
created_at < :created_until

-- name: where_unexpired_at
-- An expired memory is hidden at once, whenever maintenance marks it as expired.
coalesce(expires_at > :unexpired_at, TRUE)

-- name: where_numbers
-- Numbers, as a JSON list. What is no number of a memory must not lead into another namespace.
memory.slot IN (SELECT :first | value FROM json_each(:numbers) WHERE value BETWEEN 1 AND 4294967295)

-- name: where_offered
-- As `perdure.tiers.offered_tier` decides: proposed by a model, or earned by being useful.
(
    CASE WHEN json_valid(metadata) THEN
        coalesce(
            (SELECT value FROM json_each(:boosts) WHERE key = json_extract(memory.metadata, '$.' || :proposed))
            > (SELECT value FROM json_each(:boosts) WHERE key = memory.tier),
            FALSE
        )
    ELSE FALSE END
    OR validation_count >= :validations AND confidence >= :enough
        AND tier IN (SELECT value FROM json_each(:below))
)

-- name: select_lines
-- Lines of the log with the payloads that were not erased, in the order that reader.py reads. Ends in an open WHERE.
SELECT revision.seq, revision.number, revision.memory, revision.version, revision.operation, revision.actor,
       revision.surface, revision.session, revision.request, revision.at, revision.batch, revision.digest,
       revision.hash, payload.body
FROM revision LEFT JOIN payload ON payload.id = (revision.namespace << 32 | revision.seq)
WHERE

-- name: lines_of_namespace
-- A log belongs to one namespace.
revision.namespace = :namespace

-- name: lines_of_memory
-- The history of one memory, by its number: left to itself, SQLite would read the whole log in its order.
revision.namespace = :namespace AND revision.seq IN (
    SELECT own.seq FROM revision AS own INDEXED BY revision_version
    WHERE own.namespace = :namespace AND own.number = :number
)
ORDER BY revision.seq

-- name: lines_at
-- For each of some memories, as a JSON list of numbers, its newest line up to a position.
revision.namespace = :namespace AND revision.seq IN (
    SELECT (
        SELECT max(earlier.seq) FROM revision AS earlier INDEXED BY revision_version
        WHERE earlier.namespace = :namespace AND earlier.number = wanted.value AND earlier.seq <= :seq
    )
    FROM json_each(:numbers) AS wanted
)

-- name: lines_batch
-- The lines of one call.
revision.batch = :batch

-- name: lines_session
-- The lines of one session.
revision.session = :session

-- name: lines_actor
-- The lines of one actor.
revision.actor = :actor

-- name: lines_operation
-- The lines of one kind of change.
revision.operation = :operation

-- name: lines_since
-- The moment is included.
revision.at >= :since

-- name: lines_until
-- The end is not included.
revision.at < :until

-- name: lines_request
-- The line of the call with this idempotency key. IS NOT NULL makes SQLite use the index of these keys.
revision.request = :request AND revision.request IS NOT NULL

-- name: lines_before
-- The next page, newest first.
revision.seq < :before

-- name: lines_after
-- The next page, oldest first.
revision.seq > :after

-- name: lines_newest_first
-- Order of a page.
ORDER BY revision.seq DESC LIMIT :limit

-- name: lines_oldest_first
-- Order of a page.
ORDER BY revision.seq LIMIT :limit

-- name: seq_at
-- From the end, because a clock that went back does not take back what was written.
SELECT seq FROM revision WHERE namespace = ? AND at <= ? ORDER BY seq DESC LIMIT 1;

-- name: changed_after
-- Memories with a line after a position.
SELECT DISTINCT number FROM revision WHERE namespace = :namespace AND seq > :seq ORDER BY number;

-- name: changed_in_folder
-- Memories with a line after a position that are in the folder now or were in it at the position.
SELECT changed.number
FROM (SELECT DISTINCT number FROM revision WHERE namespace = :namespace AND seq > :seq) AS changed
WHERE EXISTS (
    SELECT 1 FROM memory WHERE memory.slot = (:namespace << 32 | changed.number) AND memory.spec_folder = :folder
) OR (
    SELECT CASE WHEN json_valid(payload.body) THEN json_extract(payload.body, '$.spec_folder') END
    FROM payload WHERE payload.id = (:namespace << 32 | (
        SELECT max(seq) FROM revision INDEXED BY revision_version
        WHERE namespace = :namespace AND number = changed.number AND seq <= :seq
    ))
) = :folder
ORDER BY changed.number;

-- name: reworded
-- One pass over an index that holds nothing else.
SELECT versions.number
FROM (
    SELECT number FROM revision INDEXED BY revision_version
    WHERE namespace = :namespace GROUP BY number HAVING min(version) <> max(version)
) AS versions
CROSS JOIN memory ON memory.slot = (:namespace << 32 | versions.number)
WHERE memory.state IN ('active', 'superseded')
ORDER BY versions.number;

-- name: last_version
-- The highest version comes from the end of an index.
SELECT coalesce(max(version), 0) FROM revision WHERE namespace = ? AND number = ?;

-- name: passage_vector
-- The vector of a passage.
SELECT checksum, data FROM vector WHERE namespace = ? AND generation = ? AND passage_hash = ?;

-- name: evictable
-- Of one class, what may go, least recently used first. Nothing was used before it was changed: so the oldest few by
-- change, in the order of an index, mostly hold those that are wanted. `edge` is the last of these few, NULL when they
-- were all there are. The tokens are read only for what is answered. `by_model` ends the surface of what models did;
-- with it, nothing goes that a person had a hand in, nor what was merged from such a memory.
SELECT chosen.slot & 4294967295, chosen.importance, chosen.tier, chosen.state, coalesce(entry.tokens, 0),
       chosen.last_used, chosen.edge
FROM (
    SELECT oldest.slot, importance, tier, state, edge,
           max(updated_at, coalesce(accessed_at, updated_at), coalesce(recalled_at, updated_at)) AS last_used
    FROM (
        SELECT slot, importance, tier, state, updated_at,
               CASE WHEN count(*) OVER () >= :window THEN max(updated_at) OVER () END AS edge
        FROM (
            SELECT slot, importance, tier, state, updated_at FROM memory INDEXED BY memory_age
            WHERE namespace = :namespace AND state = :state AND state IN ('active', 'superseded')
                AND importance >= :from AND importance < :below
                AND tier NOT IN (SELECT value FROM json_each(:tiers))
                AND (:by_model IS NULL OR NOT EXISTS (
                    WITH RECURSIVE origin (slot) AS (
                        SELECT memory.slot
                        UNION
                        SELECT source.slot
                        FROM origin
                        CROSS JOIN link ON link.slot = origin.slot AND link.kind = 'merged_from'
                        CROSS JOIN memory AS source ON source.namespace = :namespace AND source.id = link.target
                    )
                    SELECT 1
                    FROM origin
                    CROSS JOIN revision INDEXED BY revision_version
                    ON revision.namespace = :namespace AND revision.number = origin.slot & 4294967295
                    WHERE revision.operation IN ('insert', 'observe', 'update', 'validate', 'promote', 'restore')
                        AND substr(revision.surface, -length(:by_model)) <> :by_model
                ))
            ORDER BY updated_at
            LIMIT :window
        )
    ) AS oldest LEFT JOIN use USING (slot)
    ORDER BY last_used, oldest.slot
    LIMIT :limit
) AS chosen
LEFT JOIN entry ON entry.slot = chosen.slot
ORDER BY chosen.last_used, chosen.slot;

-- name: namespace_load
-- How many memories may be found, how many tokens they have, and the limits these are compared with.
SELECT documents, tokens, max_items, max_tokens FROM namespace WHERE id = ?;

-- name: word_totals
-- The counts of the keyword index, kept by every write.
SELECT documents, words FROM namespace WHERE id = ?;

-- name: capacity
-- Counted on demand: only people ask, and rarely.
SELECT count(*) FILTER (WHERE importance >= :high OR tier IN (SELECT value FROM json_each(:tiers))),
       min(importance), avg(importance), max(importance)
FROM memory INDEXED BY memory_age WHERE namespace = :namespace AND state IN ('active', 'superseded');

-- name: evicted_count
-- Evicted memories that can still be restored.
SELECT count(*) FROM memory INDEXED BY memory_evicted WHERE namespace = ? AND state = 'evicted';

-- name: version_count
-- Versions of which at least one revision still has its payload.
SELECT count(*) FROM (
    SELECT DISTINCT revision.number, revision.version
    FROM revision JOIN payload ON payload.id = (revision.namespace << 32 | revision.seq)
    WHERE revision.namespace = ?
);

-- name: due
-- Active memories that have expired. The caller stops reading at its limit.
SELECT namespace.name, memory.slot
FROM memory INDEXED BY memory_expiry JOIN namespace ON namespace.id = memory.namespace
WHERE memory.expires_at <= :moment AND memory.state = 'active'
ORDER BY memory.expires_at, memory.slot;

-- name: purgeable
-- Memories evicted long enough ago, by their newest line: a change since then puts it off. The lines before it show
-- whether the clock had gone back by then; they are read only as far as the caller reads on. `by_model` ends the surface
-- of what models did: with it, what a model changed last is left out.
WITH evicted AS MATERIALIZED (
    SELECT namespace.name AS name, memory.namespace AS namespace, memory.slot AS slot, memory.seq AS seq
    FROM namespace
    CROSS JOIN memory INDEXED BY memory_evicted ON memory.namespace = namespace.id
    CROSS JOIN revision ON revision.namespace = memory.namespace AND revision.seq = memory.seq
    WHERE memory.state = 'evicted' AND revision.at <= :moment
        AND (:by_model IS NULL OR substr(revision.surface, -length(:by_model)) <> :by_model)
    ORDER BY revision.at, memory.slot
)
SELECT name, slot
FROM evicted
WHERE :moment >= (
    SELECT max(revision.at) FROM revision
    WHERE revision.namespace = evicted.namespace AND revision.seq BETWEEN evicted.seq - 1000 AND evicted.seq
);

-- name: times_after
-- The first and the last write of each hour: no gap between two of them is longer than it was.
SELECT min(at) FROM revision WHERE at > ?1 GROUP BY at / 3600000000
UNION
SELECT max(at) FROM revision WHERE at > ?1 GROUP BY at / 3600000000
ORDER BY 1;

-- name: positions
-- The position of every log, and how many memories of it may be found.
SELECT id, name, seq, documents FROM namespace ORDER BY id;

-- name: folder_count
-- Memories of one folder that may be found.
SELECT count(*) FROM memory INDEXED BY memory_folder
WHERE namespace = ? AND spec_folder = ? AND state IN ('active', 'superseded');

-- name: checkpoint_taken
-- A name that stands for everything may stand for nothing else, and the other way round.
SELECT EXISTS (SELECT 1 FROM checkpoint WHERE name = :name AND (namespace IN (0, :namespace) OR :namespace = 0));

-- name: put_checkpoint
-- A checkpoint is a few numbers, however much it stands for.
INSERT INTO checkpoint (
    namespace, name, positions, memories, actor, spec_folder, description, metadata, created_at
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: checkpoints
-- Checkpoints of one namespace and of everything.
SELECT namespace, name, positions, memories, actor, spec_folder, description, metadata, created_at
FROM checkpoint WHERE namespace IN (0, ?) ORDER BY created_at DESC, name;

-- name: delete_checkpoint
-- The log stays as it is.
DELETE FROM checkpoint WHERE namespace = ? AND name = ?;

-- name: memory_lines
-- Every line of one memory, newest first, with what it said as bytes: erasing must not stumble over damage.
SELECT revision.seq, revision.memory, revision.version, revision.operation, CAST(payload.body AS BLOB)
FROM revision INDEXED BY revision_version
LEFT JOIN payload ON payload.id = (revision.namespace << 32 | revision.seq)
WHERE revision.namespace = ? AND revision.number = ?
ORDER BY revision.seq DESC;

-- name: newest_operation
-- The operation of the newest line of a memory.
SELECT operation FROM revision INDEXED BY revision_version WHERE namespace = ? AND number = ? ORDER BY seq DESC LIMIT 1;

-- name: memory_traces
-- What an erased memory is taken off: the statistics of the index, and its own passage.
SELECT memory.passage_hash, entry.terms, entry.tokens
FROM memory LEFT JOIN entry USING (slot) WHERE memory.slot = ?;

-- name: delete_payload
-- The line stays, without its payload.
DELETE FROM payload WHERE id = ?;

-- name: delete_memory
-- The index row, tags and use of the memory are deleted with it.
DELETE FROM memory WHERE slot = ?;

-- name: delete_passage
-- The vectors of all generations, unless a memory has the passage.
DELETE FROM vector
WHERE namespace = ?1 AND generation IN (SELECT id FROM generation) AND passage_hash = ?2 AND NOT EXISTS (
    SELECT 1 FROM memory
    WHERE memory.namespace = ?1 AND memory.passage_hash = ?2 AND memory.state IN ('active', 'superseded')
);

-- name: delete_unowned_vectors
-- When it cannot be read any more which passages they were: all that no memory has.
DELETE FROM vector
WHERE vector.id BETWEEN ? AND ? AND NOT EXISTS (
    SELECT 1 FROM memory
    WHERE memory.namespace = vector.namespace AND memory.passage_hash = vector.passage_hash
        AND memory.state IN ('active', 'superseded')
);

-- name: count_word
-- In how many memories of the namespace a word stands. 43 ns a memory: faster than keeping a count for every word.
SELECT count(*) FROM entry_fts WHERE entry_fts MATCH ? AND rowid BETWEEN ? AND ?;

-- name: memories_with_word
-- The memories that hold a word, by number and as one value.
SELECT json_group_array(rowid & 4294967295) FROM entry_fts WHERE entry_fts MATCH ? AND rowid BETWEEN ? AND ?;

-- name: newest_with_words
-- Memories that hold all of some common words. CROSS JOIN keeps the order of work. Ends in open conditions.
SELECT entry_fts.rowid
FROM entry_fts CROSS JOIN memory ON memory.slot = entry_fts.rowid
WHERE entry_fts MATCH :match AND entry_fts.rowid BETWEEN :first AND :last AND

-- name: only_the_newest
-- Used when there are more memories than can be looked at.
ORDER BY entry_fts.rowid DESC LIMIT :limit

-- name: allowed
-- What a filter lets pass, up to a limit: few enough to look at each of them? Ends in open conditions.
SELECT memory.slot FROM memory WHERE

-- name: first_few
-- The limit of the statement above.
LIMIT :limit

-- name: candidates
-- What the score is computed from, for slots as a JSON list. CROSS JOIN keeps the order of work. Ends in open conditions.
SELECT memory.slot, entry.terms
FROM json_each(:slots) AS wanted
CROSS JOIN memory ON memory.slot = wanted.value
CROSS JOIN entry ON entry.slot = wanted.value
WHERE

-- name: position
-- One read tells a recall index whether it is fresh, and whether the same generation serves.
SELECT seq, vector, coalesce((SELECT value FROM meta WHERE meta.name = 'repairs'), 0),
       CASE WHEN seq > 0 THEN substr(head, 1, 8) ELSE x'' END, (SELECT value FROM meta WHERE meta.name = 'serving')
FROM namespace WHERE name = ?;

-- name: hash_at
-- Whether the log still has an entry that somebody has read.
SELECT hash FROM revision WHERE namespace = ? AND seq = ?;

-- name: index_columns
-- What the recall index keeps of a memory; the number comes last, from whichever table drives the statement. The vector
-- comes by the passage's hash, never by the memory; whoever needs none gets an empty one. Texts are read as bytes, so that one that is damaged spoils no other;
-- what was said, of conversations alone. A list of trigger phrases that is malformed is damage, and left out.
SELECT entry.terms, CASE WHEN :vectors THEN vector.data WHEN vector.id IS NOT NULL THEN x'' END,
       memory.state = 'active', CAST(memory.tier AS BLOB),
       CASE WHEN memory.key GLOB 'episode:*/[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]' THEN 'episode'
           WHEN memory.key GLOB 'proposal:*/[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]' THEN 'proposal'
           WHEN memory.key GLOB 'message:*/[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]' THEN 'message' END,
       memory.valid_at, memory.invalid_at,
       memory.expires_at, coalesce(memory.valid_at, memory.created_at), memory.updated_at,
       CAST(memory.category AS BLOB), memory.observation_count, memory.confidence, memory.importance,
       CAST(memory.anchor_id AS BLOB), CAST(memory.conversation_id AS BLOB), CAST(memory.session_id AS BLOB),
       CASE WHEN memory.conversation_id IS NOT NULL THEN CAST(memory.text AS BLOB) END,
       CASE WHEN json_valid(memory.metadata) THEN CAST(memory.metadata ->> '$.speaker' AS BLOB) END,
       CASE WHEN json_valid(memory.metadata) AND json_type(memory.metadata, '$.stability') IN ('integer', 'real')
           THEN memory.metadata ->> '$.stability' END,
       CASE WHEN json_valid(memory.trigger_phrases) AND json_type(memory.trigger_phrases) = 'array'
           THEN CAST(memory.trigger_phrases AS BLOB) END,
       memory.passage_hash, memory.trust = 'low',
       CASE WHEN memory.trust = 'low' AND memory.source = 'import' THEN CAST(CASE
           WHEN json_valid(memory.metadata) AND json_type(memory.metadata, '$.told_in') = 'array'
           THEN memory.metadata -> '$.told_in'
           WHEN memory.source_project IS NOT NULL THEN json_array('/' || memory.source_project) END AS BLOB) END,

-- name: index_rows
-- How a recall index is filled, in the order of the slots.
       entry.slot & 4294967295
FROM entry
CROSS JOIN memory ON memory.slot = entry.slot
LEFT JOIN vector ON vector.namespace = memory.namespace AND vector.generation = :generation
    AND vector.passage_hash = memory.passage_hash
WHERE entry.slot > :after AND entry.slot <= :last
ORDER BY entry.slot
LIMIT :limit;

-- name: index_rows_of_categories
-- As above, of the memories of some categories: a session starts with these, however many messages there are.
       memory.slot & 4294967295
FROM memory
CROSS JOIN entry ON entry.slot = memory.slot
LEFT JOIN vector ON vector.namespace = memory.namespace AND vector.generation = :generation
    AND vector.passage_hash = memory.passage_hash
WHERE memory.slot > :after AND memory.slot <= :last
    AND memory.category IN (SELECT value FROM json_each(:categories))
ORDER BY memory.slot
LIMIT :limit;

-- name: index_rows_with_triggers
-- As above, of the memories that have trigger phrases: from an index that holds these alone.
       memory.slot & 4294967295
FROM memory INDEXED BY memory_triggers
CROSS JOIN entry ON entry.slot = memory.slot
LEFT JOIN vector ON vector.namespace = memory.namespace AND vector.generation = :generation
    AND vector.passage_hash = memory.passage_hash
WHERE memory.namespace = :namespace AND memory.trigger_phrases IS NOT NULL AND memory.state = 'active'
    AND memory.tier <> 'deprecated' AND memory.slot > :after AND memory.slot <= :last
ORDER BY memory.slot
LIMIT :limit;

-- name: index_changes
-- What the log and the vectors brought since a position. A memory without an entry has left the index, and one that was
-- erased is not even a memory any more.
       changed.slot & 4294967295
FROM (
    SELECT namespace << 32 | number AS slot FROM revision WHERE namespace = :namespace AND seq > :seq
    UNION
    SELECT memory.slot
    FROM vector CROSS JOIN memory ON memory.namespace = vector.namespace AND memory.passage_hash = vector.passage_hash
    WHERE vector.id BETWEEN :first_vector AND :last_vector AND vector.generation = :generation
        AND memory.state IN ('active', 'superseded')
) AS changed
LEFT JOIN memory ON memory.slot = changed.slot
LEFT JOIN entry ON entry.slot = changed.slot
LEFT JOIN vector ON vector.namespace = memory.namespace AND vector.generation = :generation
    AND vector.passage_hash = memory.passage_hash
ORDER BY changed.slot;

-- name: use_counts
-- Use is counted beside the log: memories that were never used are left out.
SELECT slot & 4294967295, recall_count,
       coalesce(max(recalled_at, accessed_at), recalled_at, accessed_at, 0)
FROM use
WHERE

-- name: use_in_namespace
-- Of a whole namespace.
slot BETWEEN :first AND :last

-- name: use_of_slots
-- Of a few, as a JSON list.
slot IN (SELECT value FROM json_each(:slots))

-- name: pending
-- Passages that may be found but have no vector of the generation, straight from two indexes and one at a time: read
-- as many as are wanted.
SELECT passage_hash, min(slot)
FROM memory INDEXED BY memory_passage
WHERE namespace = :namespace AND state IN ('active', 'superseded') AND passage_hash >= :first
    AND passage_hash < :last AND NOT EXISTS (
    SELECT 1 FROM vector
    WHERE vector.namespace = memory.namespace AND vector.generation = :generation
        AND vector.passage_hash = memory.passage_hash
)
GROUP BY passage_hash;

-- name: pending_count
-- The passages of the statement above, counted.
SELECT count(DISTINCT passage_hash)
FROM memory INDEXED BY memory_passage
WHERE namespace = :namespace AND state IN ('active', 'superseded') AND NOT EXISTS (
    SELECT 1 FROM vector
    WHERE vector.namespace = memory.namespace AND vector.generation = :generation
        AND vector.passage_hash = memory.passage_hash
);

-- name: namespace_statistics
-- One row of statistics for each namespace.
SELECT id, name, seq FROM namespace ORDER BY name;

-- name: memory_statistics
-- Counted on demand, because nobody asks often enough to keep a count.
SELECT namespace, state, category, count(*), min(created_at), max(created_at)
FROM memory GROUP BY namespace, state, category;
