//! A marked section of a Markdown file with instructions for agents; everything around it stays as
//! it is, byte for byte.

/// First and last line of the section.
const BEGIN: &str = "<!-- muster: begin (written by `muster setup`; `--remove` takes it out) -->\n";
const END: &str = "<!-- muster: end -->\n";

/// What an agent reads.
pub(super) const INSTRUCTIONS: &str = "\
## Muster

Work of this project is kept in Muster, over its MCP tools.

- Start a piece of work with `tasks_macro_start`: a title and steps, each with criteria.
- Close a step with `tasks_macro_close_step` once its criteria hold. Muster runs the checks of the
  step itself; when it refuses, mend what failed and close again.
- Look at what is open with `tasks_next`, and leave notes with `tasks_note`.
";

/// The section as it is in the file.
pub(super) fn text() -> String {
    format!("{BEGIN}{INSTRUCTIONS}{END}")
}

/// The new content of the file, or `None` when the section is in place.
pub(super) fn put_into(old: &str) -> Option<String> {
    let section = text();
    let new = match place(old) {
        Some((begin, end)) => format!("{}{section}{}", &old[..begin], &old[end..]),
        None if old.is_empty() => section,
        None => format!("{old}\n{section}"),
    };
    (new != old).then_some(new)
}

/// The content without the section, and without the line break that was put before it.
pub(super) fn take_from(old: &str) -> String {
    let Some((begin, end)) = place(old) else { return old.to_owned() };
    let before = &old[..begin];
    format!("{}{}", before.strip_suffix('\n').unwrap_or(before), &old[end..])
}

/// Where the section begins and ends.
fn place(text: &str) -> Option<(usize, usize)> {
    let begin = text.find(BEGIN)?;
    let end = begin + text[begin..].find(END)? + END.len();
    Some((begin, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_comes_and_goes_without_a_trace() {
        for old in ["", "\n", "# Rules\n", "# Rules\n\n", "no line break", "a\r\nb\r\n", "\n\n\n"] {
            let new = put_into(old).unwrap();
            assert_eq!(put_into(&new), None, "a second time changes nothing: {old:?}");
            assert_eq!(take_from(&new), old);
        }
    }

    #[test]
    fn an_older_section_is_brought_up_to_date_where_it_is() {
        let old = format!("# A\n\n{BEGIN}old words\n{END}\n# B\n");
        let new = put_into(&old).unwrap();
        assert_eq!(new, format!("# A\n\n{}\n# B\n", text()));
        assert_eq!(take_from(&new), "# A\n\n# B\n");
    }
}
