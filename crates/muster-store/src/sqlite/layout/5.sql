-- Who did it, as JSON. Events of older layouts have no author.
ALTER TABLE event ADD COLUMN author TEXT;
