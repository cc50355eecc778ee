-- Statements for the files beside the store, and for making and restoring backups.

-- name: era
-- Which store it is, and how often a backup was restored into it.
SELECT (SELECT value FROM meta WHERE name = 'secret'), coalesce((SELECT value FROM meta WHERE name = 'era'), 0);

-- name: ends_of_logs
-- What is noted outside.
SELECT id, seq, head FROM namespace;

-- name: erasures
-- The ledger of record: the log itself.
SELECT memory, at FROM revision WHERE operation = 'erase' ORDER BY at;

-- name: clear_scrub
-- The scrub is done, unless somebody asked again meanwhile.
DELETE FROM meta WHERE name = 'scrub' AND value = ?;

-- name: change_scrub
-- Half of the scrub is done, unless somebody asked again meanwhile.
UPDATE meta SET value = ? WHERE name = 'scrub' AND value = ?;

-- name: ask_scrub
-- The next process that opens the store makes sure. A new value each time, so that nobody takes an old request for this.
INSERT INTO meta (name, value) VALUES ('scrub', hex(randomblob(8)))
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: namespace_counters
-- What was given out, and may never be given out again.
SELECT id, name, number, vector, created_at FROM namespace ORDER BY id;

-- name: add_namespace
-- A namespace that the backup lacks, empty. It keeps its id unless the backup gave that to another one.
INSERT INTO namespace (id, name, head, created_at)
VALUES (iif(EXISTS (SELECT 1 FROM namespace WHERE id = ?1), NULL, ?1), ?2, ?3, ?4)
ON CONFLICT (name) DO NOTHING;

-- name: raise_counters
-- Numbers given out since the backup are not given out again.
UPDATE namespace SET number = max(number, ?), vector = max(vector, ?) WHERE name = ?;

-- name: memory_ids
-- To find those that were erased since.
SELECT slot, id FROM memory;

-- name: erased_texts
-- The tombstones that a store keeps even when a backup is restored.
SELECT name, digest, at, reason FROM tombstone JOIN namespace ON namespace.id = tombstone.namespace
WHERE reason = 'erased';

-- name: active_texts
-- A text that an active memory has gets no tombstone under the key, or in the scope, of that memory.
SELECT DISTINCT content_hash, key, conversation_id, spec_folder, file_path, anchor_id
FROM memory WHERE namespace = ? AND state = 'active';

-- name: all_calls
-- The list of what left this machine, which a store keeps even when a backup is restored.
SELECT at, provider, model, host, purpose, items, sent_bytes, received_bytes, input_tokens, output_tokens, cost, outcome
FROM provider_call ORDER BY at, id;

-- name: add_call
-- Unless the backup has it.
INSERT INTO provider_call (
    at, provider, model, host, purpose, items, sent_bytes, received_bytes, input_tokens, output_tokens, cost, outcome
)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12
WHERE NOT EXISTS (
    SELECT 1 FROM provider_call
    WHERE at = ?1 AND host = ?4 AND purpose = ?5 AND sent_bytes = ?7 AND received_bytes = ?8
);

-- name: delete_scrub
-- A copy that was rewritten needs no scrub.
DELETE FROM meta WHERE name = 'scrub';

-- name: contents
-- How much a copy holds.
SELECT (SELECT count(*) FROM memory), (SELECT count(*) FROM revision);

-- name: compact
-- Nothing of what was deleted stays in the full-text index, which keeps the words of a deleted memory until its pieces
-- are merged into the oldest one, nor in the unused parts of a page. `optimize` is not enough: where all pieces are on
-- one level it merges them into a piece that is not yet the oldest, and the deleted words stay in it.
INSERT INTO entry_fts (entry_fts) VALUES ('rebuild');
VACUUM;
