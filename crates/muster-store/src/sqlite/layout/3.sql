-- Every index costs a page with every write. A list of any status is a merge over the statuses, and
-- events with a subject are found among all events of their stream.
DROP INDEX event_with_subject;
DROP INDEX document_by_ord;
DROP INDEX document_by_parent_status;
DROP INDEX document_by_parent;
CREATE INDEX document_by_parent ON document (stream, kind, parent, status, ord);
