"""One of several processes that answer at one address, with the page: `perdure serve --workers --ui`."""

from __future__ import annotations

from perdure.http.workers import main
from perdure.web.server import ServedPage

if __name__ == "__main__":
    main(ServedPage)
