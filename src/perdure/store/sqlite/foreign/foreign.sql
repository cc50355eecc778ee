-- What is asked of databases that other tools made.

-- name: settings
-- Whatever the file holds, nothing of it may run, and nothing is written.
PRAGMA trusted_schema = OFF;
PRAGMA query_only = ON;
PRAGMA cell_size_check = ON;

-- name: tables
-- The tables, with their columns: a view could compute for ever, and so could a generated column, which is not listed.
SELECT main.name, info.name
FROM sqlite_schema AS main, pragma_table_info(main.name) AS info
WHERE main.type = 'table' AND main.sql NOT LIKE 'CREATE VIRTUAL%' AND main.name NOT LIKE 'sqlite!_%' ESCAPE '!'
ORDER BY main.name, info.cid;

-- name: row_ids
-- The rows that can still be found, one after the other.
SELECT rowid FROM %TABLE% ORDER BY rowid;

-- name: rows
-- The columns that this version of the tool wrote, whatever these are, in the order in which the rows were written.
SELECT %COLUMNS% FROM %TABLE% ORDER BY rowid;

-- name: one_row
-- A single row of a table that is damaged elsewhere.
SELECT %COLUMNS% FROM %TABLE% WHERE rowid = ?;

-- name: mem0_changes
-- What mem0 wrote last about each memory: SQLite takes the other columns from the row that has the maximum.
SELECT memory_id, new_memory, event, is_deleted, min(created_at), coalesce(updated_at, created_at), max(rowid)
FROM history
GROUP BY memory_id;

-- name: chroma_documents
-- A row for each value that is kept beside a document, those of one document one after the other; one without values where
-- nothing is kept.
SELECT
  document.id, document.embedding_id, document.created_at, collection.name, value.key,
  coalesce(value.string_value, value.int_value, value.float_value, value.bool_value)
FROM embeddings AS document
LEFT JOIN embedding_metadata AS value ON value.id = document.id
LEFT JOIN segments AS segment ON segment.id = document.segment_id
LEFT JOIN collections AS collection ON collection.id = segment.collection
ORDER BY document.id;
