-- What documents are found by, and its index: every three characters in a row.
CREATE TABLE searched (
    document INTEGER PRIMARY KEY REFERENCES document (id),
    text     TEXT NOT NULL
) STRICT;

CREATE VIRTUAL TABLE search USING fts5 (
    text,
    content = 'searched',
    content_rowid = 'document',
    tokenize = 'trigram case_sensitive 1',
    columnsize = 0,
    detail = none
);

-- The index of a store that has no documents is complete. Another one is filled by the first program
-- that opens it, which knows what each document is found by.
INSERT INTO meta (k, v) SELECT 'searchable', 1 WHERE NOT EXISTS (SELECT 1 FROM document);
