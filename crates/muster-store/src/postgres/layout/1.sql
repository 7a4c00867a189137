CREATE TABLE muster.stream (
    id    bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name  text    COLLATE "C" NOT NULL UNIQUE,
    -- The number of the newest event. Writers lock the row, so that there is one at a time.
    seq   bigint  NOT NULL DEFAULT 0,
    ended boolean NOT NULL DEFAULT false
);

CREATE TABLE muster.event (
    stream bigint NOT NULL,
    seq    bigint NOT NULL,
    at     bigint NOT NULL,
    kind   text   COLLATE "C" NOT NULL,
    entity text   COLLATE "C",
    scope  text   COLLATE "C",
    body   text   NOT NULL,
    shown  text,
    author text,
    intent text,
    -- Who reads the events of all streams goes by it: it tells which transactions are still open.
    txn    xid8   NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (stream, seq)
);

CREATE INDEX event_by_entity ON muster.event (stream, entity, seq) WHERE entity IS NOT NULL;
CREATE INDEX event_by_txn ON muster.event (txn, stream, seq);
CREATE INDEX event_by_scope ON muster.event (stream, scope, seq) WHERE entity IS NOT NULL;

-- The newest documents have the highest ids. Of a body in pieces, the first one is here.
CREATE TABLE muster.document (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    stream  bigint NOT NULL,
    kind    text   COLLATE "C" NOT NULL,
    name    text   COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    ord     bigint NOT NULL,
    parent  text   COLLATE "C" NOT NULL,
    status  text   COLLATE "C" NOT NULL,
    rank    bigint,
    marks   bigint NOT NULL,
    pieces  bigint NOT NULL DEFAULT 1,
    body    text   NOT NULL,
    brief   text,
    UNIQUE (stream, kind, name)
);

CREATE INDEX document_listed ON muster.document (stream, kind, status, ord, id)
    WHERE (marks & 4) = 4;
CREATE INDEX document_by_parent ON muster.document (stream, kind, parent, status, ord, id);
CREATE INDEX document_ranked ON muster.document (stream, kind, rank, ord, id)
    WHERE rank IS NOT NULL;
CREATE INDEX document_blocked ON muster.document (stream, kind, ord, id) WHERE (marks & 1) = 1;
CREATE INDEX document_unconfirmed ON muster.document (stream, kind, ord, id)
    WHERE (marks & 2) = 2;
CREATE INDEX document_catalogued ON muster.document (kind, ord, id) WHERE (marks & 8) = 8;

-- Pieces from the second on; those beyond the number that the document has do not count.
CREATE TABLE muster.piece (
    document bigint NOT NULL REFERENCES muster.document (id) ON DELETE CASCADE,
    number   bigint NOT NULL,
    body     text   NOT NULL,
    PRIMARY KEY (document, number)
);

-- What documents are found by. Bytes, because such a string may contain a zero byte. The grams are
-- every three characters in a row, as one number each.
CREATE TABLE muster.searched (
    document bigint PRIMARY KEY REFERENCES muster.document (id) ON DELETE CASCADE,
    stream   bigint NOT NULL,
    said     bytea  NOT NULL,
    grams    bigint[] NOT NULL
);

CREATE INDEX searched_by_stream ON muster.searched (stream);
CREATE INDEX searched_by_gram ON muster.searched USING gin (grams);

-- What events are found by, written after the events.
CREATE TABLE muster.event_search (
    stream bigint NOT NULL,
    seq    bigint NOT NULL,
    at     bigint NOT NULL,
    grams  bigint[] NOT NULL,
    PRIMARY KEY (stream, seq)
);

CREATE INDEX event_search_by_gram ON muster.event_search USING gin (grams);

-- How far each stream is covered by it.
CREATE TABLE muster.event_indexed (
    stream bigint PRIMARY KEY,
    seq    bigint NOT NULL
);
