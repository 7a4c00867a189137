//! Role templates: their names, their files, and the built-in ones (RUNS-TPL).

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunTemplate {
    /// Abilities in the header; shown to people, never a right.
    pub capabilities: Vec<String>,
    /// Limits in the header; shown to people.
    pub constraints: Vec<String>,
    /// Version in the header.
    pub version: Option<String>,
    /// The text without the header.
    pub text: String,
}

/// Built-in templates, by name.
pub const BUILT_IN: [(&str, &str); 5] = [
    ("orchestrator", include_str!("templates/orchestrator.md")),
    ("planner", include_str!("templates/planner.md")),
    ("implementer", include_str!("templates/implementer.md")),
    ("reviewer", include_str!("templates/reviewer.md")),
    ("investigator", include_str!("templates/investigator.md")),
];

/// The file of a built-in template.
pub fn built_in(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, file)| *file)
}

/// The file name part of a role: trimmed and lower-case; `None` when no template can have it.
pub fn file_stem(role: &str) -> Option<String> {
    let name = role.trim().to_lowercase();
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let fits = name.bytes().next().is_some_and(plain)
        && name.bytes().all(|byte| plain(byte) || byte == b'_' || byte == b'-')
        && name.len() <= super::limits::TEMPLATE_NAME_CHARS_MAX;
    fits.then_some(name)
}

/// Reads a template's file: an optional header from `[template]` to the first blank line, then
/// the text.
pub fn parse(file: &str) -> RunTemplate {
    let mut template = RunTemplate {
        capabilities: Vec::new(),
        constraints: Vec::new(),
        version: None,
        text: String::new(),
    };
    let body = file.trim_start_matches('\u{feff}').trim_start();
    if body.lines().next().is_none_or(|line| line.trim() != "[template]") {
        file.trim().clone_into(&mut template.text);
        return template;
    }
    let mut lines = body.lines().skip(1);
    for line in lines.by_ref().take_while(|line| !line.trim().is_empty()) {
        let Some((name, value)) = line.split_once('=') else { continue };
        match name.trim() {
            "capabilities" => template.capabilities = words(value),
            "constraints" => template.constraints = words(value),
            "version" => template.version = words(value).into_iter().next(),
            _ => {}
        }
    }
    lines.collect::<Vec<_>>().join("\n").trim().clone_into(&mut template.text);
    template
}

/// The words of a list such as `["a", "b"]`, or of a single value.
fn words(value: &str) -> Vec<String> {
    let inside = value.trim().trim_start_matches('[').trim_end_matches(']');
    let words = inside.split(',').map(|word| word.trim().trim_matches('"').to_owned());
    words.filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::{BUILT_IN, built_in, file_stem, parse};

    #[test]
    fn runs_tpl_1_the_header_is_shown_and_never_sent() {
        let file = "[template]\nname = \"x\"\nversion = 2\ncapabilities = [\"read\", \"write\"]\n\
                    constraints = []\n\n# Text\n\nMore\n";
        let template = parse(file);
        assert_eq!(template.text, "# Text\n\nMore");
        assert_eq!(template.capabilities, ["read", "write"]);
        assert_eq!(template.constraints, Vec::<String>::new());
        assert_eq!(template.version.as_deref(), Some("2"));
        assert_eq!(parse("just text\n").text, "just text");
    }

    #[test]
    fn runs_tpl_3_names_are_plain() {
        assert_eq!(file_stem(" Reviewer "), Some("reviewer".to_owned()));
        for bad in ["", "../x", "a/b", "-x", "ä", &"x".repeat(65)] {
            assert_eq!(file_stem(bad), None, "{bad}");
        }
    }

    #[test]
    fn every_role_has_a_text() {
        for (name, _) in BUILT_IN {
            let template = parse(built_in(name).unwrap());
            assert!(template.text.len() > 400, "{name}");
            assert!(!template.capabilities.is_empty() && template.version.is_some(), "{name}");
            assert!(template.text.contains("request_reset"), "{name}: context hygiene");
        }
        assert_eq!(built_in("nobody"), None);
    }
}
