"""Take secrets out of text before it is stored, logged or sent anywhere.

    redact("deploy with DB_PASSWORD=hunter2hunter2")
    # Redacted(text='deploy with DB_PASSWORD=[REDACTED:password]', found=('password',))

    redactor(settings.redact_patterns)  # the same, with the user's own patterns

`redaction.py` leads. What it points at is found by families of finders, one module each:

    vendor_tokens     tokens a vendor made recognisable, one row per kind
    private_keys      whole PEM blocks, also truncated ones; the seed phrases of wallets
    urls_and_headers  passwords and signatures in addresses, `Authorization: Bearer …`, cookies
    account_numbers   payment cards, bank accounts, social security numbers
    commands          `curl -u dana:…`, `mysql -p…`, `.netrc`, `.pgpass`
    assignments       `password = …`, `token: …`, `le mot de passe est …`: a telling name and a value that looks secret
    own_patterns      what the user's settings add
"""

from __future__ import annotations

from perdure.text.secrets.redaction import KINDS, Redact, Redacted, redact, redact_nested, redactor

__all__ = ["KINDS", "Redact", "Redacted", "redact", "redact_nested", "redactor"]
