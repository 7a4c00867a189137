//! Steps as items of a checklist. Plain items below one are its criteria; `Test:`, `Blocked:` and
//! `Cancelled:` begin the lines that say more.

use super::{
    ImportedStep, SourceState,
    outline::{self, OutlineItem},
    tree::keep,
};

/// Spaces by which an item is nested in another.
const INDENT: &str = "  ";
const TEST: &str = "Test:";
const BLOCKED: &str = "Blocked:";
const CANCELLED: &str = "Cancelled:";
/// What cannot stand at the beginning of a line of text without another meaning.
const SPECIAL: [&str; 5] = [TEST, BLOCKED, CANCELLED, "[", "\\"];

/// The steps that items stand for. Their ids are given later.
pub(super) fn steps(items: Vec<OutlineItem>) -> Vec<ImportedStep> {
    items.into_iter().map(step).collect()
}

fn step(item: OutlineItem) -> ImportedStep {
    let mut step = ImportedStep { title: plain(&item.text), ..ImportedStep::default() };
    step.state = match item.mark {
        'x' | 'X' => SourceState::Closed,
        '-' | '~' | '/' => SourceState::Active,
        ' ' => SourceState::Open,
        other => {
            keep(&mut step.meta, "mark", other.to_string());
            SourceState::Open
        }
    };
    for line in &item.bullets {
        if let Some(test) = line.strip_prefix(TEST) {
            step.tests.push(plain(test.trim_start()));
        } else if let Some(reason) = line.strip_prefix(BLOCKED) {
            step.state = SourceState::Blocked { reason: reason.trim().to_owned() };
        } else if let Some(reason) = line.strip_prefix(CANCELLED) {
            step.state = SourceState::Cancelled { reason: Some(reason.trim().to_owned()) };
        } else {
            step.success_criteria.push(plain(line));
        }
    }
    keep(&mut step.meta, "details", item.lines.join("\n"));
    step.steps = steps(item.items);
    step
}

/// The steps of a file that is a checklist and nothing else.
pub(super) fn of_text(text: &str) -> Option<Vec<ImportedStep>> {
    let mut sections = outline::sections(text).into_iter();
    let only = sections.next()?;
    let is_list = sections.next().is_none() && only.text.is_empty() && !only.items.is_empty();
    is_list.then(|| steps(only.items))
}

/// Writes steps as items.
pub(super) fn write(steps: &[ImportedStep], depth: usize, text: &mut String) {
    let indent = INDENT.repeat(depth);
    let below = INDENT.repeat(depth + 1);
    for step in steps {
        let mark = match step.state {
            SourceState::Open | SourceState::Blocked { .. } => ' ',
            SourceState::Active => '-',
            SourceState::Closed | SourceState::Cancelled { .. } => 'x',
        };
        text.push_str(&format!("{indent}- [{mark}] {}\n", marked(&step.title)));
        let criteria = step.success_criteria.iter().map(|line| marked(line));
        let tests = step.tests.iter().map(|line| format!("{TEST} {}", marked(line)));
        let reason = match &step.state {
            SourceState::Blocked { reason } => Some(format!("{BLOCKED} {}", one_line(reason))),
            SourceState::Cancelled { reason } => {
                let reason = reason.as_deref().unwrap_or("given up");
                Some(format!("{CANCELLED} {}", one_line(reason)))
            }
            SourceState::Open | SourceState::Active | SourceState::Closed => None,
        };
        for line in criteria.chain(tests).chain(reason) {
            text.push_str(&format!("{below}- {}\n", line.trim_end()));
        }
        if let Some(details) = step.meta.get("details").and_then(|details| details.as_str()) {
            let lines = details.lines().map(str::trim).filter(|line| !line.is_empty());
            lines.for_each(|line| text.push_str(&format!("{below}{line}\n")));
        }
        write(&step.steps, depth + 1, text);
    }
}

/// A line of text so that it is read back as that.
fn marked(line: &str) -> String {
    let line = one_line(line);
    let is_special = SPECIAL.iter().any(|special| line.starts_with(special));
    if is_special { format!("\\{line}") } else { line }
}

fn plain(line: &str) -> String {
    line.strip_prefix('\\').unwrap_or(line).trim().to_owned()
}

/// What begins a new line, by Unicode's newline guidelines.
const BREAKS: [char; 7] = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];

/// The text on one line; what is between words stays as it is.
pub(super) fn one_line(text: &str) -> String {
    let lines = text.split(BREAKS).map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}
