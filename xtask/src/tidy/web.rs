//! The page's sources: four rooms that look in one direction, small components, one file of
//! colours.

use super::{Finding, source::Source, tree::Tree};

/// Lines of a component, and of any other source of the page.
const COMPONENT_LINES_MAX: usize = 200;
const SOURCE_LINES_MAX: usize = 400;
/// The one file with colours.
const THEME: &str = "web/src/ui/theme.css";

/// What a room may not hold: the room, the text, and why.
const FORBIDDEN: [(&str, &str, &str); 12] = [
    ("ui/", "from \"../api", "`ui` knows nothing of the domain"),
    ("ui/", "from \"../state", "`ui` knows nothing of the domain"),
    ("ui/", "from \"../views", "`ui` knows nothing of the domain"),
    ("state/", "import { get", "`state` is pure"),
    ("state/", "$state", "`state` is pure"),
    ("state/", "from \"svelte", "`state` is pure"),
    ("state/", "from \"../views", "`state` is pure"),
    ("state/", "Date.now", "`state` is pure"),
    ("", "{@html", "text never becomes markup"),
    ("", "innerHTML", "text never becomes markup"),
    ("", "http://", "nothing comes from elsewhere"),
    ("", "https://", "nothing comes from elsewhere"),
];

/// What only `api` does.
const ONLY_API: [&str; 3] = ["fetch(", "new WebSocket(", "new EventSource("];

/// Rooms look in one direction, and only `api` talks to the server.
pub(crate) fn rooms(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, inside) in sources(tree) {
        for (at, line) in file.text.lines().enumerate() {
            let place = format!("{}:{}", file.path, at + 1);
            let forbidden = FORBIDDEN
                .iter()
                .find(|(room, text, _)| inside.starts_with(room) && line.contains(text));
            findings.extend(forbidden.map(|(_, _, why)| Finding::new(&place, (*why).to_owned())));
            let talks = ONLY_API.iter().any(|call| line.contains(call));
            if talks && !inside.starts_with("api/") {
                findings.push(Finding::new(&place, "only `api` talks to the server".to_owned()));
            }
        }
    }
    findings
}

/// Components stay small, and colours are in one file.
pub(crate) fn sizes(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, _) in sources(tree) {
        let lines = file.text.lines().count();
        let component = file.path.ends_with(".svelte");
        let limit = if component { COMPONENT_LINES_MAX } else { SOURCE_LINES_MAX };
        if lines > limit {
            findings.push(Finding::new(&file.path, format!("{lines} lines, the limit is {limit}")));
        }
        let styled = component || file.path.ends_with(".css");
        if styled && file.path != THEME {
            findings.extend(coloured(file).map(|at| {
                let place = format!("{}:{at}", file.path);
                Finding::new(&place, "colours stand in the theme".to_owned())
            }));
        }
    }
    findings
}

/// Lines with a colour of their own.
fn coloured(file: &Source) -> impl Iterator<Item = usize> {
    let shows = |line: &str| {
        let (_, value) = line.split_once(": ").unwrap_or_default();
        let hexadecimal = value.split('#').nth(1).is_some_and(|digits| {
            digits.len() > 3 && digits.bytes().take(3).all(|byte| byte.is_ascii_hexdigit())
        });
        line.trim_end().ends_with(';') && (hexadecimal || value.contains("rgb("))
    };
    file.text.lines().enumerate().filter(move |(_, line)| shows(line)).map(|(at, _)| at + 1)
}

/// The page's own sources with their path inside; what is generated is left out.
fn sources(tree: &Tree) -> impl Iterator<Item = (&Source, &str)> {
    tree.files.iter().filter_map(|file| {
        let inside = file.path.strip_prefix("web/src/")?;
        let kinds = [".ts", ".svelte", ".css"];
        let own = kinds.iter().any(|kind| inside.ends_with(kind)) && !inside.ends_with(".d.ts");
        own.then_some((file, inside))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(path: &str, text: &str) -> Tree {
        Tree { files: vec![Source::new(path, text)], ..Tree::default() }
    }

    #[test]
    fn rooms_that_look_the_wrong_way_are_found() {
        for (path, text) in [
            ("web/src/ui/A.svelte", "import { get } from \"../api/client\";"),
            ("web/src/state/a.ts", "const now = Date.now();"),
            ("web/src/views/A.svelte", "{@html text}"),
            ("web/src/views/a.ts", "await fetch(address);"),
        ] {
            assert_eq!(rooms(&tree(path, text)).len(), 1, "{path}");
        }
        for (path, text) in [
            ("web/src/api/client.ts", "await fetch(address);"),
            ("web/src/views/A.svelte", "import { get } from \"../api/client\";"),
            ("docs/a.ts", "{@html text}"),
        ] {
            assert!(rooms(&tree(path, text)).is_empty(), "{path}");
        }
    }

    #[test]
    fn large_components_and_stray_colours_are_found() {
        let large = "x\n".repeat(COMPONENT_LINES_MAX + 1);
        assert_eq!(sizes(&tree("web/src/ui/A.svelte", &large)).len(), 1);
        for colour in ["  color: #1a2b3c;", "  color: rgb(1 2 3);"] {
            assert_eq!(sizes(&tree("web/src/ui/A.svelte", colour)).len(), 1, "{colour}");
            assert!(sizes(&tree(THEME, colour)).is_empty(), "{colour}");
        }
        assert!(sizes(&tree("web/src/ui/A.svelte", "  color: var(--text);")).is_empty());
    }
}
