-- The tokens of servers.

-- name: tokens
-- All of them, oldest first: there are few, and a server asks for them every other second.
SELECT id, name, scopes, namespaces, writer, digest, created_at, expires_at, revoked_at
FROM perdure.token ORDER BY created_at, id;

-- name: add_token
-- Nothing is answered when a valid token has the name.
INSERT INTO perdure.token (id, name, scopes, namespaces, writer, digest, created_at, expires_at)
VALUES (%(id)s, %(name)s, %(scopes)s, %(namespaces)s, %(writer)s, %(digest)s, %(created_at)s, %(expires_at)s)
ON CONFLICT DO NOTHING RETURNING id;

-- name: revoke_token
-- The first revocation counts.
UPDATE perdure.token SET revoked_at = %(at)s WHERE id = %(id)s AND revoked_at IS NULL;
