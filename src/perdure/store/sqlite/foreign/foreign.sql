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
