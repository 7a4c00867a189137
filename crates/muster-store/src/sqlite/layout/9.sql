-- The head of a stream is its newest event, which the index of its numbers has: a write changes no row
-- here.
ALTER TABLE stream DROP COLUMN seq;
