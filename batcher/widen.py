"""Answers that were cut short: the same prompt once more, with more room.

The wider prompt is a prompt like any other, with its own hash; if somebody asked for that much room
from the start, it is the very same one. Requests of the narrow prompt become requests of the wider
one. It is done once: what does not fit then is given up.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import msgspec

import sql
from batcher.ledger import Scope, make_scope
from batcher.restore import complete
from cache.bulk import load, load_bodies
from cache.hashing import Identity, canonical_bytes
from cache.store import Connection, Store

_CUT_SHORT = sql.read("queries")["cut_short"]

#: How many times the room, and how much at most.
FACTOR = 4
MOST = 65_536

#: The names of the cap on output tokens in request bodies.
_CAPS = ("max_completion_tokens", "max_tokens")


def widen(store: Store, scope: Scope, now: datetime) -> int:
    """Give the prompts of ``scope`` that were cut short a wider one each; return how many."""
    with store.writing() as con:
        make_scope(con, scope)
        found = list(_wider(con.execute(_CUT_SHORT).fetchall(), now))
        if not found:
            return 0
        fresh = {prompt["prompt_hash"]: body for prompt, _, body in found}
        known = {
            str(row[0])
            for row in con.execute(
                "select replace(prompt_hash::varchar, '-', '') from prompt_bodies "
                "semi join (select unnest($1::varchar[])::uuid as prompt_hash) using (prompt_hash)",
                [list(fresh)],
            ).fetchall()
        }
        load(con, "prompts", (prompt for prompt, _, _ in found), unless="prompt_hash")
        complete(con, (prompt for prompt, _, _ in found))
        load_bodies(con, ((str(h), body) for h, body in fresh.items() if h not in known))
        load(con, "widened", (link for _, link, _ in found))
        _repoint(con)
    store.rest()
    return len(found)


def _wider(
    rows: list[tuple[object, ...]], now: datetime
) -> Iterator[tuple[dict[str, object], dict[str, object], bytes]]:
    """Yield (row of ``prompts``, row of ``widened``, body) for each that can have more room."""
    for prompt_hash, provider, base_url, endpoint, model, settings, n_tokens, repeat, raw in rows:
        assert isinstance(raw, bytes)
        assert isinstance(repeat, int)
        body = msgspec.json.decode(raw)
        cap = next((name for name in _CAPS if isinstance(body.get(name), int)), None)
        if cap is None or body[cap] >= MOST:
            continue
        body[cap] = min(FACTOR * body[cap], MOST)
        written = canonical_bytes(body)
        identity = Identity(provider=str(provider), base_url=str(base_url), endpoint=str(endpoint))
        wider_hash = identity.prompt_hash(written, repeat)
        prompt = {
            "prompt_hash": wider_hash,
            "provider": provider,
            "base_url": base_url,
            "endpoint": endpoint,
            "model": model,
            "settings": settings,
            "n_bytes": len(written),
            "n_input_tokens": n_tokens,
            "created_at": now.isoformat(),
        }
        link = {
            "prompt_hash": prompt_hash,
            "wider_hash": wider_hash,
            "max_tokens": body[cap],
            "created_at": now.isoformat(),
        }
        yield prompt, link, written


def _repoint(con: Connection) -> None:
    con.execute(
        "update requests set prompt_hash = widened.wider_hash from widened "
        "where widened.prompt_hash = requests.prompt_hash"
    )
