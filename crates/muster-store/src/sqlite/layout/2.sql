-- An ended stream keeps its name, its head and its last events, and takes nothing more.
ALTER TABLE stream ADD COLUMN ended INTEGER NOT NULL DEFAULT 0;

CREATE INDEX document_catalogued ON document (kind, ord) WHERE (marks & 8) <> 0;
