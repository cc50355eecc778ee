-- The tokens of servers, as hashes of their secrets, so that every server of a fleet knows them, and each revocation.
-- They belong to no namespace. `namespaces` is NULL for a token that is good for all.
CREATE TABLE IF NOT EXISTS perdure.token (
    id         text COLLATE "C" PRIMARY KEY,
    name       text COLLATE "C" NOT NULL,
    scopes     text[] NOT NULL,
    namespaces text[],
    writer     text COLLATE "C" NOT NULL,
    digest     text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint
);

CREATE UNIQUE INDEX IF NOT EXISTS token_name ON perdure.token (name) WHERE revoked_at IS NULL;
