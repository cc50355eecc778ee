"""Fifty things a team has learned: twenty about parsers, twenty about deployment, ten about testing."""

from __future__ import annotations

from typing import Final

PARSER: Final = (
    (
        "Read real file samples first",
        "Open three real input files before writing a parser; the documented format is never the whole truth.",
    ),
    (
        "Error recovery at line ends",
        "When a line cannot be parsed, record the error with its line number, skip to the next newline and go on.",
    ),
    (
        "Tokenizer apart from grammar",
        "Keep the tokenizer and the grammar apart: a syntax error then names a token and not a character offset.",
    ),
    (
        "No regex for nested input",
        "Regular expressions cannot parse nested brackets; write a small recursive descent parser instead.",
    ),
    (
        "Stream large files",
        "Parse large CSV files as a stream of rows, or a single export of two gigabytes exhausts memory.",
    ),
    (
        "Byte order marks",
        "Strip the UTF-8 byte order mark before parsing a JSON file, or the first key is never found.",
    ),
    (
        "Fuzz the parser",
        "Feed the parser random bytes for a minute; it must answer with a parse error and never crash.",
    ),
    (
        "Keep source positions",
        "Every node of the syntax tree carries its line and column, so that an error message can point at the input.",
    ),
    (
        "Quoted delimiters",
        "Splitting a CSV line at commas breaks on quoted fields; use the csv module for reading.",
    ),
    (
        "Fail on unknown fields",
        "A strict parser that rejects unknown keys finds typing errors in configuration files on the first day.",
    ),
    (
        "Encoding is a parameter",
        "Guessing the encoding of a text file corrupts names; ask for it, and report the byte that does not decode.",
    ),
    (
        "Parse, do not validate",
        "Turn the raw input into a typed value once, at the edge, so that invalid data cannot travel further.",
    ),
    (
        "Partial results",
        "A file with one malformed record should still yield the others, together with a list of what was skipped.",
    ),
    (
        "Lookahead of one token",
        "If the grammar needs more than one token of lookahead, change the file format before changing the parser.",
    ),
    (
        "XML entities",
        "Switch off external entities in the XML parser: an uploaded file could read others from the disk.",
    ),
    (
        "Dates in input files",
        "Parse dates in the input with an explicit format string; guessing swaps day and month without any error.",
    ),
    (
        "Golden files",
        "Keep a directory of input files with their expected syntax trees; each parser bug adds one more.",
    ),
    (
        "Escape sequences",
        "Handle backslash escapes in the lexer and not in the parser, otherwise strings are unescaped twice.",
    ),
    (
        "Truncated files",
        "A file that ends in the middle of a record is reported as truncated, not silently parsed as complete.",
    ),
    (
        "Numbers stay text",
        "Read identifiers with leading zeros as text; a parser that makes numbers of them loses data.",
    ),
)
DEPLOYMENT: Final = (
    (
        "Blue and green",
        "Switch traffic between two identical environments, so that going back takes seconds.",
    ),
    (
        "Migrations before code",
        "Run database migrations in a release of their own, before the servers that need them roll out.",
    ),
    (
        "Health checks",
        "A load balancer sends traffic only to instances whose health endpoint answers for thirty seconds.",
    ),
    (
        "Secrets in the vault",
        "Mount credentials from the vault when a container starts; never bake them into an image.",
    ),
    (
        "Canary releases",
        "Roll a release out to five percent of the users and watch the dashboards for an hour.",
    ),
    (
        "Pinned image digests",
        "Deploy container images by digest: the tag latest moved during a rollout and mixed two versions.",
    ),
    (
        "No Friday releases",
        "Nothing ships to production after Thursday noon, because nobody is there to watch it.",
    ),
    (
        "Terraform state",
        "Keep the infrastructure state in a bucket with locking; two laptops once applied at the same time.",
    ),
    (
        "Graceful shutdown",
        "Servers drain their connections for twenty seconds after SIGTERM before the scheduler stops them.",
    ),
    (
        "Rollback rehearsal",
        "Practise the rollback every month; the script had been broken since the cluster was upgraded.",
    ),
    (
        "Resource limits",
        "Set memory limits on each pod, or one leaking service evicts its neighbours from the node.",
    ),
    (
        "Feature flags",
        "Ship dark behind a flag and switch it on later: releasing and deploying are different events.",
    ),
    (
        "Certificates expire",
        "Renew TLS certificates automatically, and page someone fourteen days before the end.",
    ),
    (
        "One artefact",
        "Build once and promote the same artefact from staging to production.",
    ),
    (
        "Regions one by one",
        "Roll out region by region; the outage in spring reached everyone because all went together.",
    ),
    (
        "Autoscaling lag",
        "New nodes need four minutes, so scale on the queue length and not on the processor load.",
    ),
    (
        "Cluster upgrades",
        "Upgrade the Kubernetes control plane one minor version at a time.",
    ),
    (
        "Immutable servers",
        "Replace machines instead of patching them; drifted hosts cost us a weekend.",
    ),
    (
        "Release notes",
        "Each rollout announces its version and its owner in the operations channel.",
    ),
    (
        "Backups before releases",
        "Snapshot the production database before each rollout that touches the schema.",
    ),
)
TESTING: Final = (
    (
        "Flaky tests",
        "Quarantine a test that fails at random on the same day, or people learn to ignore red builds.",
    ),
    (
        "One assertion of intent",
        "A test named after a sentence about behaviour survives every refactoring.",
    ),
    (
        "Fake clocks",
        "Inject the clock; tests that sleep are slow on good days and red on bad ones.",
    ),
    (
        "Test data builders",
        "Builders with sensible defaults keep test setup down to what matters for the case.",
    ),
    (
        "Mocks hide drift",
        "Mocking the payment service hid for months that its interface had changed.",
    ),
    (
        "Property tests",
        "State what holds for all values and let the machine look for the counterexample.",
    ),
    (
        "Coverage is no goal",
        "Chasing a coverage figure gave us tests without assertions.",
    ),
    (
        "Test the unhappy path",
        "Half of the cases of a suite should be about what happens when a dependency is away.",
    ),
    (
        "Isolated databases",
        "Each test run gets a schema of its own, so that runs can go side by side.",
    ),
    (
        "Snapshot fatigue",
        "Nobody reads a snapshot of two thousand lines before approving it.",
    ),
)
TOPICS: Final = {"parser": PARSER, "deployment": DEPLOYMENT, "testing": TESTING}
