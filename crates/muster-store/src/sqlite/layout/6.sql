-- What the caller asked for, on the first event of an operation that has no document of its own.
ALTER TABLE event ADD COLUMN intent TEXT;

-- Pieces of the bodies of large documents, in order: 2^20 * document + number. Such a document has the
-- mark 256, and the first piece in its own row. A change of a part of it writes the pieces of that part.
CREATE TABLE piece (
    id   INTEGER PRIMARY KEY,
    body TEXT NOT NULL
) STRICT;

-- A plan or task has the totals of its memory in it.
UPDATE document SET body = json_set(document.body, '$.meta.memory', json(memory.body))
    FROM document AS memory, stream
    WHERE document.kind IN ('plan', 'task') AND memory.stream = document.stream
    AND memory.kind = 'memory' AND memory.name = document.name
    AND stream.id = document.stream AND stream.name GLOB 'workspace/*';
DELETE FROM document WHERE kind = 'memory'
    AND stream IN (SELECT id FROM stream WHERE name GLOB 'workspace/*');

-- A note on a step is read from its event.
DELETE FROM document WHERE kind = 'note'
    AND stream IN (SELECT id FROM stream WHERE name GLOB 'workspace/*')
    AND (SELECT kind FROM event WHERE global = CAST(document.name AS INTEGER)) = 'step_noted';
