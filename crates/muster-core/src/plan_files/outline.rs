//! Markdown as sections with checklists. Only what checklists need: headings, items with their
//! nesting, code blocks and comments, in which nothing counts.

use crate::tasks::path::STEP_DEPTH_MAX;

const TAB_COLUMNS: usize = 4;

/// A heading with what is below it, up to the next heading.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct OutlineSection {
    /// Number of `#`; zero above the first heading.
    pub(super) level: usize,
    pub(super) title: String,
    pub(super) line: usize,
    /// What is not an item.
    pub(super) text: String,
    pub(super) items: Vec<OutlineItem>,
}

/// An item of a checklist.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct OutlineItem {
    /// The character in the box.
    pub(super) mark: char,
    pub(super) text: String,
    /// Plain list items below it.
    pub(super) bullets: Vec<String>,
    /// Other lines below it.
    pub(super) lines: Vec<String>,
    pub(super) items: Vec<OutlineItem>,
}

pub(super) struct ItemLine<'a> {
    pub(super) indent: usize,
    pub(super) mark: char,
    pub(super) text: &'a str,
}

pub(super) fn item_of(line: &str) -> Option<ItemLine<'_>> {
    let (indent, rest) = list_item(line)?;
    let mut inside = rest.strip_prefix('[')?.chars();
    let mark = inside.next()?;
    let text = inside.as_str().strip_prefix(']')?;
    let is_item = text.is_empty() || text.starts_with([' ', '\t', '*']);
    is_item.then_some(ItemLine { indent, mark, text: text.trim() })
}

/// Indent and text of a line that is an item of any list.
fn list_item(line: &str) -> Option<(usize, &str)> {
    let (indent, rest) = indented(line);
    let after_number = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let rest = match after_number.strip_prefix(['.', ')']) {
        Some(after) if after_number.len() < rest.len() => after,
        Some(_) | None => rest.strip_prefix(['-', '*', '+'])?,
    };
    rest.starts_with([' ', '\t']).then(|| (indent, rest.trim()))
}

fn indented(line: &str) -> (usize, &str) {
    let rest = line.trim_start_matches([' ', '\t']);
    let space = &line[..line.len() - rest.len()];
    let columns = space.chars().map(|one| if one == '\t' { TAB_COLUMNS } else { 1 });
    (columns.sum(), rest)
}

/// Level and title of a heading.
pub(super) fn heading_of(line: &str) -> Option<(usize, &str)> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    let is_heading = (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t']));
    let title = rest.trim().trim_end_matches('#').trim_end();
    is_heading.then_some((level, title))
}

/// Whether lines are in a code block or in a comment, one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Enclosure {
    /// The character and length of the fence that opened a block.
    fence: Option<(char, usize)>,
    in_comment: bool,
}

impl Enclosure {
    /// Whether the next line belongs to a block or comment, its first and last line included.
    pub(super) fn holds(&mut self, line: &str) -> bool {
        let trimmed = line.trim_start();
        if let Some((mark, length)) = self.fence {
            let rest = trimmed.trim_start_matches(mark);
            if trimmed.len() - rest.len() >= length && rest.trim().is_empty() {
                self.fence = None;
            }
            return true;
        }
        if self.in_comment {
            self.in_comment = !line.contains("-->");
            return true;
        }
        // A marked line means what it says.
        if trimmed.starts_with('\\') {
            return false;
        }
        for mark in ['`', '~'] {
            let length = trimmed.len() - trimmed.trim_start_matches(mark).len();
            if length >= 3 {
                self.fence = Some((mark, length));
                return true;
            }
        }
        let Some((_, comment)) = line.split_once("<!--") else { return false };
        self.in_comment = !comment.contains("-->");
        self.in_comment || trimmed.starts_with("<!--")
    }

    /// Whether a block or comment is open.
    pub(super) fn is_open(&self) -> bool {
        self.fence.is_some() || self.in_comment
    }
}

/// The sections of a file. The first is what is above all headings.
pub(super) fn sections(text: &str) -> Vec<OutlineSection> {
    let mut scan = Scan { enclosure: Enclosure::default(), done: Vec::new(), open: Vec::new() };
    let mut section = OutlineSection { line: 1, ..OutlineSection::default() };
    let mut all = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let is_enclosed = scan.enclosure.holds(line);
        if let Some((level, title)) = heading_of(line).filter(|_| !is_enclosed) {
            section.items = scan.take();
            all.push(std::mem::take(&mut section));
            section = OutlineSection { level, title: title.to_owned(), line: at + 1, ..section };
        } else if !scan.add(line, is_enclosed) {
            section.text.push_str(line);
            section.text.push('\n');
        }
    }
    section.items = scan.take();
    all.push(section);
    for section in &mut all {
        section.text = trimmed_block(&section.text);
    }
    all
}

/// The text without blank lines around it and without trailing spaces.
pub(super) fn trimmed_block(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let first = lines.iter().position(|line| !line.is_empty()).unwrap_or(lines.len());
    lines.drain(..first);
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    lines.join("\n")
}

/// Builds the items of a section, line by line.
struct Scan {
    enclosure: Enclosure,
    done: Vec<OutlineItem>,
    /// Items that further lines may belong to, outermost first, with their indent.
    open: Vec<(usize, OutlineItem)>,
}

impl Scan {
    /// Adds a line to the items; false if it belongs to none of them.
    fn add(&mut self, line: &str, is_enclosed: bool) -> bool {
        let (indent, rest) = indented(line);
        if rest.is_empty() {
            return !self.open.is_empty();
        }
        if let Some(item) = item_of(line).filter(|_| !is_enclosed) {
            self.close_from(item.indent);
            // Deeper ones stay beside their parents: a task has a limit, too.
            if self.open.len() >= STEP_DEPTH_MAX {
                self.close_last();
            }
            let item_text = item.text.to_owned();
            let new = OutlineItem { mark: item.mark, text: item_text, ..OutlineItem::default() };
            self.open.push((item.indent, new));
            return true;
        }
        self.close_from(indent);
        let Some((_, item)) = self.open.last_mut() else { return false };
        match list_item(line).filter(|_| !is_enclosed) {
            Some((_, text)) => item.bullets.push(text.to_owned()),
            None => item.lines.push(rest.trim_end().to_owned()),
        }
        true
    }

    /// Ends the items that a line of this indent does not belong to.
    fn close_from(&mut self, indent: usize) {
        while self.open.last().is_some_and(|(of_item, _)| *of_item >= indent) {
            self.close_last();
        }
    }

    fn close_last(&mut self) {
        let Some((_, item)) = self.open.pop() else { return };
        match self.open.last_mut() {
            Some((_, parent)) => parent.items.push(item),
            None => self.done.push(item),
        }
    }

    fn take(&mut self) -> Vec<OutlineItem> {
        while !self.open.is_empty() {
            self.close_last();
        }
        std::mem::take(&mut self.done)
    }
}
