//! Rules of the tasks room, one test each.
