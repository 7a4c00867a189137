//! Puts one table of our own into a TOML file by editing its text; every other line stays as it is.
//!
//! What is deliberately not here: a TOML parser. A file that writes our table in a form that cannot
//! be edited by lines is refused.

use anyhow::bail;

/// The table, its two values as TOML writes them.
pub(super) struct Table {
    /// Dotted name, for example `mcp_servers.muster`.
    pub(super) name: String,
    /// Value of `command`.
    pub(super) command: String,
    /// Value of `args`.
    pub(super) arguments: String,
}

impl Table {
    /// The table as text.
    pub(super) fn text(&self) -> String {
        format!("[{}]\ncommand = {}\nargs = {}\n", self.name, self.command, self.arguments)
    }

    /// The file's new text, or `None` when the table is there.
    pub(super) fn put_into(&self, old: &str) -> anyhow::Result<Option<String>> {
        let lines = scan(old);
        let headers = lines.iter().enumerate().filter(|(_, line)| line.kind == Kind::Header);
        let own: Vec<usize> = headers
            .filter(|(_, line)| header_name(line.text).as_deref() == Some(self.name.as_str()))
            .map(|(at, _)| at)
            .collect();
        let new = match own[..] {
            [] => {
                self.refuse_other_forms(&lines)?;
                let gap = if old.is_empty() || old.ends_with("\n\n") { "" } else { "\n" };
                let end = if old.is_empty() || old.ends_with('\n') { "" } else { "\n" };
                format!("{old}{end}{gap}{}", self.text())
            }
            [header] => self.rewritten(&lines, header),
            _ => bail!("[{}] is in it more than once", self.name),
        };
        Ok((new != old || old.is_empty()).then_some(new))
    }

    /// The lines with `command` and `args` of the table replaced where they are.
    fn rewritten(&self, lines: &[Line<'_>], header: usize) -> String {
        let end = lines[header + 1..]
            .iter()
            .position(|line| line.kind == Kind::Header)
            .map_or(lines.len(), |at| header + 1 + at);
        let mut missing = vec![("command", &self.command), ("args", &self.arguments)];
        let mut text: String = lines[..=header].iter().map(|line| line.text).collect();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let mut body = String::new();
        let mut replaced = false;
        for line in &lines[header + 1..end] {
            let own = match line.kind {
                Kind::Start => missing.iter().position(|(key, _)| line.key() == Some(key)),
                Kind::Continued if replaced => continue,
                Kind::Header | Kind::Continued | Kind::Other => None,
            };
            replaced = own.is_some();
            match own {
                Some(at) => {
                    let (key, value) = missing.remove(at);
                    body += &format!("{key} = {value}\n");
                }
                None => body += line.text,
            }
        }
        for (key, value) in missing {
            text += &format!("{key} = {value}\n");
        }
        text += &body;
        text.extend(lines[end..].iter().map(|line| line.text));
        text
    }

    /// A table can also be written as an inline table or with dotted keys.
    fn refuse_other_forms(&self, lines: &[Line<'_>]) -> anyhow::Result<()> {
        let (parent, leaf) = self.name.split_once('.').unwrap_or(("", &self.name));
        let mut inside = String::new();
        for line in lines {
            if line.kind == Kind::Header {
                inside = header_name(line.text).unwrap_or_default();
            }
            let Some(key) = line.key().filter(|_| line.kind == Kind::Start) else { continue };
            let key: String = key.chars().filter(|c| !" \t\"'".contains(*c)).collect();
            let path = if inside.is_empty() { key } else { format!("{inside}.{key}") };
            let ours = format!("{parent}.{leaf}");
            if path == parent || path == ours || path.starts_with(&format!("{ours}.command")) {
                bail!("it writes [{}] in another form", self.name);
            }
        }
        Ok(())
    }
}

/// A line with its line break, and what it is.
struct Line<'a> {
    text: &'a str,
    kind: Kind,
}

/// What a line is to an edit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `[table]` or `[[table]]`.
    Header,
    /// `key = value`, or its first line.
    Start,
    /// A further line of the value above.
    Continued,
    /// Blank or a comment.
    Other,
}

impl<'a> Line<'a> {
    fn key(&self) -> Option<&'a str> {
        Some(self.text.split_once('=')?.0.trim())
    }
}

/// The lines of a file; values may go on over several.
fn scan(text: &str) -> Vec<Line<'_>> {
    let mut value = Value::default();
    let classify = |text| {
        let trimmed = str::trim_start(text);
        let kind = if value.is_open() {
            Kind::Continued
        } else if trimmed.is_empty() || trimmed.starts_with('#') {
            Kind::Other
        } else if trimmed.starts_with('[') {
            Kind::Header
        } else {
            Kind::Start
        };
        if matches!(kind, Kind::Start | Kind::Continued) {
            value.read(text);
        }
        Line { text, kind }
    };
    text.split_inclusive('\n').map(classify).collect()
}

/// How far a value that spans lines has come.
#[derive(Default)]
struct Value {
    brackets: usize,
    /// The delimiter of a string that is open at the end of the line.
    string: Option<&'static str>,
}

impl Value {
    fn is_open(&self) -> bool {
        self.brackets > 0 || self.string.is_some()
    }

    fn read(&mut self, line: &str) {
        let mut rest = line;
        while let Some(first) = rest.chars().next() {
            if let Some(delimiter) = self.string {
                if first == '\\' && delimiter.starts_with('"') {
                    let escaped = rest.chars().nth(1).map_or(0, char::len_utf8);
                    rest = &rest[1 + escaped..];
                } else if rest.starts_with(delimiter) {
                    self.string = None;
                    rest = &rest[delimiter.len()..];
                } else {
                    rest = &rest[first.len_utf8()..];
                }
                continue;
            }
            let opened = [r#"""""#, "'''", "\"", "'"].into_iter().find(|d| rest.starts_with(d));
            match (opened, first) {
                (Some(delimiter), _) => self.string = Some(delimiter),
                (None, '#') => break,
                (None, '[' | '{') => self.brackets += 1,
                (None, ']' | '}') => self.brackets = self.brackets.saturating_sub(1),
                (None, _) => {}
            }
            rest = &rest[opened.map_or(first.len_utf8(), str::len)..];
        }
        // Strings of one quote end with their line whatever they hold.
        self.string = self.string.filter(|delimiter| delimiter.len() > 1);
    }
}

/// The dotted name in a header, without quotes and blanks.
fn header_name(line: &str) -> Option<String> {
    let inner = line.trim_start().strip_prefix('[')?;
    let (name, _) = inner.split_once(']')?;
    Some(name.chars().filter(|c| !" \t\"'".contains(*c)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table {
            name: "mcp_servers.muster".to_owned(),
            command: "\"muster\"".to_owned(),
            arguments: "[\"mcp\"]".to_owned(),
        }
    }

    const OWN: &str = "[mcp_servers.muster]\ncommand = \"muster\"\nargs = [\"mcp\"]\n";

    #[test]
    fn the_table_is_added_behind_everything_else() {
        assert_eq!(table().put_into("").unwrap().unwrap(), OWN);
        let old = "model = \"x\" # [mcp_servers.muster]\n\n[other]\na = 1";
        let new = table().put_into(old).unwrap().unwrap();
        assert_eq!(new, format!("{old}\n\n{OWN}"));
        assert_eq!(table().put_into(&new).unwrap(), None, "a second time changes nothing");
    }

    #[test]
    fn only_our_two_keys_are_rewritten() {
        let old = "[mcp_servers.muster]\n# ours\nargs = [\n  \"old\", # ]\n  \"mcp\",\n]\n\
                   startup_timeout_sec = 20\ncommand = 'old'\n\n\
                   [mcp_servers.muster.env]\nA = \"b\"\n";
        let new = table().put_into(old).unwrap().unwrap();
        assert_eq!(
            new,
            "[mcp_servers.muster]\n# ours\nargs = [\"mcp\"]\nstartup_timeout_sec = 20\n\
             command = \"muster\"\n\n[mcp_servers.muster.env]\nA = \"b\"\n"
        );
        let without = "[ mcp_servers . \"muster\" ]\nenabled = true\n";
        let new = table().put_into(without).unwrap().unwrap();
        assert!(new.ends_with("command = \"muster\"\nargs = [\"mcp\"]\nenabled = true\n"), "{new}");
    }

    #[test]
    fn headers_inside_values_are_no_headers() {
        let old = "text = \"\"\"\n[mcp_servers.muster]\ncommand = 1\n\"\"\"\nlist = [\n[1],\n]\n";
        let new = table().put_into(old).unwrap().unwrap();
        assert_eq!(new, format!("{old}\n{OWN}"));
    }

    #[test]
    fn other_forms_of_the_table_are_refused() {
        for old in [
            "mcp_servers = { muster = { command = \"x\" } }\n",
            "mcp_servers.muster.command = \"x\"\n",
            "[mcp_servers]\nmuster = { command = \"x\" }\n",
            "[mcp_servers]\n\"muster\".command = \"x\"\n",
            "[mcp_servers.muster]\n[mcp_servers.muster]\n",
        ] {
            assert!(table().put_into(old).is_err(), "{old}");
        }
        let beside = "[mcp_servers]\nother = { command = \"x\" }\n";
        assert!(table().put_into(beside).unwrap().is_some());
    }
}
