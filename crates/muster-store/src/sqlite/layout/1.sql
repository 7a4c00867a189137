CREATE TABLE meta (
    k TEXT PRIMARY KEY,
    v ANY NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE stream (
    id   INTEGER PRIMARY KEY,
    name TEXT    NOT NULL UNIQUE,
    seq  INTEGER NOT NULL
) STRICT;

-- The row id is the global position, so every index below ends with it and can be read as a range
-- of positions.
CREATE TABLE event (
    global INTEGER PRIMARY KEY,
    stream INTEGER NOT NULL REFERENCES stream (id),
    seq    INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    kind   TEXT    NOT NULL,
    entity TEXT,
    scope  TEXT,
    body   TEXT    NOT NULL
) STRICT;

CREATE UNIQUE INDEX event_by_seq ON event (stream, seq);
CREATE INDEX event_by_entity ON event (stream, entity) WHERE entity IS NOT NULL;
CREATE INDEX event_by_scope ON event (stream, scope) WHERE scope IS NOT NULL;
CREATE INDEX event_with_subject ON event (stream) WHERE entity IS NOT NULL;

-- The body comes last, so that the columns before it are read without following its overflow pages.
CREATE TABLE document (
    id      INTEGER PRIMARY KEY,
    stream  INTEGER NOT NULL REFERENCES stream (id),
    kind    TEXT    NOT NULL,
    name    TEXT    NOT NULL,
    version INTEGER NOT NULL,
    ord     INTEGER NOT NULL,
    parent  TEXT    NOT NULL,
    status  TEXT    NOT NULL,
    rank    INTEGER,
    marks   INTEGER NOT NULL,
    body    TEXT    NOT NULL
) STRICT;

CREATE UNIQUE INDEX document_by_name ON document (stream, kind, name);
CREATE INDEX document_by_ord ON document (stream, kind, ord) WHERE (marks & 4) <> 0;
CREATE INDEX document_by_status ON document (stream, kind, status, ord) WHERE (marks & 4) <> 0;
CREATE INDEX document_by_parent ON document (stream, kind, parent, ord);
CREATE INDEX document_by_parent_status ON document (stream, kind, parent, status, ord)
    WHERE status <> '';
CREATE INDEX document_by_rank ON document (stream, kind, rank, ord) WHERE rank IS NOT NULL;
CREATE INDEX document_by_parent_rank ON document (stream, kind, parent, rank, ord)
    WHERE rank IS NOT NULL;
CREATE INDEX document_blocked ON document (stream, kind, ord) WHERE (marks & 1) <> 0;
CREATE INDEX document_blocked_by_parent ON document (stream, kind, parent, ord)
    WHERE (marks & 1) <> 0;
CREATE INDEX document_unconfirmed ON document (stream, kind, ord) WHERE (marks & 2) <> 0;
CREATE INDEX document_unconfirmed_by_parent ON document (stream, kind, parent, ord)
    WHERE (marks & 2) <> 0;
