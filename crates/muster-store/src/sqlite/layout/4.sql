-- What lists show of a document. Documents lie between others of all kinds, briefs beside each other: a
-- list reads a few pages of them where it would read a page or more for each document.
CREATE TABLE brief (
    document INTEGER PRIMARY KEY REFERENCES document (id),
    body     TEXT NOT NULL
) STRICT;

-- What lists show of an event. A version that shows events otherwise has to empty the column: what is
-- not kept is worked out of the body.
ALTER TABLE event ADD COLUMN shown TEXT;

-- An index that is asked for a mark has the mark in it, so that a list of briefs reads no document.
DROP INDEX document_by_status;
DROP INDEX document_blocked;
DROP INDEX document_blocked_by_parent;
DROP INDEX document_unconfirmed;
DROP INDEX document_unconfirmed_by_parent;
CREATE INDEX document_by_status ON document (stream, kind, (marks & 4), status, ord)
    WHERE (marks & 4) = 4;
CREATE INDEX document_blocked ON document (stream, kind, (marks & 1), ord) WHERE (marks & 1) = 1;
CREATE INDEX document_blocked_by_parent ON document (stream, kind, parent, (marks & 1), ord)
    WHERE (marks & 1) = 1;
CREATE INDEX document_unconfirmed ON document (stream, kind, (marks & 2), ord)
    WHERE (marks & 2) = 2;
CREATE INDEX document_unconfirmed_by_parent ON document (stream, kind, parent, (marks & 2), ord)
    WHERE (marks & 2) = 2;
