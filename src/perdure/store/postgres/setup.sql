-- What `perdure migrate` runs beside the numbered migrations, and what is asked of a server at first, by name, each with
-- its reason.

-- name: about_server
-- Whether it answers a commit when it is on its disk, and which of its processes serves.
SELECT current_setting('synchronous_commit'), pg_backend_pid();

-- name: policy
-- A query that forgets its namespace finds nothing, whoever asks: FORCE holds for the owner of the table too. After a
-- transaction the setting is '', not NULL. There is no sub-select, because Citus allows none here.
CREATE POLICY one_namespace ON perdure.{table} USING (
    namespace = nullif(current_setting('perdure.namespace', true), '')::uuid
    OR current_setting('perdure.everywhere', true) = 'on'
);

-- name: enable_policy
-- Without this a policy is not asked.
ALTER TABLE perdure.{table} ENABLE ROW LEVEL SECURITY;

-- name: force_policy
-- Nor by the owner.
ALTER TABLE perdure.{table} FORCE ROW LEVEL SECURITY;

-- name: partition
-- One of several equal parts of a table, by the hash of the namespace.
CREATE TABLE IF NOT EXISTS perdure.{table}_p{part}
PARTITION OF perdure.{table} FOR VALUES WITH (MODULUS {parts}, REMAINDER {part});

-- name: on_every_machine
-- Citus keeps a copy of such a table on each of its machines, so that any namespace can be joined with it.
SELECT create_reference_table('{table}');

-- name: spread
-- Citus keeps a namespace on one of its machines, with the rows of all its tables.
SELECT create_distributed_table('{table}', 'namespace', colocate_with => '{beside}', shard_count => {shards});

-- name: citus_settings
-- What of the settings of a transaction Citus passes on. NULL where there is no Citus.
SELECT CASE
    WHEN EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus')
    THEN current_setting('citus.propagate_set_commands', true)
END;

-- name: row_of_namespace
-- Every write changes this row: room on its page keeps the change off the indexes.
ALTER TABLE perdure.{namespace} SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01);

-- name: rows_of_use
-- The same of the counts of use.
ALTER TABLE perdure.{use} SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01);

-- name: vectors_in_the_row
-- Vectors do not compress; up to 2,000 dimensions they stay in the row.
ALTER TABLE perdure.{vector} SET (toast_tuple_target = 8160);

-- name: vectors_uncompressed
-- Those that leave the row are stored as they are.
ALTER TABLE perdure.{vector} ALTER COLUMN data SET STORAGE EXTERNAL;

-- name: memories_without_samples
-- ANALYZE keeps samples of a column, and those of a text would stay when the text is erased. Nothing is planned by them.
ALTER TABLE perdure.{memory}
    ALTER COLUMN text SET STATISTICS 0, ALTER COLUMN title SET STATISTICS 0, ALTER COLUMN abstract SET STATISTICS 0,
    ALTER COLUMN summary SET STATISTICS 0, ALTER COLUMN reasoning SET STATISTICS 0,
    ALTER COLUMN keywords SET STATISTICS 0, ALTER COLUMN "references" SET STATISTICS 0,
    ALTER COLUMN trigger_phrases SET STATISTICS 0, ALTER COLUMN metadata SET STATISTICS 0;

-- name: words_without_samples
-- The same of their words.
ALTER TABLE perdure.{entry} ALTER COLUMN terms SET STATISTICS 0;

-- name: payloads_without_samples
-- And of what the log says.
ALTER TABLE perdure.{payload} ALTER COLUMN body SET STATISTICS 0;

-- name: vectors_without_samples
-- And of vectors, which nearly say it.
ALTER TABLE perdure.{vector} ALTER COLUMN data SET STATISTICS 0;

-- name: answers_without_samples
-- And of answers that wait to be looked at.
ALTER TABLE perdure.{parked} ALTER COLUMN output SET STATISTICS 0, ALTER COLUMN error SET STATISTICS 0;

-- name: rewrite_table
-- Leaves nothing on its pages that is not a row. Whoever uses the table meanwhile waits.
VACUUM (FULL, ANALYZE) perdure.{table};

-- name: next_log
-- The segments of the server's log that it wrote so far can be used again after the next checkpoint.
SELECT pg_switch_wal();

-- name: checkpoint
-- The files that the rewritten tables had before go with it.
CHECKPOINT;

-- name: schema_of
-- The two numbers that say who may use the tables, and whether they are made for pgvector.
SELECT name, value FROM perdure.meta WHERE name IN ('schema', 'oldest_program', 'near');

-- name: has_meta
-- Whether there is a store in this schema at all.
SELECT to_regclass(%(table)s) IS NOT NULL;

-- name: first_meta
-- Somebody else may have been quicker.
INSERT INTO perdure.meta (name, value) VALUES (%(name)s, 0) ON CONFLICT DO NOTHING;

-- name: lock_meta
-- One migration at a time: the lock goes with the connection that holds it, however it ends.
SELECT value FROM perdure.meta WHERE name = 'schema' FOR UPDATE NOWAIT;

-- name: set_meta
-- After a migration is complete.
INSERT INTO perdure.meta (name, value) VALUES (%(name)s, %(value)s)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: insert_meta
-- The same, for somebody else to run.
INSERT INTO perdure.meta (name, value) VALUES ('{name}', {value});

-- name: grant_schema
-- The role of the application uses what is there, and makes nothing.
GRANT USAGE ON SCHEMA perdure TO {role};

-- name: grant_table
-- Rows of every other table can be changed.
GRANT SELECT, INSERT, UPDATE, DELETE ON perdure.{table} TO {role};

-- name: grant_log
-- The log can only grow.
GRANT SELECT, INSERT ON perdure.{table} TO {role};

-- name: grant_tokens
-- A token can be made and revoked, and neither changed nor removed.
GRANT SELECT, INSERT, UPDATE (revoked_at) ON perdure.{table} TO {role};

-- name: grant_meta
-- Only a migration changes these.
GRANT SELECT ON perdure.{table} TO {role};

-- name: vector_extension
-- The schema that pgvector is in, where it is installed and knows half precision.
SELECT pg_namespace.nspname
FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = pg_extension.extnamespace
WHERE pg_extension.extname = 'vector'
    AND EXISTS (SELECT 1 FROM pg_type WHERE pg_type.typname = 'halfvec' AND pg_type.typnamespace = pg_namespace.oid);

-- name: add_near
-- The same vectors as `data`, one for each window, so that the server can compare them itself. NULL where a program
-- wrote that does not know it.
ALTER TABLE perdure.vector ADD COLUMN IF NOT EXISTS near pgvector.halfvec[];

-- name: index_near
-- Which vectors the server cannot compare: mostly none.
CREATE INDEX IF NOT EXISTS vector_without_near ON perdure.vector (namespace, generation) WHERE near IS NULL;

-- name: see_everywhere
-- The owner of the tables is under the policy, too.
SET LOCAL perdure.everywhere = 'on';

-- name: vectors_without_near
-- In the order of the key, so that each is looked at once.
SELECT vector.namespace, vector.position, vector.data, generation.dimensions
FROM perdure.vector JOIN perdure.generation ON generation.id = vector.generation
WHERE vector.near IS NULL AND (vector.namespace, vector.position) > (%(namespace)s, %(position)s)
ORDER BY vector.namespace, vector.position LIMIT %(limit)s;
