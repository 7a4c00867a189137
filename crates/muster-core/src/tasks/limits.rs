//! Every bound of the tasks room (TASKS-LIM-1). Exceeding one is a rejection; nothing is cut on
//! write.

/// Characters of a title.
pub const TITLE_CHARS_MAX: usize = 500;
/// Characters of a description, context, contract, note or reason.
pub const PROSE_CHARS_MAX: usize = 65_536;
/// Characters of a free-form object as compact JSON.
pub const OBJECT_CHARS_MAX: usize = 65_536;
/// Characters of one list item.
pub const ITEM_CHARS_MAX: usize = 4_000;
/// Items of one list.
pub const ITEMS_MAX: usize = 200;
/// Characters of one tag.
pub const TAG_CHARS_MAX: usize = 100;
/// Tags of one plan or task.
pub const TAGS_MAX: usize = 50;
/// Dependencies of one plan or task.
pub const DEPENDENCIES_MAX: usize = 200;
/// Characters of an idempotency key.
pub const KEY_CHARS_MAX: usize = 200;
