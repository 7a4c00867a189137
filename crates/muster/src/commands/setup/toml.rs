//! Adds our server to a TOML settings file; every other line and comment stays as it is.

use anyhow::{Context as _, bail};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value};

/// The table of MCP servers.
const SERVERS: &str = "mcp_servers";

/// An MCP server in codex's settings.
pub(super) struct ServerTable {
    pub(super) name: &'static str,
    pub(super) command: String,
    pub(super) arguments: Vec<String>,
}

impl ServerTable {
    /// The table as text.
    pub(super) fn text(&self) -> String {
        let arguments = self.array();
        let command = Value::from(self.command.as_str());
        format!("[{SERVERS}.{}]\ncommand = {command}\nargs = {arguments}\n", self.name)
    }

    /// The new content of the file, or `None` when the table is in place.
    pub(super) fn put_into(&self, old: &str) -> anyhow::Result<Option<String>> {
        let mut document: DocumentMut = old.parse().context("it is not valid TOML")?;
        let servers = document.entry(SERVERS).or_insert_with(implicit_table);
        let is_inline = servers.is_inline_table();
        let Some(servers) = servers.as_table_like_mut() else { bail!("{SERVERS} is not a table") };
        if !servers.contains_key(self.name) {
            let empty = if is_inline {
                Item::Value(InlineTable::new().into())
            } else {
                Item::Table(spaced_table(old))
            };
            servers.insert(self.name, empty);
        }
        let own = servers.get_mut(self.name).and_then(Item::as_table_like_mut);
        let Some(own) = own else { bail!("{SERVERS}.{} is not a table", self.name) };
        set(own, "command", Value::from(self.command.as_str()));
        set(own, "args", Value::Array(self.array()));
        let new = document.to_string();
        Ok((new != old).then_some(new))
    }

    /// The content of the file without the table.
    pub(super) fn take_from(&self, old: &str) -> anyhow::Result<String> {
        let mut document: DocumentMut = old.parse().context("it is not valid TOML")?;
        let servers = document.get_mut(SERVERS).and_then(Item::as_table_like_mut);
        if let Some(servers) = servers {
            servers.remove(self.name);
        }
        Ok(document.to_string())
    }

    fn array(&self) -> Array {
        self.arguments.iter().map(String::as_str).collect()
    }
}

/// A table that needs no header of its own.
fn implicit_table() -> Item {
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}

/// An empty table, one line below the existing content.
fn spaced_table(old: &str) -> Table {
    let mut table = Table::new();
    if !old.trim().is_empty() && !old.ends_with("\n\n") {
        table.decor_mut().set_prefix("\n");
    }
    table
}

/// Sets a value in place, or adds it; comments around it stay.
fn set(table: &mut dyn TableLike, key: &str, value: Value) {
    let plain = |value: &Value| value.clone().decorated("", "").to_string();
    match table.get_mut(key) {
        Some(known) if known.as_value().map(plain) == Some(plain(&value)) => {}
        Some(known) => *known = Item::Value(value),
        None => drop(table.insert(key, Item::Value(value))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> ServerTable {
        let arguments = vec!["mcp".to_owned()];
        ServerTable { name: "muster", command: "muster".to_owned(), arguments }
    }

    fn put_into(old: &str) -> String {
        let new = table().put_into(old).unwrap().unwrap();
        assert_eq!(table().put_into(&new).unwrap(), None, "a second time changes nothing");
        new
    }

    const OWN: &str = "[mcp_servers.muster]\ncommand = \"muster\"\nargs = [\"mcp\"]\n";

    #[test]
    fn the_table_is_added_after_everything_else() {
        assert_eq!(table().text(), OWN);
        assert_eq!(put_into(""), OWN);
        let old = "model = \"x\" # [mcp_servers.muster]\n\n[other]\na = 1\n";
        assert_eq!(put_into(old), format!("{old}\n{OWN}"));
        let beside = "[mcp_servers.other]\ncommand = \"x\"\n";
        assert_eq!(put_into(beside), format!("{beside}\n{OWN}"));
    }

    #[test]
    fn only_our_two_keys_are_rewritten() {
        let old = "[mcp_servers.muster]\n# ours\nargs = [\n  \"old\", # ]\n  \"mcp\",\n]\n\
                   startup_timeout_sec = 20\ncommand = 'old'\n\n\
                   [mcp_servers.muster.env]\nA = \"b\"\n";
        assert_eq!(
            put_into(old),
            "[mcp_servers.muster]\n# ours\nargs = [\"mcp\"]\nstartup_timeout_sec = 20\n\
             command = \"muster\"\n\n[mcp_servers.muster.env]\nA = \"b\"\n"
        );
        let without = "[ mcp_servers . \"muster\" ]\nenabled = true\n";
        let expected = format!("{without}command = \"muster\"\nargs = [\"mcp\"]\n");
        assert_eq!(put_into(without), expected);
    }

    #[test]
    fn a_table_in_a_string_is_not_ours() {
        let old = "text = \"\"\"\n[mcp_servers.muster]\ncommand = 1\n\"\"\"\nlist = [\n[1],\n]\n";
        assert_eq!(put_into(old), format!("{old}\n{OWN}"));
    }

    #[test]
    fn every_form_of_the_table_is_brought_up_to_date() {
        for old in [
            "mcp_servers = { muster = { command = \"x\" } }\n",
            "mcp_servers = { other = { command = \"x\" } }\n",
            "mcp_servers.muster.command = \"x\"\n",
            "[mcp_servers]\nmuster = { command = \"x\" }\n",
            "[mcp_servers]\n\"muster\".command = \"x\"\n",
        ] {
            let new: DocumentMut = put_into(old).parse().unwrap();
            let own = &new["mcp_servers"]["muster"];
            assert_eq!(own["command"].as_str(), Some("muster"), "{new}");
            assert_eq!(own["args"][0].as_str(), Some("mcp"), "{new}");
        }
    }

    #[test]
    fn what_is_not_a_table_is_left_alone() {
        for old in [
            "[mcp_servers.muster]\n[mcp_servers.muster]\n",
            "mcp_servers = 1\n",
            "[mcp_servers]\nmuster = 1\n",
            "not toml",
        ] {
            assert!(table().put_into(old).is_err(), "{old}");
        }
    }
}
