"""A checkpoint as it is stored: a name for positions in the logs of namespaces, by the ids that these have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from perdure.clock import from_micros
from perdure.errors import StoreDamaged
from perdure.model import Checkpoint
from perdure.store.rows import Row


def decode_checkpoint(row: Row, names: Mapping[str, str], everything: object) -> Checkpoint:
    """`names` has the name of each namespace by its id, written as text; `everything` is the id that stands in place of
    a namespace's for a checkpoint of all of them. StoreDamaged when the row is not as it was written.
    """
    namespace, name, positions, memory_count, actor, spec_folder, description, metadata, created_at = row
    damaged = StoreDamaged(f"The checkpoint {name!r:.80} is not as it was written.")
    try:
        own = None if namespace == everything else names[str(namespace)]
        by_name = {names[log_id]: seq for log_id, seq in json.loads(positions).items()}
        if own is not None:
            by_name = {own: by_name[own]}
        facts = dict[str, Any](json.loads(metadata or "{}").items())
        moment = from_micros(created_at)
    except (KeyError, ValueError, TypeError, AttributeError, OverflowError) as error:
        raise damaged from error
    if any(not isinstance(seq, int) or seq < 0 for seq in by_name.values()):
        raise damaged
    return Checkpoint(name, own, by_name, memory_count, moment, actor, spec_folder, description, facts)
