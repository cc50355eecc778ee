-- What a store runs where the database has pgvector, by name, each with its reason. `pgvector.` is the schema that the
-- extension is in. The first two take the place of the statements of the same names that know nothing of it.

-- name: put_vector
-- As without pgvector, and the server's own form of the vector beside it.
INSERT INTO perdure.vector (namespace, position, generation, passage_hash, checksum, data, near)
SELECT memory.namespace, %(position)s, %(generation)s, %(passage_hash)s, %(checksum)s, %(data)s,
       CASE WHEN %(near)s::real[] IS NOT NULL THEN ARRAY(
           SELECT (%(near)s::real[])[1 + first : %(dimensions)s::int + first]::pgvector.halfvec
           FROM generate_series(0, cardinality(%(near)s::real[]) - 1, %(dimensions)s::int) AS first
       ) END
FROM perdure.memory
WHERE memory.namespace = %(namespace)s AND memory.passage_hash = %(passage_hash)s
    AND memory.state IN ('active', 'superseded')
LIMIT 1
ON CONFLICT DO NOTHING
RETURNING position;

-- name: take_vector
-- The same for a copy.
INSERT INTO perdure.vector (namespace, position, generation, passage_hash, checksum, data, near)
VALUES (
    %(namespace)s, %(position)s, %(generation)s, %(passage_hash)s, %(checksum)s, %(data)s,
    CASE WHEN %(near)s::real[] IS NOT NULL THEN ARRAY(
        SELECT (%(near)s::real[])[1 + first : %(dimensions)s::int + first]::pgvector.halfvec
        FROM generate_series(0, cardinality(%(near)s::real[]) - 1, %(dimensions)s::int) AS first
    ) END
)
ON CONFLICT DO NOTHING RETURNING position;

-- name: put_near
-- Of a vector that was there before pgvector was.
UPDATE perdure.vector SET near = ARRAY(
    SELECT (%(near)s::real[])[1 + first : %(dimensions)s::int + first]::pgvector.halfvec
    FROM generate_series(0, cardinality(%(near)s::real[]) - 1, %(dimensions)s::int) AS first
)
WHERE namespace = %(namespace)s AND position = %(position)s;

-- name: size_of
-- How large a namespace is, and how many of its vectors the server cannot compare, up to a number.
SELECT namespace.documents, (
    SELECT count(*) FROM (
        SELECT 1 FROM perdure.vector
        WHERE vector.namespace = %(namespace)s AND vector.generation = %(generation)s AND vector.near IS NULL
        LIMIT %(most)s
    ) AS unknown
)
FROM perdure.namespace WHERE namespace.namespace = %(namespace)s;

-- name: nearest
-- The nearest passages, and the memories that have them. Of a long one its best window counts, and several windows are
-- several chances to be near, which cost a little. Wants a filter, and then `nearest_first`.
SELECT memory.number
FROM (
    SELECT vector.passage_hash, CASE cardinality(vector.near)
        WHEN 1 THEN vector.near[1] OPERATOR(pgvector.<#>) %(question)s::real[]::pgvector.halfvec
        ELSE (
            SELECT min(part OPERATOR(pgvector.<#>) %(question)s::real[]::pgvector.halfvec) FROM unnest(vector.near) AS part
        ) + %(cost)s::float8 * ln(least(cardinality(vector.near), %(chances)s::int))
        END AS distance
    FROM perdure.vector
    WHERE vector.namespace = %(namespace)s AND vector.generation = %(generation)s AND vector.near IS NOT NULL
    ORDER BY distance LIMIT %(looked_at)s
) AS near
JOIN perdure.memory ON memory.namespace = %(namespace)s AND memory.passage_hash = near.passage_hash
WHERE memory.namespace = %(namespace)s AND memory.state IN ('active', 'superseded') AND

-- name: nearest_first
-- Of equally near ones the newest.
ORDER BY near.distance, memory.number DESC LIMIT %(limit)s

-- name: without_near
-- The memories whose vectors the server cannot compare.
SELECT memory.number
FROM perdure.vector
JOIN perdure.memory ON memory.namespace = vector.namespace AND memory.passage_hash = vector.passage_hash
WHERE vector.namespace = %(namespace)s AND vector.generation = %(generation)s AND vector.near IS NULL
    AND memory.state IN ('active', 'superseded')
LIMIT %(limit)s;

-- name: count_without_vector
-- Mostly none. Two indexes tell it.
SELECT count(*) FROM perdure.memory
WHERE memory.namespace = %(namespace)s AND memory.state IN ('active', 'superseded') AND NOT EXISTS (
    SELECT 1 FROM perdure.vector
    WHERE vector.namespace = %(namespace)s AND vector.generation = %(generation)s
        AND vector.passage_hash = memory.passage_hash
);

-- name: without_vector
-- The keys of memories that wait for their vectors.
SELECT memory.key
FROM perdure.entry
JOIN perdure.memory ON memory.namespace = entry.namespace AND memory.number = entry.number
WHERE entry.namespace = %(namespace)s AND NOT EXISTS (
    SELECT 1 FROM perdure.vector
    WHERE vector.namespace = %(namespace)s AND vector.generation = %(generation)s
        AND vector.passage_hash = memory.passage_hash
);

-- name: speakers
-- Who speaks, as JSON, each with one thing that they say. NULL where somebody does of whom nothing is known.
SELECT min(memory.number), substring(memory.metadata FROM '"speaker": *("(?:[^"\\]|\\.)*")') AS speaker
FROM perdure.memory
WHERE memory.namespace = %(namespace)s AND memory.state IN ('active', 'superseded')
    AND (
        memory.metadata LIKE '%%"speaker"%%'
        OR memory.conversation_id IS NOT NULL AND memory.session_id IS DISTINCT FROM %(learned)s
    )
GROUP BY speaker;

-- name: around
-- What was said before and after in the same session.
SELECT DISTINCT beside.number
FROM perdure.memory AS said
CROSS JOIN LATERAL (
    (
        SELECT earlier.number FROM perdure.memory AS earlier
        WHERE earlier.namespace = %(namespace)s AND earlier.conversation_id = said.conversation_id
            AND coalesce(earlier.session_id, '') = coalesce(said.session_id, '') AND earlier.number < said.number
            AND earlier.state IN ('active', 'superseded')
        ORDER BY earlier.number DESC LIMIT %(reach)s
    )
    UNION ALL
    (
        SELECT later.number FROM perdure.memory AS later
        WHERE later.namespace = %(namespace)s AND later.conversation_id = said.conversation_id
            AND coalesce(later.session_id, '') = coalesce(said.session_id, '') AND later.number > said.number
            AND later.state IN ('active', 'superseded')
        ORDER BY later.number LIMIT %(reach)s
    )
) AS beside
WHERE said.namespace = %(namespace)s AND said.number = ANY(%(numbers)s::bigint[]) AND said.conversation_id IS NOT NULL
    AND said.session_id IS DISTINCT FROM %(learned)s;

-- name: facts_of
-- What may have been learned from messages: facts of the same conversation that hold from the same moment on.
SELECT DISTINCT fact.number
FROM perdure.memory AS said
JOIN perdure.memory AS fact ON fact.namespace = %(namespace)s AND fact.conversation_id = said.conversation_id
WHERE said.namespace = %(namespace)s AND said.number = ANY(%(numbers)s::bigint[]) AND said.conversation_id IS NOT NULL
    AND coalesce(fact.session_id, '') = %(learned)s AND fact.state IN ('active', 'superseded')
    AND coalesce(fact.valid_at, fact.created_at) = coalesce(said.valid_at, said.created_at);

-- name: most_observed
-- The memories that were observed most, of each trust.
SELECT DISTINCT ON (memory.trust) memory.number FROM perdure.memory
WHERE memory.namespace = %(namespace)s AND memory.state IN ('active', 'superseded')
ORDER BY memory.trust, memory.observation_count DESC;

-- name: index_rows_of
-- Rows of a recall index by number.
FROM perdure.entry
JOIN perdure.memory ON memory.namespace = entry.namespace AND memory.number = entry.number
WHERE entry.namespace = %(namespace)s AND entry.number = ANY(%(numbers)s::bigint[])
    AND memory.namespace = %(namespace)s
ORDER BY entry.number

-- name: taken
-- The vectors of memories at equal steps, and their places.
SELECT taken.place, vector.data
FROM (
    SELECT entry.number, row_number() OVER (ORDER BY entry.number) - 1 AS place
    FROM perdure.entry WHERE entry.namespace = %(namespace)s
) AS taken
JOIN perdure.memory ON memory.namespace = %(namespace)s AND memory.number = taken.number
JOIN perdure.vector ON vector.namespace = %(namespace)s AND vector.generation = %(generation)s
    AND vector.passage_hash = memory.passage_hash
WHERE taken.place %% %(step)s::bigint = 0 OR taken.place %% %(wide_step)s::bigint = 0
ORDER BY taken.place;
