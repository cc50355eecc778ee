-- What the files beside the store, its backups and their return ask of the database.

-- name: hash_at
-- Whether the log still has the line that the mirror remembers.
SELECT hash FROM revision WHERE namespace = ? AND seq = ?;

-- name: ends_of_logs
-- What the mirror shows.
SELECT id, seq, head FROM namespace;

-- name: erasures
-- The ledger of record: the log itself.
SELECT memory, at FROM revision WHERE operation = 'erase' ORDER BY at;

-- name: clear_scrub
-- Done; unless somebody asked again meanwhile.
DELETE FROM meta WHERE name = 'scrub' AND value = ?;

-- name: change_scrub
-- Half of it is done; unless somebody asked again meanwhile.
UPDATE meta SET value = ? WHERE name = 'scrub' AND value = ?;

-- name: ask_scrub
-- Whoever opens the store next makes sure. A new value each time, so that nobody takes an old wish for this one.
INSERT INTO meta (name, value) VALUES ('scrub', hex(randomblob(8)))
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: numbering
-- What was handed out, and may never be handed out again.
SELECT id, name, number, vector, created_at FROM namespace ORDER BY id;

-- name: reserve_namespace
-- An empty namespace that keeps the id of one that is not in the backup: ids are remembered by other processes.
INSERT INTO namespace (id, name, number, vector, head, created_at) VALUES (?, ?, ?, ?, ?, ?);

-- name: raise_numbers
-- Numbers given out since the backup are not given out again.
UPDATE namespace SET number = max(number, ?), vector = max(vector, ?) WHERE id = ?;

-- name: memory_ids
-- To find those that were erased since.
SELECT slot, id FROM memory;

-- name: erased_texts
-- The tombstones that a store keeps even when it is set back.
SELECT namespace, digest, at, reason FROM tombstone WHERE reason = 'erased';

-- name: living_texts
-- What is said now is not buried.
SELECT DISTINCT content_hash FROM memory WHERE namespace = ? AND state = 'active';

-- name: drop_meta
-- A remark that does not belong into a copy.
DELETE FROM meta WHERE name = ?;

-- name: contents
-- What a copy holds.
SELECT (SELECT count(*) FROM memory), (SELECT count(*) FROM revision);

-- name: compact
-- Nothing of what was deleted stays in the full-text index, which keeps the words of a deleted memory until its pieces
-- are merged into one, nor in the unused parts of a page.
INSERT INTO entry_fts (entry_fts) VALUES ('optimize');
VACUUM;
