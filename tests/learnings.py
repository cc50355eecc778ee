"""Learnings such as agents write down, made up for these tests: what was learned, and why."""

from __future__ import annotations

from typing import Final

LEARNINGS: Final = (
    ("Read real file samples when parsing. parseFile failed on CRLF line endings.", "The parser assumed LF."),
    ("Always close database connections, or the connection pool runs dry under load.", "Production answered E1042."),
    ("Retry SQLITE_BUSY with exponential backoff instead of raising the timeout.", None),
    ("A hook that prints to stdout corrupts the JSON that the host reads.", "Two sessions started without memory."),
    ("Pin the tokenizer version together with the model weights.", "Embeddings drifted after a minor release."),
    ("Never mock the clock in integration tests; pass a fixed clock to the scheduler.", None),
    ("Reviewer iteration count is a signal of complexity: after three rounds, split the specification.", None),
    ("Feature flags need an owner and an expiry date.", "Forty stale flags were found during the audit."),
    ("Use `git worktree` for parallel branches rather than stashing changes.", "A stash was lost twice."),
    ("Regular expressions with nested quantifiers take exponential time on hostile input.", None),
    ("Kubernetes readiness probes must not depend on a downstream service.", "One slow API took all pods down."),
    ("Batch inserts of 500 rows are ten times faster than single statements in PostgreSQL.", None),
    ("Validate webhook signatures before parsing the payload.", "HMAC over the raw bytes, not over parsed JSON."),
    ("Do not cache authorization decisions across tenants.", "A shared key leaked invoices to another customer."),
    ("Snapshot tests of rendered HTML break on every harmless class name.", "Assert on roles and labels instead."),
    ("Deploy the migration before the release that needs the new column.", None),
    ("Idempotency keys make payment retries safe.", "Stripe charged a card twice after a network split."),
    ("Timezones belong at the edges: store UTC, convert when rendering.", None),
    ("Docker layers are cached by instruction, so copy requirements.txt before the sources.", None),
    ("A flaky test is quarantined within a day and has an owner.", "Ignored flakes hid a race in the uploader."),
)
