//! `runs.toml` in the storage folder: which programs can be nodes, and how runs are driven.
//!
//! Commands of programs are set here and nowhere else: no request can name one.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use anyhow::{Context as _, anyhow, bail};
use muster_api::{
    App, echo,
    runs::{Contain, Profile, Protocol, RunsSettings, Sandbox, ToolExecution},
};
use muster_core::run::node::{PermissionsMode, Provider};
use serde::Deserialize;

use crate::config::complaint;

/// Name of the file.
const FILE: &str = "runs.toml";

/// How a server drives runs, and which folders people may choose.
pub(crate) struct RunServerSettings {
    /// Settings of the engine that drives runs.
    pub(crate) settings: RunsSettings,
    /// Folders below which runs may be started.
    pub(crate) roots: Vec<PathBuf>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    max_parallel_turns: Option<u32>,
    resume_on_start: Option<bool>,
    default_permissions_mode: Option<PermissionsMode>,
    delta_flush_ms: Option<u32>,
    trash_days: Option<u32>,
    templates_dir: Option<PathBuf>,
    roots: Option<Vec<PathBuf>>,
    /// By family and name.
    profiles: BTreeMap<String, BTreeMap<String, Entry>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    command: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    protocol: Option<Speech>,
    tools: Option<Tools>,
    start_timeout_seconds: Option<u32>,
    per_turn_process: Option<bool>,
    sandbox: Option<Reach>,
    contain: Option<Limits>,
}

/// What a program cannot access.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Limits {
    Storage,
    Worktree,
    Off,
}

/// What a program may do without asking.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Reach {
    WorkspaceWrite,
    DangerFullAccess,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Speech {
    Jsonl,
    Raw,
    Native,
    Acp,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Tools {
    Runtime,
    Own,
}

/// How often the file is looked at.
const LOOK_PAUSE: Duration = Duration::from_secs(1);

/// What distinguishes one version of the file from another.
#[derive(PartialEq, Eq)]
struct FileVersion(Option<(u64, SystemTime)>);

impl FileVersion {
    fn of(storage_dir: &Path) -> Self {
        let known = fs::metadata(storage_dir.join(FILE)).ok();
        Self(known.and_then(|known| Some((known.len(), known.modified().ok()?))))
    }
}

/// Reads the file again whenever it changes; a broken one leaves the settings from before in force.
pub(crate) async fn follow(app: Arc<App>, storage_dir: PathBuf) {
    let mut known = FileVersion::of(&storage_dir);
    loop {
        tokio::time::sleep(LOOK_PAUSE).await;
        let now = FileVersion::of(&storage_dir);
        if now == known {
            continue;
        }
        known = now;
        match read(&storage_dir) {
            Ok(RunServerSettings { settings, roots }) => {
                app.reload_runs(settings, roots);
                tracing::info!("{FILE} has changed: it is in force from the next turn on");
            }
            Err(error) => {
                let why = format!("{error:#}; the settings from before stay in force");
                tracing::warn!("{why}");
                if let Some(runs) = app.driver() {
                    runs.refuse_settings(why);
                }
            }
        }
    }
}

/// Reads the file of a storage folder; without one, everything has its default.
pub(crate) fn read(storage_dir: &Path) -> anyhow::Result<RunServerSettings> {
    let path = storage_dir.join(FILE);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read {}", path.display()));
        }
    };
    let served = std::env::current_dir().context("the current directory does not exist")?;
    let mut server =
        parse(&text, storage_dir, served).with_context(|| format!("in {}", path.display()))?;
    let program = std::env::current_exe().ok();
    let program = program.and_then(|program| Some(program.to_str()?.to_owned()));
    let command = |words: &[&str]| {
        let words = words.iter().map(|&word| word.to_owned());
        Some(std::iter::once(program.clone()?).chain(words).collect())
    };
    server.settings.hook = command(&["hook", "pre-tool-use"]);
    server.settings.launcher = command(&["contained"]);
    Ok(server)
}

fn parse(text: &str, storage_dir: &Path, served: PathBuf) -> anyhow::Result<RunServerSettings> {
    let file: File = toml::from_str(text).map_err(|error| {
        let (line, reason) = complaint(text, &error);
        anyhow!("line {line}: {reason}")
    })?;
    let roots = file
        .roots
        .unwrap_or_else(|| std::iter::once(served.clone()).chain(std::env::home_dir()).collect());
    if roots.is_empty() {
        bail!("roots must name at least one folder for runs");
    }
    let home = storage_dir.canonicalize().unwrap_or_else(|_| storage_dir.to_owned());
    let mut settings = RunsSettings::of(home, served);
    let parallel = file.max_parallel_turns.unwrap_or(settings.max_parallel_turns);
    if !(1..=256).contains(&parallel) {
        bail!("max_parallel_turns must be a number from 1 to 256");
    }
    settings.max_parallel_turns = parallel;
    settings.resume_on_start = file.resume_on_start.unwrap_or(settings.resume_on_start);
    settings.default_permissions_mode =
        file.default_permissions_mode.unwrap_or(settings.default_permissions_mode);
    settings.delta_flush_ms = file.delta_flush_ms.unwrap_or(settings.delta_flush_ms);
    settings.trash_days = file.trash_days.unwrap_or(settings.trash_days);
    if let Some(templates_dir) = file.templates_dir {
        settings.templates_dir = templates_dir;
    }
    for (family, profiles) in file.profiles {
        let Some(provider) = Provider::ALL.iter().find(|known| known.name() == family) else {
            bail!("profiles.{}: providers are codex, claude, gemini and custom", echo(&family));
        };
        for (name, entry) in profiles {
            let profile = profile(*provider, entry)
                .with_context(|| format!("profiles.{family}.{}", echo(&name)))?;
            settings.profiles.insert((*provider, name), profile);
        }
    }
    Ok(RunServerSettings { settings, roots })
}

/// A profile; programs of a known family use its own protocol unless it sets another.
fn profile(provider: Provider, entry: Entry) -> anyhow::Result<Profile> {
    if entry.command.first().is_none_or(|program| program.trim().is_empty()) {
        bail!("command must name a program");
    }
    let mut profile = match (entry.protocol, provider) {
        (Some(Speech::Native), Provider::Custom) => {
            bail!("protocol native is only for codex, claude and gemini");
        }
        (Some(Speech::Native), _)
        | (None, Provider::Codex | Provider::Claude | Provider::Gemini) => {
            Profile::native(entry.command)
        }
        (Some(Speech::Acp), _) => Profile::acp(entry.command),
        (Some(Speech::Raw), _) => {
            Profile { protocol: Protocol::Raw, ..Profile::jsonl(entry.command) }
        }
        (Some(Speech::Jsonl), _) | (None, Provider::Custom) => Profile::jsonl(entry.command),
    };
    profile.env = entry.env;
    profile.tools = match entry.tools {
        Some(Tools::Own) => ToolExecution::Own,
        Some(Tools::Runtime) => ToolExecution::Runtime,
        None => profile.tools,
    };
    let seconds = entry.start_timeout_seconds.unwrap_or(profile.start_timeout_seconds);
    profile.start_timeout_seconds = seconds;
    profile.sandbox = match (entry.sandbox, provider) {
        (Some(_), Provider::Claude | Provider::Gemini | Provider::Custom) => {
            bail!("sandbox is only for codex: the others have no such setting");
        }
        (Some(Reach::DangerFullAccess), Provider::Codex) => Sandbox::Off,
        (Some(Reach::WorkspaceWrite) | None, _) => Sandbox::Workspace,
    };
    profile.contain = match entry.contain {
        Some(Limits::Storage) | None => Contain::Storage,
        Some(Limits::Worktree) => Contain::Worktree,
        Some(Limits::Off) => Contain::Off,
    };
    profile.per_turn_process = entry.per_turn_process.unwrap_or(profile.per_turn_process);
    Ok(profile)
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use muster_api::runs::Protocol;
    use muster_core::run::node::Provider;

    use super::parse;

    fn read(text: &str) -> anyhow::Result<super::RunServerSettings> {
        parse(text, Path::new("/nowhere/store"), PathBuf::from("/nowhere/work"))
    }

    #[test]
    fn profiles_are_read_with_everything_by_default() {
        let text = "max_parallel_turns = 2\nroots = [\"/a\"]\n\
                    [profiles.custom.default]\ncommand = [\"cat\"]\nprotocol = \"raw\"\n\
                    [profiles.custom.default.env]\nA = \"b\"\n";
        let server = read(text).unwrap();
        let profile = server.settings.profile(Provider::Custom, "default").unwrap();
        assert_eq!((profile.protocol, profile.start_timeout_seconds), (Protocol::Raw, 60));
        assert_eq!(profile.env["A"], "b");
        assert_eq!((server.settings.max_parallel_turns, server.roots.len()), (2, 1));
        let known = read("").unwrap().settings.profiles;
        let names: Vec<&str> = known.keys().map(|(provider, _)| provider.name()).collect();
        assert_eq!(names, ["codex", "claude", "gemini", "custom"]);
    }

    #[test]
    fn programs_of_a_known_family_are_spoken_to_in_its_own_way() {
        let text = "[profiles.claude.own]\ncommand = [\"claude\"]\n\
                    [profiles.custom.open]\ncommand = [\"opencode\", \"acp\"]\n\
                    protocol = \"acp\"\n";
        let settings = read(text).unwrap().settings;
        let protocol = |provider, name| settings.profile(provider, name).unwrap().protocol;
        assert_eq!(protocol(Provider::Claude, "own"), Protocol::Native);
        assert_eq!(protocol(Provider::Claude, "default"), Protocol::Native);
        assert_eq!(protocol(Provider::Custom, "open"), Protocol::Acp);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, word) in [
            ("max_turns = 1", "max_turns"),
            ("max_parallel_turns = 0", "from 1 to 256"),
            ("roots = []", "roots"),
            ("[profiles.other.default]\ncommand = [\"x\"]", "codex, claude"),
            ("[profiles.custom.default]\ncommand = []", "must name a program"),
            ("[profiles.custom.default]\ncommand = [\"x\"]\nprotocol = \"xml\"", "xml"),
            ("[profiles.custom.default]\ncommand = [\"x\"]\nprotocol = \"native\"", "native"),
            ("[profiles.custom.default]\ncommand = [\"x\"]\ncontain = \"some\"", "some"),
            ("[profiles.claude.a]\ncommand = [\"x\"]\nsandbox = \"workspace-write\"", "codex"),
        ] {
            let error = read(text).map(|_| ()).unwrap_err();
            assert!(format!("{error:#}").contains(word), "{text}: {error:#}");
        }
    }

    #[test]
    fn a_complaint_names_the_line_and_repeats_little_of_it() {
        let long = "long ".repeat(100);
        for line in [format!("trash_days = \"{long}\""), format!("\"{long}\" = 1")] {
            let error = read(&format!("resume_on_start = true\n{line}\n")).map(|_| ()).unwrap_err();
            let error = format!("{error:#}");
            assert!(error.contains("line 2"), "{error}");
            assert!(error.chars().count() < 600 && !error.contains(&long), "{error}");
        }
    }
}
