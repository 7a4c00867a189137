//! The plugin that opencode runs in place of hooks: a file that is ours as a whole.

use anyhow::bail;
use serde_json::json;

const SOURCE: &str = include_str!("plugin.js");
/// The line of the plugin that names the command.
const COMMAND: &str = "const COMMAND = [];";

/// The plugin with the words of the command that it runs.
pub(super) fn text(command: &[String]) -> String {
    SOURCE.replacen(COMMAND, &format!("const COMMAND = {};", json!(command)), 1)
}

/// Whether a file is the plugin, of this or another version.
pub(super) fn is_ours(old: &str) -> bool {
    SOURCE.lines().next() == old.lines().next()
}

/// The new content of the file, or `None` when it is in place.
pub(super) fn put_into(old: &str, wanted: &str) -> anyhow::Result<Option<String>> {
    if !old.is_empty() && !is_ours(old) {
        bail!("it is a plugin of another author");
    }
    Ok((old != wanted).then(|| wanted.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{is_ours, put_into, text};

    #[test]
    fn the_plugin_names_its_command_and_replaces_only_itself() {
        let plugin = text(&["/bin/my muster".to_owned(), "hook".to_owned()]);
        assert!(plugin.contains("const COMMAND = [\"/bin/my muster\",\"hook\"];"), "{plugin}");
        assert!(is_ours(&plugin));
        assert_eq!(put_into(&plugin, &plugin).unwrap(), None);
        let older = plugin.replace("session.idle", "session.rests");
        assert_eq!(put_into(&older, &plugin).unwrap(), Some(plugin.clone()));
        put_into("export const Mine = 1;\n", &plugin).unwrap_err();
    }
}
