"""The façade over HTTP: the same answers as in Python and on the command line."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any

import pytest
from serve.running import WAIT, events, path_of

from perdure import Memory
from perdure.auth.token_file import TokenFile
from perdure.jsonable import to_jsonable

if TYPE_CHECKING:
    from serve.running import Reply, RunningServer


class Client:
    """A namespace of the shared server."""

    def __init__(self, server: RunningServer, namespace: str) -> None:
        self.server = server
        self.namespace = namespace

    def __call__(self, method: str, path: str, body: object = None, **more: Any) -> Reply:
        more.setdefault("namespace", self.namespace)
        return self.server(method, path, body, **more)

    def remember(self, text: str, **fields: object) -> dict[str, Any]:
        reply = self("POST", "/v1/memories", {"text": text, **fields})
        assert reply.status in {200, 201}, reply
        return reply.json["record"]

    def memory(self) -> Memory:
        return Memory(self.server.store, namespace=self.namespace, embedder="none")


@pytest.fixture
def client(shared: RunningServer, request: pytest.FixtureRequest) -> Client:
    return Client(shared, request.node.name[:100])


def test_a_memory_is_stored_read_corrected_and_forgotten(client: Client):
    made = client("POST", "/v1/memories", {"text": "Alice prefers dark mode", "key": "person:alice", "tags": ["ui"]})
    assert (made.status, made.json["outcome"], made.headers["etag"]) == (201, "inserted", '"1"')
    assert made.headers["location"] == "/v1/memories/1"
    again = client("PATCH", "/v1/memories/1", {"text": "Alice prefers light mode", "add_tags": ["theme"]})
    assert (again.json["outcome"], again.headers["etag"]) == ("updated", '"2"')
    record = client("GET", "/v1/memories/1").json
    assert (record["text"], sorted(record["tags"]), record["version"]) == (
        "Alice prefers light mode",
        ["theme", "ui"],
        2,
    )
    for reference in (1, record["id"], record["content_hash"], "person:alice"):
        assert client("GET", path_of("v1", "memories", reference)).json["number"] == 1
    assert client("DELETE", "/v1/memories/1").json["done"] is True
    assert client("GET", "/v1/memories").json["records"] == []
    assert client("POST", "/v1/memories/1/restore").json["record"]["state"] == "active"


def test_an_answer_is_what_python_gives(client: Client):
    client.remember("Alice prefers dark mode", title="Theme", metadata={"page": 7}, valid_at="2026-01-01")
    with client.memory() as memory:
        assert client("GET", "/v1/memories/1").json.keys() == to_jsonable(memory.get(1)).keys()
        assert client("GET", "/v1/memories/1/history").json == {"revisions": to_jsonable(memory.history(1))}
        assert client("GET", "/v1/memories/1/versions").json == {"versions": to_jsonable(memory.versions(1))}
        assert client("GET", "/v1/memories/1/versions/1").json == to_jsonable(memory.version(1, 1))
        assert client("GET", "/v1/capacity").json.keys() == to_jsonable(memory.capacity()).keys()
        assert client("GET", "/v1/log").json["revisions"] == to_jsonable(memory.log())


def test_compare_and_set_by_the_etag(client: Client):
    client.remember("one", key="note:a")
    assert client("PATCH", "/v1/memories/1", {"text": "two"}, headers={"If-Match": '"1"'}).status == 200
    for method, path, body in (
        ("PATCH", "/v1/memories/1", {"text": "three"}), ("PUT", "/v1/keys/note:a", {"text": "three"}),
        ("DELETE", "/v1/memories/1", None),
    ):  # fmt: skip
        reply = client(method, path, body, headers={"If-Match": '"1"'})
        assert (reply.status, reply.code) == (412, "version_conflict"), path
    for tag in ("1", "W/1", '"x"', '"1", "2"', ""):
        assert client("PATCH", "/v1/memories/1", {"text": "x"}, headers={"If-Match": tag}).code == "bad_request", tag
    assert client("GET", "/v1/memories/1").json["text"] == "two"
    assert client("PUT", "/v1/keys/note:a", {"text": "x"}, headers={"If-None-Match": "*"}).status == 412
    assert client("PUT", "/v1/keys/note:b", {"text": "x"}, headers={"If-None-Match": "*"}).status == 201
    assert client("PUT", "/v1/keys/note:a", {"text": "three"}, headers={"If-Match": '"2"'}).headers["etag"] == '"3"'
    assert client("DELETE", "/v1/memories/1", headers={"If-Match": '"3"'}).json["done"] is True


def test_of_writers_that_compare_and_set_at_once_exactly_one_wins_each_version(client: Client):
    """Eight writers, each on its own connection, count up to 40 together; none overwrites another's number."""
    client.remember("0", key="count:er")
    headers = client.server.headers("owner", None, has_body=True)

    def write(_: int) -> int:
        won = 0
        target = f"/v1/memories/1?namespace={client.namespace}"
        with closing(HTTPConnection(client.server.address, timeout=WAIT)) as connection:
            while True:
                connection.request("GET", target, headers=headers)
                current = json.loads(connection.getresponse().read())
                if int(current["text"]) >= 40:
                    return won
                body = json.dumps({"text": str(int(current["text"]) + 1)})
                guard = {**headers, "If-Match": f'"{current["version"]}"'}
                connection.request("PATCH", target, body, guard)
                response = connection.getresponse()
                response.read()
                assert response.status in {200, 412}
                won += response.status == 200

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(write, range(8))) == 40
    final = client("GET", "/v1/memories/1").json
    assert (final["text"], final["version"]) == ("40", 41)


def test_a_request_that_is_repeated_with_its_key_is_done_once(client: Client):
    key = {"Idempotency-Key": "4f1a"}
    first = client("POST", "/v1/memories", {"text": "Tea"}, headers=key)
    second = client("POST", "/v1/memories", {"text": "Tea"}, headers=key)
    assert (first.status, second.status) == (201, 200)
    assert second.json["outcome"] == "repeated"
    assert second.json["record"]["id"] == first.json["record"]["id"]
    assert client("GET", "/v1/memories/1").json["observation_count"] == 1
    said = {"role": "user", "content": "Hello"}
    for _ in range(2):
        client("POST", "/v1/conversations/c/messages", said, headers={"Idempotency-Key": "m1"})
    assert len(client("GET", "/v1/conversations/c/messages").json["records"]) == 1
    reply = client("POST", "/v1/undo", {"session": "x"}, headers=key)
    assert (reply.status, reply.code) == (400, "bad_request")


def test_pages_follow_each_other_whatever_happens_in_between(client: Client):
    for n in range(1, 8):
        client.remember(f"Memory {n}")
    first = client("GET", "/v1/memories", limit=3).json
    client.remember("Memory 8")
    client("DELETE", "/v1/memories/7")
    second = client("GET", "/v1/memories", limit=3, cursor=first["next"]).json
    third = client("GET", "/v1/memories", limit=3, cursor=second["next"]).json
    assert [record["number"] for page in (first, second, third) for record in page["records"]] == [7, 6, 5, 4, 3, 2, 1]
    assert third["next"] is None
    log = client("GET", "/v1/log", limit=5).json
    assert [line["seq"] for line in log["revisions"]] == [9, 8, 7, 6, 5]
    assert [line["seq"] for line in client("GET", "/v1/log", limit=5, cursor=log["next"]).json["revisions"]] == [
        4,
        3,
        2,
        1,
    ]
    for limit in (0, 101, -1, "x"):
        assert client("GET", "/v1/memories", limit=limit).status == 422


def test_lists_are_narrowed(client: Client):
    client.remember("Alice likes tea", tags=["a", "b"], category="preference")
    client.remember("Bob likes coffee", tags=["a"])
    assert [r["number"] for r in client("GET", "/v1/memories", tag=["a", "b"]).json["records"]] == [1]
    assert [r["number"] for r in client("GET", "/v1/memories", category="preference").json["records"]] == [1]
    client("DELETE", "/v1/memories/2")
    assert [r["number"] for r in client("GET", "/v1/memories", state="deleted").json["records"]] == [2]
    assert client("GET", "/v1/memories", state="nowhere").code == "unknown_choice"


def test_recall_context_triggers_and_summaries(client: Client):
    client.remember("Alice prefers dark mode", trigger_phrases=["which theme"])
    hits = client("POST", "/v1/recall", {"query": "dark mode", "limit": 3, "where": {"page": None}}).json["hits"]
    assert hits == []
    answer = client("POST", "/v1/recall", {"query": "dark mode"}).json
    assert [hit["record"]["number"] for hit in answer["hits"]] == [1]
    context = client("POST", "/v1/context", {"query": "dark mode", "budget": 300}).json
    assert "Alice prefers dark mode" in context["text"]
    triggered = client("POST", "/v1/triggers", {"prompt": "which theme does she like"}).json["triggered"]
    assert [match["phrase"] for match in triggered] == ["which theme"]
    assert "dark mode" in client("POST", "/v1/summarize", {}).json["text"]
    found = client("GET", "/v1/search", query="dark").json["results"]
    assert client("GET", "/v1/fetch", id=found[0]["id"]).json["text"] == "Alice prefers dark mode"


def test_several_namespaces_are_searched_where_the_token_is_good_for_them(client: Client, shared: RunningServer):
    Client(shared, "left").remember("A dark room")
    Client(shared, "right").remember("A dark street")
    _, token = TokenFile(shared.store).create("both", namespaces=("left", "right"))
    body = {"query": "dark", "namespaces": ["left", "right"]}
    hits = shared("POST", "/v1/recall", body, token=token, namespace="left").json["hits"]
    assert sorted(hit["record"]["namespace"] for hit in hits) == ["left", "right"]


def test_one_namespace_never_sees_another(client: Client, shared: RunningServer):
    secret = client.remember("The canary sings", key="bird:canary")
    _, token = TokenFile(shared.store).create("stranger", scopes=("read", "write", "delete"), namespaces=("elsewhere",))
    absent = shared("GET", "/v1/memories/99", token=token)
    for reference in (secret["id"], "bird:canary", secret["content_hash"]):
        reply = shared("GET", path_of("v1", "memories", reference), token=token)
        assert (reply.status, reply.code) == (absent.status, absent.code)
    assert shared("POST", "/v1/recall", {"query": "canary", "min_relevance": 0}, token=token).json["hits"] == []
    assert b"canary" not in shared("GET", "/v1/stats", token=token).body + shared("GET", "/v1/export", token=token).body
    assert shared("GET", "/v1/stats", token=token).json == {"namespaces": []}


def test_what_a_sentence_would_forget_is_shown_first_and_confirmed_by_its_token(client: Client):
    client.remember("The Osaka flat has two rooms")
    client.remember("The Osaka flat is cold")
    asked = client("POST", "/v1/forget", {"what": "everything about the Osaka flat"})
    assert (asked.status, asked.code) == (409, "needs_confirmation")
    preview = asked.json["preview"]
    assert [record["number"] for record in preview["records"]] == [2, 1] or len(preview["records"]) == 2
    wrong = client("POST", "/v1/forget", {"what": "everything about the Osaka flat", "confirm": "0123456789abcdef"})
    assert wrong.status == 409
    done = client("POST", "/v1/forget", {"what": "everything about the Osaka flat", "confirm": preview["token"]})
    assert (done.status, done.json["done"]) == (200, True)
    back = client("POST", "/v1/undo", {"batch": done.json["batch"]}).json
    assert sorted(back["reverted"]) == [1, 2]


def test_what_looks_like_a_sentence_in_an_address_selects_nothing(client: Client):
    client.remember("The Osaka flat is cold")
    for ref in ("everything", "oldest", "least important", "before:2030-01-01", "everything about the flat"):
        assert client("DELETE", path_of("v1", "memories", ref)).status in {404, 422}, ref
    assert len(client("GET", "/v1/memories").json["records"]) == 1


def test_erasing_is_for_ever(client: Client):
    client.remember("A canary that must go")
    asked = client("POST", "/v1/erase", {"what": 1})
    assert (asked.status, asked.code) == (409, "needs_confirmation")
    assert client("GET", "/v1/memories/1").status == 200
    done = client("POST", "/v1/erase", {"what": 1, "confirm": asked.json["preview"]["token"]})
    assert done.json["done"] is True
    assert client("GET", "/v1/memories/1").code == "not_found"
    assert client("POST", "/v1/memories/1/restore").code == "not_found"


@pytest.mark.parametrize("path", ["/v1/forget", "/v1/erase"])
def test_a_sentence_that_says_what_is_to_stay_is_refused(client: Client, path: str):
    client.remember("Bob likes tea")
    for how in ({"confirm": True}, {"dry_run": True}, {}):
        refused = client("POST", path, {"what": "everything but Bob", **how})
        assert (refused.status, refused.code) == (422, "bad_input")
        assert "what should stay" in refused.json["detail"]
    assert len(client("GET", "/v1/memories").json["records"]) == 1


def test_what_is_to_stay_is_named_and_a_preview_says_what_stays_besides(client: Client):
    for text in ("Bob likes tea", "Bob likes tea with milk", "Alice likes coffee"):
        client.remember(text)
    preview = client("POST", "/v1/erase", {"what": "tea that Bob likes", "keep": 2, "dry_run": True}).json
    assert [record["number"] for record in preview["records"]] == [1]
    assert [(miss["record"]["number"], miss["reason"]) for miss in preview["near_misses"]] == [
        (3, "does not hold 'tea' and 'bob'")
    ]


def test_checkpoints_and_undo(client: Client):
    client.remember("before")
    assert client("POST", "/v1/checkpoints", {"name": f"cp {client.namespace}"}).status == 201
    client.remember("after")
    named = path_of("v1", "checkpoints", f"cp {client.namespace}")
    assert client("POST", f"{named}/restore", {"clear_existing": True, "dry_run": True}).json["removed"] == [2]
    done = client("POST", f"{named}/restore", {"clear_existing": True}).json
    assert [r["text"] for r in client("GET", "/v1/memories").json["records"]] == ["before"]
    client("POST", "/v1/undo", {"batch": done["batch"]})
    assert len(client("GET", "/v1/memories").json["records"]) == 2
    assert f"cp {client.namespace}" in [each["name"] for each in client("GET", "/v1/checkpoints").json["checkpoints"]]
    assert client("DELETE", named).status == 200


def test_judging_and_promoting(client: Client):
    client.remember("Always mock the clock")
    assert client("POST", "/v1/memories/1/validate", {"useful": True}).json["record"]["validation_count"] == 1
    assert client("POST", "/v1/memories/1/promote", {"tier": "important"}).json["record"]["tier"] == "important"
    client("PATCH", "/v1/memories/1", {"text": "Always fake the clock"})
    parts = client("GET", "/v1/memories/1/diff").json["text_diff"]
    assert {part["kind"] for part in parts} == {"same", "removed", "added"}


def test_conversations_and_their_episodes(client: Client):
    at = [f"2026-01-01T10:{n:02}:00Z" for n in range(6)] + ["2026-01-02T10:00:00Z"]
    for n, time in enumerate(at):
        said = {"role": "user", "content": f"Sentence {n} about the garden", "at": time}
        assert client("POST", path_of("v1", "conversations", "sup/port 42", "messages"), said).status == 201
    assert client("GET", "/v1/conversations").json == {"conversations": ["sup/port 42"]}
    messages = client("GET", path_of("v1", "conversations", "sup/port 42", "messages"), limit=2).json["records"]
    assert [message["text"] for message in messages] == ["Sentence 5 about the garden", "Sentence 6 about the garden"]
    assert client("GET", "/v1/episodes").json["records"] == []
    assert client("POST", "/v1/work", {}).status == 200
    (episode,) = client("GET", "/v1/episodes").json["records"]
    assert episode["conversation_id"] == "sup/port 42"
    assert [hit["record"]["id"] for hit in client("GET", "/v1/episodes", query="garden").json["hits"]] == [
        episode["id"]
    ]


def test_facts_are_found_with_what_they_took_the_place_of_and_conflicts_listed(client: Client):
    client.remember("User lives in Tokyo", category="identity", conversation_id="c")
    client.remember("User likes tea", category="preference", conversation_id="c")
    client.remember("No fact")
    assert [fact["record"]["number"] for fact in client("GET", "/v1/facts").json["facts"]] == [2, 1]
    found = client("GET", "/v1/facts", query="where does she live? Tokyo", category="identity", conversation_id="c")
    assert [(fact["record"]["text"], fact["earlier"]) for fact in found.json["facts"]] == [("User lives in Tokyo", [])]
    assert client("GET", "/v1/facts", category="nowhere").code == "unknown_choice"
    assert client("GET", "/v1/conflicts").json == {"proposals": [], "uncompared": None}
    assert client("GET", "/v1/review").json == {"proposals": []}
    for answer in ("accept", "reject"):
        assert client("POST", f"/v1/review/1/{answer}", {}).status in {404, 409, 422}
    assert client("POST", "/v1/consolidate", {"dry_run": True}).status == 200


def test_an_export_is_streamed_and_can_be_imported(client: Client, tmp_path_factory: pytest.TempPathFactory):
    texts = [f"Memory {n}: ünïcödé" for n in range(300)]
    with client.memory() as memory:
        memory.import_([{"text": text} for text in texts])
    reply = client("GET", "/v1/export")
    assert reply.headers["content-type"] == "application/x-ndjson"
    assert reply.headers["transfer-encoding"] == "chunked"
    file = tmp_path_factory.mktemp("export") / "all.jsonl"
    file.write_bytes(reply.body)
    with Memory(":memory:", embedder="none") as other:
        assert other.import_(file).inserted == 300
        assert sorted(record.text for record in other.list(limit=300).records) == sorted(texts)


def test_a_reader_who_leaves_an_export_hurts_nobody(client: Client):
    with client.memory() as memory:
        memory.import_([{"text": f"Memory {n} " + "x" * 2000} for n in range(2000)])
    for _ in range(3):
        with client.server.stream(f"/v1/export?namespace={client.namespace}") as response:
            assert response.readline().startswith(b'{"perdure_export"')
    assert client("GET", "/v1/memories", limit=1).status == 200


def test_changes_come_as_events_and_whoever_comes_back_misses_none(client: Client):
    follow = f"/v1/events?namespace={client.namespace}"
    with client.server.stream(follow) as stream:
        coming = events(stream)
        assert next(coming)["id"] == "0"
        client.remember("one")
        client("PATCH", "/v1/memories/1", {"text": "two"})
        seen = [next(coming), next(coming)]
    assert [(event["id"], event["event"]) for event in seen] == [("1", "insert"), ("2", "update")]
    told = json.loads(seen[1]["data"])
    assert (told["number"], told["version"], told["change"]["actor"]) == (1, 2, "local")
    assert "two" not in seen[1]["data"]
    for n in range(120):
        client.remember(f"while nobody looks {n}")
    client("DELETE", "/v1/memories/1")
    with client.server.stream(follow, headers={"Last-Event-ID": "2"}) as stream:
        coming = events(stream)
        next(coming)
        assert [next(coming)["id"] for _ in range(121)] == [str(n) for n in range(3, 124)]
    with client.server.stream(f"{follow}&after=122") as stream:
        coming = events(stream)
        next(coming)
        assert next(coming)["event"] == "forget"
    assert client("GET", "/v1/events", headers={"Last-Event-ID": "abc"}).code == "bad_request"


def test_a_stream_does_not_outlive_its_token(client: Client):
    tokens = TokenFile(client.server.store)
    _, secret = tokens.create("follower", namespaces=(client.namespace,))
    with client.server.stream("/v1/events", secret) as stream:
        coming = events(stream)
        next(coming)
        tokens.revoke("follower")
        last = list(coming)
    assert [event["event"] for event in last] == ["error"]
    assert json.loads(last[0]["data"])["code"] == "unauthenticated"


BAD: list[tuple[str, str, Any]] = [
    ("POST", "/v1/memories", {}), ("POST", "/v1/memories", {"text": ""}), ("POST", "/v1/memories", {"text": 7}),
    ("POST", "/v1/memories", {"text": "x", "txt": 1}), ("POST", "/v1/memories", []), ("POST", "/v1/memories", "x"),
    ("POST", "/v1/memories", {"text": "x", "importance": 2}), ("POST", "/v1/memories", {"text": "x", "tier": "?"}),
    ("POST", "/v1/memories", {"text": "x\x00"}), ("POST", "/v1/memories", {"text": "\ud800"}),
    ("POST", "/v1/memories", {"text": "x", "metadata": {"a b": 1}}),
    ("POST", "/v1/memories", {"text": "x", "tags": "y"}),
    ("POST", "/v1/memories", {"text": "x", "valid_at": "someday"}), ("POST", "/v1/recall", {"query": 7}),
    ("POST", "/v1/recall", {"query": "x", "limit": 101}),
    ("POST", "/v1/recall", {"query": "x", "recipe": "none such"}),
    ("POST", "/v1/recall", {"query": "x", "namespaces": ["\x00"]}),
    ("POST", "/v1/context", {"query": "x", "budget": 0}),
    ("POST", "/v1/recall", {"query": "x", "where": {"'; DROP TABLE record; --": 1}}), ("POST", "/v1/undo", {}),
    ("POST", "/v1/recall", {"query": "x", "concepts": ["one"]}),
    ("GET", "/v1/memories?cursor=99999999999999999999", None), ("GET", "/v1/memories?namespace=", None),
    ("GET", "/v1/memories?namespace=%00", None), ("PUT", "/v1/keys/x", {"text": "x"}),
    ("GET", "/v1/memories/1/versions/99999999999999999999999", None), ("POST", "/v1/checkpoints", {"name": ""}),
    ("GET", "/v1/memories?known_at=someday", None), ("POST", "/v1/conversations/c/messages", {"role": "user"}),
    ("GET", "/v1/memories?namespace=a&namespace=b", None), ("GET", "/v1/events?after=-1", None),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "body"), BAD, ids=range(len(BAD)))
def test_what_makes_no_sense_is_refused_with_a_sentence_and_a_remedy(
    shared: RunningServer, method: str, path: str, body: object
):
    reply = shared(method, path, body)
    assert 400 <= reply.status < 500, reply
    problem = reply.json
    assert problem["status"] == reply.status
    assert problem["code"]
    assert problem["detail"].endswith((".", "?"))
    assert problem["remedy"]
    assert "Traceback" not in reply.body.decode()


def test_a_parameter_of_an_address_that_is_misspelt_is_not_ignored(client: Client):
    client.remember("Tea")
    for path, misspelt in (
        ("/v1/memories", "limt"),
        ("/v1/search?query=tea", "namespaces"),
        ("/v1/events", "after_id"),
    ):
        reply = client.server("GET", f"{path}{'&' if '?' in path else '?'}{misspelt}=1")
        assert (reply.status, reply.code) == (422, "unknown_choice")
        assert misspelt in reply.json["detail"]
        assert "namespace" in reply.json["remedy"]


def test_a_body_that_is_no_json_is_refused(shared: RunningServer):
    deep = b"[" * 100_000
    for body in (b"{", b"", b"\xff", b'{"text": "x"', b"nul", deep, b'{"text": ' + b"9" * 10_000 + b"}", b"NaN"):
        reply = shared("POST", "/v1/memories", raw=body, headers={"Content-Type": "application/json"})
        assert reply.status in {400, 422}, body[:20]
        assert reply.code in {"bad_request", "bad_input"}


TRAVERSALS = """
../../../../etc/passwd ..%2f..%2fetc%2fpasswd %2e%2e/%2e%2e/etc/passwd /etc/passwd file:///etc/passwd
....//....//etc/passwd %00 memory.db memory.db-tokens memory.db-local-token ~/.ssh/id_rsa .%252e/.%252e/etc/passwd
perdure://memory/1 http://169.254.169.254/latest/meta-data con aux nul
""".split()


@pytest.mark.parametrize("template", ["/v1/memories/{}", "/v1/memories/{}/history", "/v1/fetch?id={}", "/{}", "/v1/{}"])
def test_no_address_leads_to_a_file(shared: RunningServer, template: str):
    for place in TRAVERSALS:
        for written in {place, path_of(place)[1:]}:
            reply = shared("GET", template.format(written))
            assert 400 <= reply.status < 500, written
            assert b"root:" not in reply.body
            assert shared.owner.encode() not in reply.body


def test_no_body_names_a_file_to_open_or_an_address_to_ask(shared: RunningServer):
    """Names of settings and of addresses are refused wherever a body is taken: nothing there reads them."""
    described = shared("GET", "/openapi.json").json
    names = ("url", "base_url", "embedder", "llm", "store", "path", "target", "callback", "webhook", "egress")
    asked = 0
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            if "requestBody" not in operation:
                continue
            for name in names:
                body = {name: "http://169.254.169.254/latest/meta-data"}
                reply = shared(method.upper(), path.replace("{", "").replace("}", ""), body)
                assert reply.status == 422, (path, name)
                asked += 1
    assert asked > 100


def test_what_is_known_of_the_other_methods_is_that_there_are_none(shared: RunningServer):
    assert shared("GET", "/nothing").code == "no_route"
    reply = shared("PATCH", "/v1/recall", {})
    assert (reply.status, reply.code, reply.headers["allow"]) == (405, "no_route", "POST")
    assert shared("PATCH", "/v1/memories", {}).headers["allow"] == "GET, POST"
    for path in ("/v1/memories/1/history", "/v1/memories/a:b/c/versions/1", "/v1/checkpoints/x/restore"):
        assert shared("DELETE", path).status == 405, path


def test_the_description_has_an_example_for_every_body_and_a_problem_for_every_route(shared: RunningServer):
    described = shared("GET", "/openapi.json", token=None).json
    schemas = described["components"]["schemas"]
    assert described["components"]["securitySchemes"]["token"] == {"type": "http", "scheme": "bearer"}
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            assert operation["summary"], path
            if path == "/healthz":
                continue
            assert operation["x-perdure-scopes"], path
            assert "application/problem+json" in operation["responses"]["4XX"]["content"], path
            if "requestBody" in operation:
                body = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
                optional = not schemas[body].get("required")
                assert schemas[body].get("examples") or optional, (method, path, body)
    assert schemas["Problem"]["properties"]["code"]["enum"]


def test_a_product_may_say_who_speaks(shared: RunningServer):
    message = {"role": "user", "speaker": "Lena", "content": "I live in Ulm."}
    reply = shared("POST", "/api/v0/add_message", {"conversation_id": "of Lena", "message": message})
    assert reply.json["record"]["metadata"] == {"role": "user", "speaker": "Lena"}


@pytest.mark.parametrize(
    ("body", "said", "remedy"),
    [
        ({"q": "x"}, "There is no field 'q' here.", "Did you mean 'query'?"),
        ({"querry": "x"}, "There is no field 'querry' here.", "Did you mean 'query'?"),
        ({"colour": "x"}, "There is no field 'colour' here.", "It may be: "),
        ({"query": 7}, "'query' must be a text.", "Correct the value"),
        ({"query": "x", "limit": 0}, "'limit' must be 1 or more.", "Correct the value"),
    ],
)
def test_a_body_that_is_wrong_is_told_what_is_meant(
    shared: RunningServer, body: dict[str, object], said: str, remedy: str
):
    reply = shared("POST", "/v1/recall", body)
    assert reply.status == 422
    assert reply.json["detail"] == said
    assert remedy in reply.json["remedy"]
