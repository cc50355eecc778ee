"""The others, each as its own guide sets it up: default parameters, durable where it can be, answering with texts."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.contender import LEG, Contender, fused
from bench.corpus import Batch, Vectors
from perdure.text.words import query_words


def foreign(module: str) -> Any:
    """The peers have no types, and are installed only in their own environment: this is the one boundary."""
    return importlib.import_module(module)


class Chroma(Contender):
    """Chroma ranks by vectors alone, its full-text search only filters: a hybrid is two queries, one filtered."""

    name = "chromadb"
    about = "PersistentClient; vector query, and the same among documents that contain a word; RRF"
    packages = ("chromadb",)

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._collection: Any = None
        self._count = 0

    def build(self, batches: Iterator[Batch]) -> None:
        self.open()
        for texts, vectors in batches:
            for start in range(0, len(texts), 5000):
                self._put(texts[start : start + 5000], vectors[start : start + 5000])
        self.close()

    def open(self) -> None:
        client = foreign("chromadb").PersistentClient(
            str(self.directory), settings=foreign("chromadb.config").Settings(anonymized_telemetry=False)
        )
        self._collection = client.get_or_create_collection(
            "memories", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )
        self._count = self._collection.count()

    def hybrid(self, query: str, vector: Vectors, limit: int) -> list[str]:
        contains = [{"$contains": word} for word in query_words(query)]
        matching = {"$or": contains} if len(contains) > 1 else contains[0]
        return fused(self._nearest(vector), self._nearest(vector, where_document=matching), limit=limit)

    def add(self, text: str, vector: Vectors) -> None:
        self._put([text], vector[np.newaxis])

    def close(self) -> None:
        self._collection = None

    def _put(self, texts: Sequence[str], vectors: Vectors) -> None:
        ids = [str(self._count + offset) for offset in range(len(texts))]
        self._collection.add(ids=ids, embeddings=vectors, documents=list(texts))
        self._count += len(texts)

    def _nearest(self, vector: Vectors, **narrowed: Any) -> list[str]:
        found = self._collection.query(query_embeddings=[vector], n_results=LEG, include=["documents"], **narrowed)
        return found["documents"][0]


class ChromaVectors(Chroma):
    name = "chromadb, vectors only"
    about = "the same store, no words: half of the work, shown because many use it so"
    store = "chromadb"
    adds = False

    def hybrid(self, query: str, vector: Vectors, limit: int) -> list[str]:  # noqa: ARG002
        return self._nearest(vector)[:limit]


class LanceFlat(Contender):
    name = "lancedb, exact"
    about = "hybrid query with its RRF reranker; FTS index; no vector index"
    packages = ("lancedb",)
    syncs = False

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._table: Any = None
        self._fuse: Any = None

    def build(self, batches: Iterator[Batch]) -> None:
        data = foreign("lancedb").connect(str(self.directory))
        table: Any = None
        for texts, vectors in batches:
            if table is None:
                table = data.create_table("memories", _arrow(texts, vectors))
            else:
                table.add(_arrow(texts, vectors))
        table.create_index("text", config=foreign("lancedb.index").FTS())
        self._index(table)
        table.optimize()

    def open(self) -> None:
        self._table = foreign("lancedb").connect(str(self.directory)).open_table("memories")
        self._fuse = foreign("lancedb.rerankers").RRFReranker()

    def hybrid(self, query: str, vector: Vectors, limit: int) -> list[str]:
        asked = self._table.search(query_type="hybrid").vector(vector).text(query).distance_type("cosine")
        return asked.limit(limit).rerank(self._fuse).to_arrow().column("text").to_pylist()

    def add(self, text: str, vector: Vectors) -> None:
        self._table.add(_arrow([text], vector[np.newaxis]))

    def close(self) -> None:
        self._table = None

    def _index(self, table: Any) -> None: ...


class Lance(LanceFlat):
    name = "lancedb"
    about = "hybrid query with its RRF reranker; FTS index; IVF_PQ index"

    def _index(self, table: Any) -> None:
        table.create_index("vector", config=foreign("lancedb.index").IvfPq(distance_type="cosine"))


def _arrow(texts: Sequence[str], vectors: Vectors) -> Any:
    arrow = foreign("pyarrow")
    flat = arrow.array(vectors.ravel())
    return arrow.table({"text": list(texts), "vector": arrow.FixedSizeListArray.from_arrays(flat, vectors.shape[1])})


class SqliteVec(Contender):
    name = "sqlite-vec"
    about = "through apsw: vec0 and FTS5 (porter), RRF; WAL, synchronous=FULL"
    packages = ("sqlite-vec", "apsw")

    _SCHEMA = """
        CREATE TABLE memory (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
        CREATE VIRTUAL TABLE words USING fts5 (text, content = 'memory', content_rowid = 'id', tokenize = 'porter');
        CREATE VIRTUAL TABLE vectors USING vec0 (id INTEGER PRIMARY KEY, vector float[384] distance_metric=cosine);
    """

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._connection: Any = None

    def build(self, batches: Iterator[Batch]) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        self.open()
        self._connection.execute(self._SCHEMA)
        for texts, vectors in batches:
            with self._connection:
                for text, vector in zip(texts, vectors, strict=True):
                    self._put(text, vector)
        self.close()

    def open(self) -> None:
        self._connection = foreign("apsw").Connection(str(self.directory / "memory.db"))
        self._connection.enable_load_extension(True)  # noqa: FBT003
        self._connection.load_extension(foreign("sqlite_vec").loadable_path())
        self._connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")

    def hybrid(self, query: str, vector: Vectors, limit: int) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in query_words(query))
        by_words = self._column("SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?", words, LEG)
        near = self._column("SELECT id FROM vectors WHERE vector MATCH ? AND k = ?", vector.tobytes(), LEG)
        best = fused(near, by_words, limit=limit)
        return [self._column("SELECT text FROM memory WHERE id = ?", int(id))[0] for id in best]

    def add(self, text: str, vector: Vectors) -> None:
        with self._connection:
            self._put(text, vector)

    def close(self) -> None:
        self._connection.close()

    def _put(self, text: str, vector: Vectors) -> None:
        run = self._connection.execute
        run("INSERT INTO memory (text) VALUES (?)", (text,))
        id = self._connection.last_insert_rowid()
        run("INSERT INTO words (rowid, text) VALUES (?, ?)", (id, text))
        run("INSERT INTO vectors (id, vector) VALUES (?, ?)", (id, vector.tobytes()))

    def _column(self, sql: str, *values: object) -> list[str]:
        return [str(value) for (value,) in self._connection.execute(sql, values)]


class Txtai(Contender):
    """txtai keeps its index in memory; what is added is on disk when the whole of it is saved again."""

    name = "txtai"
    about = "Embeddings(hybrid=True, content=True), its own BM25 and faiss; an add is upsert + save"
    packages = ("txtai", "faiss-cpu")

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._index: Any = None
        self._known: dict[str, Vectors] = {}
        self._count = 0

    def build(self, batches: Iterator[Batch]) -> None:
        texts: list[str] = []
        for some, vectors in batches:
            self._known |= dict(zip(some, vectors, strict=True))
            texts += some
        index = foreign("txtai").Embeddings(method="external", transform=self._lookup(), hybrid=True, content=True)
        index.index((number, text, None) for number, text in enumerate(texts))
        index.save(str(self.directory))
        index.close()

    def open(self) -> None:
        self._index = foreign("txtai").Embeddings()
        self._index.load(str(self.directory), config={"transform": self._lookup()})
        self._count = self._index.count()

    def hybrid(self, query: str, vector: Vectors, limit: int) -> list[str]:
        self._known = {query: vector}
        return [found["text"] for found in self._index.search(query, limit)]

    def add(self, text: str, vector: Vectors) -> None:
        self._known = {text: vector}
        self._index.upsert([(self._count, text, None)])
        self._count += 1
        self._index.save(str(self.directory))

    def close(self) -> None:
        self._index.close()

    def _lookup(self) -> Any:
        # txtai takes a plain function, and calls anything else to get one.
        def vectors_of(texts: Iterable[str]) -> Vectors:
            return np.stack([self._known[text] for text in texts])

        return vectors_of


PEERS: tuple[type[Contender], ...] = (Chroma, ChromaVectors, Lance, LanceFlat, SqliteVec, Txtai)
