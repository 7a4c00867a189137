//! How to connect an agent to this installation: commands ready to be pasted.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::token::TOKEN_FILE;

/// How an agent's configuration refers to this installation.
#[derive(Debug, Clone)]
pub struct InstallationPaths {
    /// The program to start, by its full path or by name when it is on the search path.
    pub program: PathBuf,
    /// The storage directory.
    pub storage_dir: PathBuf,
    /// Whether the storage directory has to be named because it is not the default one.
    pub names_storage_dir: bool,
}

/// One agent and the ways to connect it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Recipe {
    /// Name of the agent's program.
    pub agent: &'static str,
    /// The agent starts its own Muster process; no server is needed.
    pub stdio: String,
    /// The agent talks to the running server.
    pub http: String,
    /// The same as a configuration file: where it is, and what to put there.
    pub file: (&'static str, String),
}

/// Workspace in the examples, to be replaced.
const EXAMPLE_WORKSPACE: &str = "my-project";
/// Variable with the token for agents that do not accept it in their configuration.
const TOKEN_VARIABLE: &str = "MUSTER_TOKEN";

impl InstallationPaths {
    /// The recipes for a server at `base_url`, such as `http://127.0.0.1:7717`.
    pub fn recipes(&self, base_url: &str, token_needed: bool) -> Vec<Recipe> {
        let command = self.stdio_command().iter().map(|word| shell_word(word)).collect::<Vec<_>>();
        let command = command.join(" ");
        let url = format!("{base_url}/mcp");
        let read_token = format!("$(cat {})", shell_word(&self.token_file()));
        let header = if token_needed {
            format!(" --header \"Authorization: Bearer {read_token}\"")
        } else {
            String::new()
        };
        let codex_http = if token_needed {
            format!(
                "export {TOKEN_VARIABLE}=\"{read_token}\"\n\
                 codex mcp add muster --url {url} --bearer-token-env-var {TOKEN_VARIABLE}"
            )
        } else {
            format!("codex mcp add muster --url {url}")
        };
        vec![
            Recipe {
                agent: "claude",
                stdio: format!("claude mcp add muster -- {command}"),
                http: format!("claude mcp add --transport http muster {url}{header}"),
                file: (".mcp.json", self.json_file()),
            },
            Recipe {
                agent: "codex",
                stdio: format!("codex mcp add muster -- {command}"),
                http: codex_http,
                file: ("~/.codex/config.toml", self.toml_file()),
            },
            Recipe {
                agent: "gemini",
                stdio: format!("gemini mcp add --scope user muster {command}"),
                http: format!("gemini mcp add --scope user --transport http muster {url}{header}"),
                file: ("~/.gemini/settings.json", self.json_file()),
            },
        ]
    }

    /// The token's file.
    pub fn token_file(&self) -> String {
        self.storage_dir.join(TOKEN_FILE).display().to_string()
    }

    /// The command line of the stdio server.
    fn stdio_command(&self) -> Vec<String> {
        let mut words = vec![self.program.display().to_string(), "mcp".to_owned()];
        if self.names_storage_dir {
            words.push("--storage-dir".to_owned());
            words.push(self.storage_dir.display().to_string());
        }
        words.push("--workspace".to_owned());
        words.push(EXAMPLE_WORKSPACE.to_owned());
        words
    }

    fn json_file(&self) -> String {
        let words = self.stdio_command();
        let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let (command, arguments) = quoted.split_first().unwrap_or((&quoted[0], &[]));
        format!(
            "{{\n  \"mcpServers\": {{\n    \"muster\": {{\n      \"command\": {command},\n      \
             \"args\": [{}]\n    }}\n  }}\n}}",
            arguments.join(", ")
        )
    }

    fn toml_file(&self) -> String {
        let words = self.stdio_command();
        let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let (command, arguments) = quoted.split_first().unwrap_or((&quoted[0], &[]));
        format!("[mcp_servers.muster]\ncommand = {command}\nargs = [{}]", arguments.join(", "))
    }
}

/// A string literal that is valid in both JSON and TOML.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Quotes a word for a POSIX shell.
fn shell_word(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:@%+=,".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::{InstallationPaths, shell_word};

    fn installation(storage_dir: &str) -> InstallationPaths {
        InstallationPaths {
            program: "/opt/muster/bin/muster".into(),
            storage_dir: storage_dir.into(),
            names_storage_dir: true,
        }
    }

    #[test]
    fn commands_can_be_pasted() {
        let recipes = installation("/srv/muster").recipes("http://127.0.0.1:7717", true);
        let lines: Vec<String> = recipes
            .iter()
            .map(|recipe| format!("# {}\n{}\n{}", recipe.agent, recipe.stdio, recipe.http))
            .collect();
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn a_server_without_authentication_needs_no_token() {
        let recipes = installation("/srv/muster").recipes("http://127.0.0.1:7717", false);
        assert!(recipes.iter().all(|recipe| !recipe.http.contains("token")));
    }

    #[test]
    fn paths_with_blanks_and_quotes_stay_one_word() {
        assert_eq!(shell_word("/a b/it's"), r"'/a b/it'\''s'");
        assert_eq!(shell_word("$(reboot)"), "'$(reboot)'");
        assert_eq!(shell_word(""), "''");
        let recipes = installation("/a b").recipes("http://127.0.0.1:7717", true);
        assert!(recipes[0].stdio.contains("--storage-dir '/a b'"));
        assert!(recipes[0].http.contains("$(cat '/a b/token')"));
    }

    #[test]
    fn configuration_files_are_valid() {
        let recipes = installation("/a \"b\"").recipes("http://127.0.0.1:7717", true);
        let json: serde_json::Value = serde_json::from_str(&recipes[0].file.1).unwrap();
        let arguments = &json["mcpServers"]["muster"]["args"];
        assert_eq!(arguments[2], "/a \"b\"");
        insta::assert_snapshot!(recipes[1].file.1, @r#"
        [mcp_servers.muster]
        command = "/opt/muster/bin/muster"
        args = ["mcp", "--storage-dir", "/a \"b\"", "--workspace", "my-project"]
        "#);
    }
}
