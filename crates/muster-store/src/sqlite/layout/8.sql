-- What events say, found by every three characters in a row. The string itself is not stored: the row
-- id is the position of the event, which has it. Written after the events, in idle moments; `meta` says
-- up to which position.
CREATE VIRTUAL TABLE event_search USING fts5 (
    text,
    content = '',
    contentless_delete = 1,
    tokenize = 'trigram case_sensitive 1',
    detail = none
);
