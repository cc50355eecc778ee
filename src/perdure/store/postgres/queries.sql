-- Every statement that the PostgreSQL store runs, by name, each with its reason. `perdure.` is the schema. Every statement
-- says its namespace, but for those of `EVERYWHERE` in tests/store/test_postgres_rules.py, which are about all of them.

-- name: open_namespace
-- The lock under which everything is handed out. Which generation serves, and which there are, come along.
SELECT namespace.name, namespace.secret, namespace.parked, namespace.unversioned, namespace.seq, namespace.number,
       namespace.head, namespace.documents, namespace.words, namespace.vector, namespace.tokens, namespace.max_items,
       namespace.max_tokens, (SELECT serving.generation FROM perdure.serving WHERE serving.row = 1),
       (SELECT array_agg(generation.id) FROM perdure.generation)
FROM perdure.namespace WHERE namespace.namespace = %(namespace)s
FOR UPDATE OF namespace;

-- name: create_namespace
-- Whoever else makes it first is waited for.
INSERT INTO perdure.namespace (
    namespace, name, secret, seq, number, head, documents, words, vector, tokens, parked, repairs, unversioned, created_at
) VALUES (%(namespace)s, %(name)s, %(secret)s, 0, 0, %(head)s, 0, 0, 0, 0, 0, 0, 0, %(created_at)s)
ON CONFLICT DO NOTHING;

-- name: close_namespace
-- Written once per write transaction, at its end. Whether a vector was new is known only to the server.
UPDATE perdure.namespace SET
    seq = %(seq)s, number = %(number)s, head = %(head)s, documents = %(documents)s, words = %(words)s,
    tokens = %(tokens)s, max_items = %(max_items)s, max_tokens = %(max_tokens)s, parked = %(parked)s,
    unversioned = %(unversioned)s,
    vector = greatest(vector, (SELECT max(position) FROM perdure.vector WHERE vector.namespace = %(namespace)s))
WHERE namespace = %(namespace)s;

-- name: delete_namespace
-- Made by this transaction, which then wrote nothing into it.
DELETE FROM perdure.namespace WHERE namespace = %(namespace)s AND seq = 0;

-- name: position
-- One read tells a recall index whether it is fresh, and whether the same generation serves.
SELECT seq, vector, repairs, substr(head, 1, 8), (SELECT serving.generation FROM perdure.serving WHERE serving.row = 1)
FROM perdure.namespace WHERE namespace = %(namespace)s;

-- name: refresh_statistics
-- Only of what plans are chosen by, and never while somebody else does.
ANALYZE (SKIP_LOCKED) perdure.memory (namespace, number, id, key, content_hash, passage_hash, state),
    perdure.entry (namespace, number), perdure.revision (namespace, seq, number, request, batch),
    perdure.payload (namespace, seq), perdure.vector (namespace, position, generation, passage_hash),
    perdure.use (namespace, number);

-- name: rows_counted
-- How many memories the planner believes in; -1 before anybody has counted.
SELECT reltuples::bigint FROM pg_class WHERE relname = 'memory' AND relnamespace = to_regnamespace(quote_ident(%(schema)s));

-- name: namespace_row
-- What a reader needs of the namespace itself.
SELECT name, secret, documents, words, tokens, max_items, max_tokens, number
FROM perdure.namespace WHERE namespace = %(namespace)s;

-- name: put_memory
-- A later revision of a memory takes the same row.
INSERT INTO perdure.memory (
    namespace, number, id, content_hash, passage_hash, checksum, key, version, seq, state, tier, category,
    context_type, source, source_project, conversation_id, session_id, channel, spec_folder, file_path, anchor_id,
    trust, importance, confidence, observation_count, validation_count, created_at, updated_at, valid_at, invalid_at,
    expires_at, text, title, abstract, summary, reasoning, tags, keywords, "references", trigger_phrases, evidence,
    metadata, supersedes, merged_from
) VALUES (
    %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s,
    %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s
) ON CONFLICT (namespace, number) DO UPDATE SET
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
UPDATE perdure.memory SET key = NULL WHERE namespace = %(namespace)s AND number = %(number)s;

-- name: memory_before
-- The old tags, links and words, which a new revision replaces.
SELECT memory.tags, memory.evidence, memory.supersedes, memory.merged_from, entry.terms, entry.tokens
FROM perdure.memory
LEFT JOIN perdure.entry ON entry.namespace = memory.namespace AND entry.number = memory.number
WHERE memory.namespace = %(namespace)s AND memory.number = %(number)s;

-- name: put_tag
-- A tag given twice counts once.
INSERT INTO perdure.tag (namespace, tag, number) VALUES (%(namespace)s, %(tag)s, %(number)s) ON CONFLICT DO NOTHING;

-- name: delete_tags
-- Run before the new tags are written.
DELETE FROM perdure.tag WHERE namespace = %(namespace)s AND number = %(number)s;

-- name: put_entry
-- The words of a memory that may be found.
INSERT INTO perdure.entry (namespace, number, terms, tokens) VALUES (%(namespace)s, %(number)s, %(terms)s, %(tokens)s)
ON CONFLICT (namespace, number) DO UPDATE SET terms = excluded.terms, tokens = excluded.tokens;

-- name: delete_entry
-- A memory that left the indexed states cannot be found.
DELETE FROM perdure.entry WHERE namespace = %(namespace)s AND number = %(number)s;

-- name: append_revision
-- Appends one line to the log.
INSERT INTO perdure.revision (
    namespace, seq, number, memory, version, operation, actor, surface, session, request, at, batch, digest, hash
) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s);

-- name: put_payload
-- The part of a revision that can be erased.
INSERT INTO perdure.payload (namespace, seq, salt, body) VALUES (%(namespace)s, %(seq)s, %(salt)s, %(body)s);

-- name: put_link
-- A memory that is named twice counts once.
INSERT INTO perdure.link (namespace, number, kind, target)
VALUES (%(namespace)s, %(number)s, %(kind)s, %(target)s) ON CONFLICT DO NOTHING;

-- name: delete_link
-- The memory does not name the other one any more.
DELETE FROM perdure.link
WHERE namespace = %(namespace)s AND number = %(number)s AND kind = %(kind)s AND target = %(target)s;

-- name: links
-- Links in both directions.
SELECT link.number, memory.id, link.kind, link.target
FROM perdure.link
JOIN perdure.memory ON memory.namespace = link.namespace AND memory.number = link.number
WHERE link.namespace = %(namespace)s AND (link.target = %(memory)s OR memory.id = %(memory)s)
ORDER BY link.number, link.kind, link.target;

-- name: links_to
-- The memories that name one of some; of keys of one type, if it is given.
SELECT DISTINCT link.number, memory.id, link.kind, link.target
FROM perdure.link
JOIN perdure.memory ON memory.namespace = link.namespace AND memory.number = link.number
WHERE link.namespace = %(namespace)s AND link.target = ANY(%(memories)s::uuid[]) AND link.kind = ANY(%(kinds)s::text[])
    AND (%(first_key)s::text IS NULL OR (memory.key >= %(first_key)s::text AND memory.key < %(last_key)s::text));

-- name: add_tombstone
-- Of two tombstones of one text the later time counts.
INSERT INTO perdure.tombstone (namespace, digest, at, reason)
VALUES (%(namespace)s, %(digest)s, %(at)s, %(reason)s)
ON CONFLICT (namespace, digest) DO UPDATE SET at = greatest(tombstone.at, excluded.at), reason = excluded.reason;

-- name: tombstone_since
-- Evidence that is older than this must not bring the text back.
SELECT max(at) FROM perdure.tombstone WHERE namespace = %(namespace)s AND digest = ANY(%(digests)s::bytea[]);

-- name: tombstones_of
-- The same of many texts at once.
SELECT digest, at FROM perdure.tombstone WHERE namespace = %(namespace)s AND digest = ANY(%(digests)s::bytea[]);

-- name: lift_tombstone
-- The text was remembered again, so older evidence may mention it.
DELETE FROM perdure.tombstone WHERE namespace = %(namespace)s AND digest = ANY(%(digests)s::bytea[]);

-- name: active_with_text
-- Whether an active memory has this text in this scope, and whether the one with this key has it.
SELECT coalesce(bool_or(
           conversation_id IS NOT DISTINCT FROM %(conversation_id)s AND spec_folder IS NOT DISTINCT FROM %(spec_folder)s
           AND file_path IS NOT DISTINCT FROM %(file_path)s AND anchor_id IS NOT DISTINCT FROM %(anchor_id)s
       ), FALSE), coalesce(bool_or(key = %(key)s), FALSE)
FROM perdure.memory
WHERE namespace = %(namespace)s AND content_hash = %(content_hash)s AND state = 'active';

-- name: put_vector
-- A passage has one vector per generation; whoever computed it first wins. A passage that was erased or changed while it
-- was embedded must not come back as a vector.
INSERT INTO perdure.vector (namespace, position, generation, passage_hash, checksum, data)
SELECT memory.namespace, %(position)s, %(generation)s, %(passage_hash)s, %(checksum)s, %(data)s
FROM perdure.memory
WHERE memory.namespace = %(namespace)s AND memory.passage_hash = %(passage_hash)s
    AND memory.state IN ('active', 'superseded')
LIMIT 1
ON CONFLICT DO NOTHING
RETURNING position;

-- name: note_use
-- Counters only grow and last times only move forward, in whatever order the processes flush. The memory's row is held,
-- so that it cannot be erased meanwhile, and nobody who writes it waits.
INSERT INTO perdure.use (namespace, number, recall_count, recalled_at, access_count, accessed_at)
SELECT memory.namespace, memory.number, %(recalls)s, %(recalled_at)s::bigint, %(accesses)s, %(accessed_at)s::bigint
FROM perdure.memory WHERE memory.namespace = %(namespace)s AND memory.number = %(number)s FOR KEY SHARE
ON CONFLICT (namespace, number) DO UPDATE SET
    recall_count = use.recall_count + excluded.recall_count,
    recalled_at = greatest(use.recalled_at, excluded.recalled_at),
    access_count = use.access_count + excluded.access_count,
    accessed_at = greatest(use.accessed_at, excluded.accessed_at)
RETURNING number, recall_count, access_count;

-- name: note_review
-- The best rank and both ends of the time count, in whatever order the processes flush.
INSERT INTO perdure.review (namespace, number, first_at, at, rank)
SELECT memory.namespace, memory.number, %(first_at)s, %(at)s, %(rank)s
FROM perdure.memory WHERE memory.namespace = %(namespace)s AND memory.number = %(number)s FOR KEY SHARE
ON CONFLICT (namespace, number) DO UPDATE SET
    first_at = least(review.first_at, excluded.first_at), at = greatest(review.at, excluded.at),
    rank = least(review.rank, excluded.rank);

-- name: pending_reviews
-- Oldest first.
SELECT number, rank, first_at, at FROM perdure.review WHERE namespace = %(namespace)s ORDER BY at, number;

-- name: take_review
-- One that was retrieved once more since it was read stays for the next time.
DELETE FROM perdure.review WHERE namespace = %(namespace)s AND number = %(number)s AND at = %(at)s RETURNING number;

-- name: select_memory
-- The columns in the order that rows.py reads them. Ends in an open WHERE: each query adds its own condition.
SELECT memory.number, memory.id, memory.content_hash, memory.passage_hash, memory.checksum, memory.key,
       memory.version, memory.seq, memory.state, memory.tier, memory.category, memory.context_type, memory.source,
       memory.source_project, memory.conversation_id, memory.session_id, memory.channel, memory.spec_folder,
       memory.file_path, memory.anchor_id, memory.trust, memory.importance, memory.confidence,
       memory.observation_count, memory.validation_count, memory.created_at, memory.updated_at, memory.valid_at,
       memory.invalid_at, memory.expires_at, memory.text, memory.title, memory.abstract, memory.summary,
       memory.reasoning, memory.tags, memory.keywords, memory."references", memory.trigger_phrases, memory.evidence,
       memory.metadata, memory.supersedes, memory.merged_from,
       use.recall_count, use.recalled_at, use.access_count, use.accessed_at
FROM perdure.memory
LEFT JOIN perdure.use ON use.namespace = memory.namespace AND use.number = memory.number
WHERE memory.namespace = %(namespace)s AND

-- name: select_memory_to_write
-- As above, with the words: whoever writes the memory again need not ask for them.
SELECT memory.number, memory.id, memory.content_hash, memory.passage_hash, memory.checksum, memory.key,
       memory.version, memory.seq, memory.state, memory.tier, memory.category, memory.context_type, memory.source,
       memory.source_project, memory.conversation_id, memory.session_id, memory.channel, memory.spec_folder,
       memory.file_path, memory.anchor_id, memory.trust, memory.importance, memory.confidence,
       memory.observation_count, memory.validation_count, memory.created_at, memory.updated_at, memory.valid_at,
       memory.invalid_at, memory.expires_at, memory.text, memory.title, memory.abstract, memory.summary,
       memory.reasoning, memory.tags, memory.keywords, memory."references", memory.trigger_phrases, memory.evidence,
       memory.metadata, memory.supersedes, memory.merged_from,
       use.recall_count, use.recalled_at, use.access_count, use.accessed_at,
       entry.terms, entry.tokens
FROM perdure.memory
LEFT JOIN perdure.use ON use.namespace = memory.namespace AND use.number = memory.number
LEFT JOIN perdure.entry ON entry.namespace = memory.namespace AND entry.number = memory.number
WHERE memory.namespace = %(namespace)s AND

-- name: by_number
-- One memory by its number.
memory.number = %(number)s

-- name: by_numbers
-- Several memories at once.
memory.number = ANY(%(numbers)s::bigint[])

-- name: by_id
-- A UUID within the namespace.
memory.id = %(id)s

-- name: by_key
-- A key is an identity for ever, so the state does not matter.
memory.key = %(key)s

-- name: by_hash
-- Every memory of one content hash, oldest first.
memory.content_hash = %(content_hash)s ORDER BY memory.number

-- name: by_content
-- The memory that a new one without a key would duplicate: the same text in the same scope.
memory.content_hash = %(content_hash)s AND memory.conversation_id IS NOT DISTINCT FROM %(conversation_id)s
AND memory.spec_folder IS NOT DISTINCT FROM %(spec_folder)s AND memory.file_path IS NOT DISTINCT FROM %(file_path)s
AND memory.anchor_id IS NOT DISTINCT FROM %(anchor_id)s AND memory.key IS NULL AND memory.state = 'active'
ORDER BY memory.number LIMIT 1

-- name: by_contents
-- The same of many texts; the rest of the scope is left to who asks.
memory.content_hash = ANY(%(content_hashes)s::bytea[]) AND memory.key IS NULL AND memory.state = 'active'
AND coalesce(memory.conversation_id, '') = ANY(%(conversations)s::text[])
ORDER BY memory.number

-- name: all_after
-- Every row of a namespace, whatever its state.
memory.number > %(after)s ORDER BY memory.number LIMIT %(limit)s

-- name: keys_of
-- In the order of the index on keys, which is that of code points. Nothing of a key comes after U+10FFFF.
SELECT key, number FROM perdure.memory
WHERE namespace = %(namespace)s AND key > %(after)s AND key >= %(prefix)s AND key < %(last)s
ORDER BY key LIMIT %(limit)s;

-- name: last_keys_of
-- The same from the end.
SELECT key, number FROM perdure.memory
WHERE namespace = %(namespace)s AND key > %(after)s AND key >= %(prefix)s AND key < %(last)s
ORDER BY key DESC LIMIT %(limit)s;

-- name: matching
-- A hundred thousand numbers as one value: a row for each would cost half as much again.
SELECT array_agg(memory.number) FROM perdure.memory WHERE memory.namespace = %(namespace)s AND

-- name: above
-- The next page, oldest first.
memory.number > %(after)s ORDER BY memory.number LIMIT %(limit)s

-- name: below
-- The next page, newest first.
memory.number < %(after)s ORDER BY memory.number DESC LIMIT %(limit)s

-- name: where_tags
-- The memory has all of the tags, not any.
memory.number IN (
    SELECT tag.number FROM perdure.tag WHERE tag.namespace = %(namespace)s AND tag.tag = ANY(%(tags)s::text[])
    GROUP BY tag.number HAVING count(*) = %(tag_count)s
)

-- name: where_categories
-- The category is one of the list.
memory.category = ANY(%(categories)s::text[])

-- name: where_sources
-- The source is one of the list.
memory.source = ANY(%(sources)s::text[])

-- name: where_states
-- The state is one of the list.
memory.state = ANY(%(states)s::text[])

-- name: where_active
-- The most common filter by far, written so that the indexes of active memories are used.
memory.state = 'active'

-- name: where_context_type
-- The field has exactly this value.
memory.context_type = %(context_type)s

-- name: where_tier
-- The field has exactly this value.
memory.tier = %(tier)s

-- name: where_constitutional
-- Asked with every recall: written so that the index of these few is used.
memory.tier = 'constitutional'

-- name: where_source_project
-- The field has exactly this value.
memory.source_project = %(source_project)s

-- name: where_spec_folder
-- The field has exactly this value.
memory.spec_folder = %(spec_folder)s

-- name: where_conversation_id
-- The field has exactly this value.
memory.conversation_id = %(conversation_id)s

-- name: where_key_type
-- What stands before the colon of a key. The next character after a colon is a semicolon.
memory.key >= %(key_type)s || ':' AND memory.key < %(key_type)s || ';'

-- name: where_min_importance
-- Both ends are included.
memory.importance >= %(min_importance)s

-- name: where_max_importance
-- Both ends are included.
memory.importance <= %(max_importance)s

-- name: where_where
-- One entry of the metadata is one of its values, or a list that holds one. Numbers are compared by value, and everything
-- else by type and value; an object is neither.
EXISTS (
    SELECT 1 FROM jsonb_array_elements(
        CASE jsonb_typeof(memory.metadata::jsonb -> %(entry)s)
            WHEN 'array' THEN memory.metadata::jsonb -> %(entry)s
            ELSE jsonb_build_array(memory.metadata::jsonb -> %(entry)s) END
    ) AS held (value)
    WHERE memory.metadata::jsonb ? %(entry)s AND jsonb_typeof(held.value) NOT IN ('object', 'array')
        AND held.value = ANY(%(values)s::jsonb[])
)

-- name: where_told_in
-- As `perdure.visibility.places_of` decides: what was imported from a project that nobody vouches for is told there alone.
(memory.trust <> 'low' OR memory.source <> 'import' OR CASE
    WHEN jsonb_typeof(memory.metadata::jsonb -> 'told_in') = 'array'
    THEN (memory.metadata::jsonb -> 'told_in') ?| %(told_in)s::text[]
    ELSE coalesce('/' || memory.source_project = ANY(%(told_in)s::text[]), TRUE) END)

-- name: where_since
-- The time of a memory is when it became true, else when it was made.
coalesce(memory.valid_at, memory.created_at) >= %(since)s

-- name: where_until
-- The end is not included, so that two adjoining ranges share nothing.
coalesce(memory.valid_at, memory.created_at) < %(until)s

-- name: where_not_deprecated
-- Deprecated memories leave ordinary results at once.
memory.tier <> 'deprecated'

-- name: where_no_episode
-- As `perdure.visibility.kind_of` decides: the key is one that Perdure gave to an episode.
(memory.key ~ '^episode:.*/[0-9]{8}$') IS NOT TRUE

-- name: where_no_proposal
-- The same of proposals.
(memory.key ~ '^proposal:.*/[0-9]{8}$') IS NOT TRUE

-- name: where_no_message
-- The same of messages.
(memory.key ~ '^message:.*/[0-9]{8}$') IS NOT TRUE

-- name: where_valid
-- The memory is true now and has not expired.
coalesce(memory.valid_at <= %(now)s, TRUE) AND coalesce(memory.invalid_at > %(now)s, TRUE)
AND coalesce(memory.expires_at > %(now)s, TRUE)

-- name: where_created_since
-- The time when the memory was made, whatever it speaks of.
memory.created_at >= %(created_since)s

-- name: where_created_until
-- The end is not included.
memory.created_at < %(created_until)s

-- name: where_unexpired_at
-- An expired memory is hidden at once, whenever maintenance marks it as expired.
coalesce(memory.expires_at > %(unexpired_at)s, TRUE)

-- name: where_numbers
-- Some memories by their numbers.
memory.number = ANY(%(numbers)s::bigint[])

-- name: where_offered
-- As `perdure.tiers.offered_tier` decides: proposed by a model, or earned by being useful.
(
    coalesce(
        (%(boosts)s::jsonb ->> (memory.metadata::jsonb ->> %(proposed)s))::double precision
        > (%(boosts)s::jsonb ->> memory.tier)::double precision, FALSE
    )
    OR memory.validation_count >= %(validations)s AND memory.confidence >= %(enough)s
        AND memory.tier = ANY(%(below)s::text[])
)

-- name: select_lines
-- Lines of the log with the payloads that were not erased, in the order that reader.py reads. Ends in an open WHERE.
SELECT revision.seq, revision.number, revision.memory, revision.version, revision.operation, revision.actor,
       revision.surface, revision.session, revision.request, revision.at, revision.batch, revision.digest,
       revision.hash, payload.body
FROM perdure.revision
LEFT JOIN perdure.payload ON payload.namespace = revision.namespace AND payload.seq = revision.seq
WHERE revision.namespace = %(namespace)s

-- name: lines_of_memory
-- The history of one memory, by its number.
AND revision.number = %(number)s ORDER BY revision.seq

-- name: lines_at
-- For each of some memories its newest line up to a position.
AND revision.seq IN (
    SELECT max(earlier.seq) FROM perdure.revision AS earlier
    WHERE earlier.namespace = %(namespace)s AND earlier.number = ANY(%(numbers)s::bigint[]) AND earlier.seq <= %(seq)s
    GROUP BY earlier.number
)

-- name: lines_batch
-- The lines of one call.
AND revision.batch = %(batch)s

-- name: lines_session
-- The lines of one session.
AND revision.session = %(session)s

-- name: lines_actor
-- The lines of one actor.
AND revision.actor = %(actor)s

-- name: lines_operation
-- The lines of one kind of change.
AND revision.operation = %(operation)s

-- name: lines_since
-- The moment is included.
AND revision.at >= %(since)s

-- name: lines_until
-- The end is not included.
AND revision.at < %(until)s

-- name: lines_request
-- The line of the call with this idempotency key.
AND revision.request = %(request)s

-- name: lines_before
-- The next page, newest first.
AND revision.seq < %(before)s

-- name: lines_after
-- The next page, oldest first.
AND revision.seq > %(after)s

-- name: lines_newest_first
-- Order of a page.
ORDER BY revision.seq DESC LIMIT %(limit)s

-- name: lines_oldest_first
-- Order of a page.
ORDER BY revision.seq LIMIT %(limit)s

-- name: seq_at
-- From the end, because a clock that went back does not take back what was written.
SELECT seq FROM perdure.revision WHERE namespace = %(namespace)s AND at <= %(at)s ORDER BY seq DESC LIMIT 1;

-- name: changed_after
-- Memories with a line after a position.
SELECT DISTINCT number FROM perdure.revision WHERE namespace = %(namespace)s AND seq > %(seq)s ORDER BY number;

-- name: changed_in_folder
-- Of those, the ones that are in the folder now, and the bodies of what the others were at the position.
SELECT changed.number, coalesce(memory.spec_folder = %(folder)s, FALSE), payload.body
FROM (
    SELECT DISTINCT number FROM perdure.revision WHERE revision.namespace = %(namespace)s AND revision.seq > %(seq)s
) AS changed
LEFT JOIN perdure.memory ON memory.namespace = %(namespace)s AND memory.number = changed.number
LEFT JOIN perdure.payload ON payload.namespace = %(namespace)s AND payload.seq = (
    SELECT max(earlier.seq) FROM perdure.revision AS earlier
    WHERE earlier.namespace = %(namespace)s AND earlier.number = changed.number AND earlier.seq <= %(seq)s
)
ORDER BY changed.number;

-- name: reworded
-- One pass over an index that holds nothing else.
SELECT versions.number
FROM (
    SELECT number FROM perdure.revision WHERE namespace = %(namespace)s
    GROUP BY number HAVING min(version) <> max(version)
) AS versions
JOIN perdure.memory ON memory.namespace = %(namespace)s AND memory.number = versions.number
WHERE memory.state IN ('active', 'superseded')
ORDER BY versions.number;

-- name: last_version
-- The highest version comes from the end of an index.
SELECT coalesce(max(version), 0) FROM perdure.revision WHERE namespace = %(namespace)s AND number = %(number)s;

-- name: passage_vectors
-- The vectors of passages.
SELECT passage_hash, checksum, data FROM perdure.vector
WHERE namespace = %(namespace)s AND generation = %(generation)s AND passage_hash = ANY(%(passages)s::bytea[]);

-- name: evictable
-- Of one class, what may go, least recently used first. With `by_model`, nothing goes that a person had a hand in, nor
-- what was merged from such a memory.
SELECT memory.number, memory.importance, memory.tier, memory.state, coalesce(entry.tokens, 0),
       greatest(memory.updated_at, use.accessed_at, use.recalled_at) AS last_used
FROM perdure.memory
LEFT JOIN perdure.use ON use.namespace = memory.namespace AND use.number = memory.number
LEFT JOIN perdure.entry ON entry.namespace = memory.namespace AND entry.number = memory.number
WHERE memory.namespace = %(namespace)s AND memory.state = %(state)s
    AND memory.importance >= %(from)s AND memory.importance < %(below)s AND memory.tier <> ALL(%(tiers)s::text[])
    AND (%(by_model)s::text IS NULL OR NOT EXISTS (
        WITH RECURSIVE origin (number) AS (
            SELECT memory.number
            UNION
            SELECT source.number
            FROM origin
            JOIN perdure.link ON link.namespace = %(namespace)s AND link.number = origin.number
                AND link.kind = 'merged_from'
            JOIN perdure.memory AS source ON source.namespace = %(namespace)s AND source.id = link.target
        )
        SELECT 1
        FROM origin
        JOIN perdure.revision ON revision.namespace = %(namespace)s AND revision.number = origin.number
        WHERE revision.operation IN ('insert', 'observe', 'update', 'validate', 'promote', 'restore')
            AND right(revision.surface, length(%(by_model)s::text)) <> %(by_model)s::text
    ))
ORDER BY last_used, memory.number
LIMIT %(limit)s;

-- name: capacity
-- Counted on demand: only people ask, and rarely.
SELECT count(*) FILTER (WHERE importance >= %(high)s OR tier = ANY(%(tiers)s::text[])),
       min(importance), avg(importance), max(importance)
FROM perdure.memory WHERE namespace = %(namespace)s AND state IN ('active', 'superseded');

-- name: evicted_count
-- Evicted memories that can still be restored.
SELECT count(*) FROM perdure.memory WHERE namespace = %(namespace)s AND state = 'evicted';

-- name: version_count
-- Versions of which at least one revision still has its payload.
SELECT count(*) FROM (
    SELECT DISTINCT revision.number, revision.version
    FROM perdure.revision
    JOIN perdure.payload ON payload.namespace = revision.namespace AND payload.seq = revision.seq
    WHERE revision.namespace = %(namespace)s
) AS kept;

-- name: folder_count
-- Memories of one folder that may be found.
SELECT count(*) FROM perdure.memory
WHERE namespace = %(namespace)s AND spec_folder = %(folder)s AND state IN ('active', 'superseded');

-- name: scan_terms
-- The words of a part of the namespace, by number. Wants conditions on the words.
SELECT entry.number, entry.terms FROM perdure.entry
WHERE entry.namespace = %(namespace)s AND entry.number > %(after)s AND entry.number <= %(last)s AND

-- name: scan_candidates
-- The same, with whether a filter lets the memory pass. Wants the filter, and then conditions on the words.
SELECT entry.number, entry.terms, (

-- name: of_candidates
-- The other half of the statement above.
) FROM perdure.entry
JOIN perdure.memory ON memory.namespace = entry.namespace AND memory.number = entry.number
WHERE entry.namespace = %(namespace)s AND entry.number > %(after)s AND entry.number <= %(last)s AND

-- name: index_numbers
-- How a row of the index begins.
SELECT entry.number, entry.terms,

-- name: index_changed
-- How one begins that tells what changed, with its vector.
SELECT changed.number, entry.terms, vector.data,

-- name: index_columns
-- What the recall index keeps of a memory. What was said, of conversations alone.
memory.state = 'active', memory.tier, memory.key, memory.valid_at, memory.invalid_at, memory.expires_at,
coalesce(memory.valid_at, memory.created_at), memory.updated_at, memory.category, memory.observation_count,
memory.confidence, memory.importance, memory.anchor_id, memory.conversation_id, memory.session_id,
CASE WHEN memory.conversation_id IS NOT NULL THEN memory.text END, memory.metadata, memory.trigger_phrases,
memory.passage_hash, memory.trust = 'low', memory.trust = 'low' AND memory.source = 'import', memory.source_project

-- name: index_rows
-- How a recall index is filled, by number. The bound is said of both tables: otherwise one is read from its beginning.
FROM perdure.entry
JOIN perdure.memory ON memory.namespace = entry.namespace AND memory.number = entry.number
WHERE entry.namespace = %(namespace)s AND entry.number > %(after)s
    AND memory.namespace = %(namespace)s AND memory.number > %(after)s
ORDER BY entry.number LIMIT %(limit)s

-- name: index_rows_of_categories
-- As above, of the memories of some categories: a session starts with these, however many messages there are.
FROM perdure.memory
JOIN perdure.entry ON entry.namespace = memory.namespace AND entry.number = memory.number
WHERE memory.namespace = %(namespace)s AND memory.number > %(after)s AND memory.category = ANY(%(categories)s::text[])
ORDER BY memory.number LIMIT %(limit)s

-- name: index_rows_with_triggers
-- As above, of the memories that have trigger phrases: from an index that holds these alone.
FROM perdure.memory
JOIN perdure.entry ON entry.namespace = memory.namespace AND entry.number = memory.number
WHERE memory.namespace = %(namespace)s AND memory.number > %(after)s AND memory.trigger_phrases IS NOT NULL
    AND memory.state = 'active' AND memory.tier <> 'deprecated'
ORDER BY memory.number LIMIT %(limit)s

-- name: index_changes
-- What the log and the vectors brought since a position. A memory without an entry has left the index, and one that was
-- erased is not even a memory any more.
FROM (
    SELECT revision.number FROM perdure.revision WHERE revision.namespace = %(namespace)s AND revision.seq > %(seq)s
    UNION
    SELECT memory.number
    FROM perdure.vector
    JOIN perdure.memory ON memory.namespace = vector.namespace AND memory.passage_hash = vector.passage_hash
    WHERE vector.namespace = %(namespace)s AND vector.position > %(vector)s AND vector.generation = %(generation)s
        AND memory.state IN ('active', 'superseded')
) AS changed
LEFT JOIN perdure.memory ON memory.namespace = %(namespace)s AND memory.number = changed.number
LEFT JOIN perdure.entry ON entry.namespace = %(namespace)s AND entry.number = changed.number
LEFT JOIN perdure.vector ON vector.namespace = %(namespace)s AND vector.generation = %(generation)s
    AND vector.passage_hash = memory.passage_hash
ORDER BY changed.number;

-- name: line_hash
-- Whether a position that an index stood at is still in the log, and is what it was.
SELECT hash FROM perdure.revision WHERE namespace = %(namespace)s AND seq = %(seq)s;

-- name: line_hashes
-- Which of the lines that a machine has written are still in the log, and are what they were.
SELECT seq, hash FROM perdure.revision WHERE namespace = %(namespace)s AND seq = ANY(%(seqs)s::bigint[]);

-- name: vectors_after
-- All vectors of a generation, in the order of their table: a look-up for each memory would cost more.
SELECT position, passage_hash, data FROM perdure.vector
WHERE namespace = %(namespace)s AND generation = %(generation)s AND position > %(after)s
ORDER BY position LIMIT %(limit)s;

-- name: vectors_of_passages
-- The vectors of one generation for some passages, unchecked: an index checks what it is given.
SELECT passage_hash, data FROM perdure.vector
WHERE namespace = %(namespace)s AND generation = %(generation)s AND passage_hash = ANY(%(passages)s::bytea[]);

-- name: use_counts
-- Use is counted beside the log: memories that were never used are left out.
SELECT number, recall_count, coalesce(greatest(recalled_at, accessed_at), 0)
FROM perdure.use WHERE namespace = %(namespace)s

-- name: use_of_numbers
-- Of a few.
AND number = ANY(%(numbers)s::bigint[])

-- name: memory_lines
-- Every line of one memory, newest first, with what it said.
SELECT revision.seq, revision.memory, revision.version, revision.operation, payload.body
FROM perdure.revision
LEFT JOIN perdure.payload ON payload.namespace = revision.namespace AND payload.seq = revision.seq
WHERE revision.namespace = %(namespace)s AND revision.number = %(number)s
ORDER BY revision.seq DESC;

-- name: newest_operation
-- The operation of the newest line of a memory.
SELECT operation FROM perdure.revision
WHERE namespace = %(namespace)s AND number = %(number)s ORDER BY seq DESC LIMIT 1;

-- name: memory_traces
-- What an erased memory is taken off: the statistics of the index, and its own passage.
SELECT memory.passage_hash, entry.terms, entry.tokens
FROM perdure.memory
LEFT JOIN perdure.entry ON entry.namespace = memory.namespace AND entry.number = memory.number
WHERE memory.namespace = %(namespace)s AND memory.number = %(number)s;

-- name: delete_payloads
-- The lines stay, without their payloads.
DELETE FROM perdure.payload WHERE namespace = %(namespace)s AND seq = ANY(%(seqs)s::bigint[]);

-- name: delete_memory
-- There is no cascade: what belongs to the memory is deleted by the statements below.
DELETE FROM perdure.memory WHERE namespace = %(namespace)s AND number = %(number)s;

-- name: delete_links
-- The links from an erased memory.
DELETE FROM perdure.link WHERE namespace = %(namespace)s AND number = %(number)s;

-- name: delete_use
-- The use of an erased memory.
DELETE FROM perdure.use WHERE namespace = %(namespace)s AND number = %(number)s;

-- name: delete_review
-- The pending review of an erased memory.
DELETE FROM perdure.review WHERE namespace = %(namespace)s AND number = %(number)s;

-- name: delete_passages
-- The vectors of all generations, unless a memory has the passage.
DELETE FROM perdure.vector
WHERE vector.namespace = %(namespace)s AND vector.passage_hash = ANY(%(passages)s::bytea[]) AND NOT EXISTS (
    SELECT 1 FROM perdure.memory
    WHERE memory.namespace = %(namespace)s AND memory.passage_hash = vector.passage_hash
        AND memory.state IN ('active', 'superseded')
);

-- name: delete_unowned_vectors
-- When it cannot be read any more which passages they were: all that no memory has.
DELETE FROM perdure.vector
WHERE vector.namespace = %(namespace)s AND NOT EXISTS (
    SELECT 1 FROM perdure.memory
    WHERE memory.namespace = %(namespace)s AND memory.passage_hash = vector.passage_hash
        AND memory.state IN ('active', 'superseded')
);

-- name: park
-- A later failure about the same memory takes the place of the earlier one. What was erased meanwhile stays gone.
INSERT INTO perdure.parked (namespace, id, number, purpose, model, error, output, attempts, at)
SELECT namespace.namespace, %(id)s, %(number)s, %(purpose)s, %(model)s, %(error)s, %(output)s, %(attempts)s, %(at)s
FROM perdure.namespace
WHERE namespace.namespace = %(namespace)s AND (%(number)s = 0 OR EXISTS (
    SELECT 1 FROM perdure.memory WHERE memory.namespace = %(namespace)s AND memory.number = %(number)s
))
ON CONFLICT (namespace, number, purpose) WHERE number > 0 DO UPDATE SET
    model = excluded.model, error = excluded.error, output = excluded.output, attempts = excluded.attempts,
    at = excluded.at
RETURNING id;

-- name: parked
-- Oldest first.
SELECT id, purpose, number, model, error, output, attempts, at
FROM perdure.parked WHERE namespace = %(namespace)s ORDER BY at, id;

-- name: unpark
-- Asked again, or thrown away.
DELETE FROM perdure.parked WHERE namespace = %(namespace)s AND id = %(id)s RETURNING id;

-- name: unpark_memory
-- It may say what an earlier version said.
DELETE FROM perdure.parked WHERE namespace = %(namespace)s AND number = %(number)s AND number > 0;

-- name: unpark_rest
-- What is parked about no memory in particular goes with the last memory of its namespace.
DELETE FROM perdure.parked WHERE parked.namespace = %(namespace)s AND NOT EXISTS (
    SELECT 1 FROM perdure.memory WHERE memory.namespace = %(namespace)s
);

-- name: checkpoint_taken
-- A name that stands for everything may stand for nothing else, and the other way round.
SELECT EXISTS (
    SELECT 1 FROM perdure.checkpoint
    WHERE name = %(name)s AND (namespace = ANY(%(namespaces)s::uuid[]) OR %(everything)s)
);

-- name: put_checkpoint
-- A checkpoint is a few numbers, however much it stands for.
INSERT INTO perdure.checkpoint (
    namespace, name, positions, memories, actor, spec_folder, description, metadata, created_at
) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s);

-- name: checkpoints
-- Checkpoints of one namespace and of everything.
SELECT namespace, name, positions, memories, actor, spec_folder, description, metadata, created_at
FROM perdure.checkpoint WHERE namespace = ANY(%(namespaces)s::uuid[]) ORDER BY created_at DESC, name;

-- name: delete_checkpoint
-- The log stays as it is.
DELETE FROM perdure.checkpoint WHERE namespace = %(namespace)s AND name = %(name)s RETURNING name;

-- name: note
-- A remark of the engine.
SELECT value FROM perdure.note WHERE namespace = %(namespace)s AND name = %(name)s;

-- name: put_note
-- The newest remark counts.
INSERT INTO perdure.note (namespace, name, value) VALUES (%(namespace)s, %(name)s, %(value)s)
ON CONFLICT (namespace, name) DO UPDATE SET value = excluded.value;

-- name: namespaces
-- For what concerns all namespaces: statistics, maintenance, doctor.
SELECT namespace, name, seq, documents FROM perdure.namespace ORDER BY name;

-- name: pending
-- Passages that may be found but have no vector of the generation, in a range of hashes. They get their names at the end:
-- Citus refuses a join of all namespaces beside NOT EXISTS.
SELECT namespace.name, found.namespace, found.passage_hash, found.number
FROM (
    SELECT memory.namespace, memory.passage_hash, min(memory.number) AS number
    FROM perdure.memory
    WHERE memory.state IN ('active', 'superseded')
        AND memory.passage_hash >= %(first)s AND memory.passage_hash < %(last)s
        AND NOT EXISTS (
            SELECT 1 FROM perdure.vector
            WHERE vector.namespace = memory.namespace AND vector.generation = %(generation)s
                AND vector.passage_hash = memory.passage_hash
        )
    GROUP BY memory.namespace, memory.passage_hash
) AS found
JOIN perdure.namespace ON namespace.namespace = found.namespace
ORDER BY namespace.name, found.passage_hash
LIMIT %(limit)s;

-- name: pending_counts
-- The passages of the statement above, counted by namespace.
SELECT memory.namespace, count(DISTINCT memory.passage_hash)
FROM perdure.memory
WHERE memory.state IN ('active', 'superseded') AND NOT EXISTS (
    SELECT 1 FROM perdure.vector
    WHERE vector.namespace = memory.namespace AND vector.generation = %(generation)s
        AND vector.passage_hash = memory.passage_hash
)
GROUP BY memory.namespace;

-- name: due
-- Active memories that have expired.
SELECT namespace.name, memory.namespace, memory.number
FROM perdure.memory JOIN perdure.namespace ON namespace.namespace = memory.namespace
WHERE memory.expires_at <= %(moment)s AND memory.state = 'active'
ORDER BY memory.expires_at, namespace.name, memory.number
LIMIT %(limit)s;

-- name: purgeable
-- Memories evicted long enough ago, by their newest line: a change since then puts it off. The lines before it show
-- whether the clock had gone back by then. With `by_model`, what a model changed last is left out.
SELECT namespace.name, found.namespace, found.number
FROM (
    SELECT memory.namespace, memory.number, revision.at
    FROM perdure.memory
    JOIN perdure.revision ON revision.namespace = memory.namespace AND revision.seq = memory.seq
    WHERE memory.state = 'evicted' AND revision.at <= %(moment)s
        AND (%(by_model)s::text IS NULL OR right(revision.surface, length(%(by_model)s::text)) <> %(by_model)s::text)
        AND NOT EXISTS (
            SELECT 1 FROM perdure.revision AS earlier
            WHERE earlier.namespace = memory.namespace AND earlier.seq BETWEEN memory.seq - 1000 AND memory.seq
                AND earlier.at > %(moment)s
        )
    GROUP BY memory.namespace, memory.number, revision.at
) AS found
JOIN perdure.namespace ON namespace.namespace = found.namespace
ORDER BY found.at, namespace.name, found.number
LIMIT %(limit)s;

-- name: times_after
-- The first and the last write of each hour: no gap between two of them is longer than it was.
SELECT min(at), max(at) FROM perdure.revision WHERE at > %(moment)s GROUP BY floor(at / 3600000000.0);

-- name: memory_statistics
-- Counted on demand, because nobody asks often enough to keep a count.
SELECT namespace, state, category, count(*), min(created_at), max(created_at)
FROM perdure.memory GROUP BY namespace, state, category;

-- name: table_sizes
-- With their indexes, and those parts of long values that are stored elsewhere; of partitions, each for itself.
SELECT coalesce(sum(pg_total_relation_size(pg_class.oid)), 0)::bigint
FROM pg_class JOIN pg_namespace ON pg_namespace.oid = pg_class.relnamespace
WHERE pg_namespace.nspname = %(schema)s AND pg_class.relkind = 'r';

-- name: serving
-- The generation whose vectors answer.
SELECT serving.generation, generation.provider, generation.model, generation.dimensions, generation.version
FROM perdure.serving LEFT JOIN perdure.generation ON generation.id = serving.generation
WHERE serving.row = 1;

-- name: create_generation
-- The first vector of a model makes its generation.
INSERT INTO perdure.generation (id, provider, model, dimensions, version, made_at)
VALUES (%(id)s, %(provider)s, %(model)s, %(dimensions)s, %(version)s, %(made_at)s) ON CONFLICT DO NOTHING;

-- name: first_serves
-- The first generation of a store serves at once.
INSERT INTO perdure.serving (row, generation) VALUES (1, %(id)s) ON CONFLICT DO NOTHING;

-- name: serve
-- From now on this one answers.
INSERT INTO perdure.serving (row, generation) VALUES (1, %(id)s)
ON CONFLICT (row) DO UPDATE SET generation = excluded.generation;

-- name: generations
-- Every generation with its vectors. A vector that is damaged counts as well.
SELECT provider, model, dimensions, version,
       coalesce(generation.id = (SELECT serving.generation FROM perdure.serving WHERE serving.row = 1), FALSE),
       (SELECT count(*) FROM perdure.vector WHERE vector.generation = generation.id)
FROM perdure.generation ORDER BY made_at, id;

-- name: drop_vectors
-- A part of the vectors of a generation, of one namespace: a transaction should be short.
DELETE FROM perdure.vector
WHERE vector.namespace = %(namespace)s AND vector.position IN (
    SELECT doomed.position FROM perdure.vector AS doomed
    WHERE doomed.namespace = %(namespace)s AND doomed.generation = %(id)s LIMIT %(limit)s
)
RETURNING position;

-- name: namespaces_with_vectors
-- Where a generation has vectors.
SELECT DISTINCT namespace FROM perdure.vector WHERE generation = %(id)s;

-- name: delete_generation
-- Without vectors nothing refers to it.
DELETE FROM perdure.generation WHERE id = %(id)s;

-- name: calibration
-- What unrelated texts reach with a model.
SELECT unrelated FROM perdure.generation WHERE id = %(id)s;

-- name: put_calibration
-- Whoever measured it first wins: relevance should not change without a reason.
UPDATE perdure.generation SET unrelated = coalesce(unrelated, %(unrelated)s) WHERE id = %(id)s;

-- name: put_call
-- One request to a provider.
INSERT INTO perdure.provider_call (
    at, id, provider, model, host, purpose, items, sent_bytes, received_bytes, input_tokens, output_tokens, cost, outcome
) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s);

-- name: prune_calls
-- Calls of long ago.
DELETE FROM perdure.provider_call WHERE at < %(earliest)s;

-- name: calls
-- Newest first.
SELECT at, provider, model, host, purpose, items, sent_bytes, received_bytes, input_tokens, output_tokens, cost, outcome
FROM perdure.provider_call WHERE at >= %(since)s ORDER BY at DESC, id DESC LIMIT %(limit)s;

-- name: calls_total
-- For the budget of a day.
SELECT coalesce(sum(input_tokens + output_tokens), 0)::bigint, coalesce(sum(cost), 0.0)::double precision
FROM perdure.provider_call WHERE at >= %(since)s;

-- name: lease
-- Taken when nobody has it, when it has ended, or when it is one's own. By the clock of the server: machines whose clocks
-- differ would take it from each other, or keep it for as long as they differ.
INSERT INTO perdure.lease (name, owner, until)
VALUES (%(name)s, %(owner)s, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + %(microseconds)s)
ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
WHERE lease.owner = excluded.owner OR lease.until <= (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
RETURNING owner;
