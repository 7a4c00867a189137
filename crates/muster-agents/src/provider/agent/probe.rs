//! Checks whether an agent is installed, its version and whether it is logged in. Calls no model
//! and never takes long.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{AgentProtocol, fresh::fresh_uuid};
use crate::{
    finish,
    process::{
        Launch,
        capture::{self, CommandOutput},
        family::Family,
    },
    provider::Probe,
    settings::Profile,
};

/// Time limit of all questions together.
const QUESTIONS_MAX: Duration = Duration::from_millis(4_800);
/// Characters of an answer that are shown.
const ANSWER_CHARS_MAX: usize = 200;

/// How an agent is probed.
pub(in crate::provider) struct Probing {
    /// The command that installs it; empty if unknown.
    pub(in crate::provider) install: &'static str,
    /// Arguments that make it print its version.
    pub(in crate::provider) version: &'static [&'static str],
    /// How to check whether it is logged in.
    pub(in crate::provider) login: Option<LoginQuestion>,
}

/// How to check whether an agent is logged in; it exits with 0 if so.
pub(in crate::provider) struct LoginQuestion {
    pub(in crate::provider) arguments: &'static [&'static str],
    /// What to do if it is not.
    pub(in crate::provider) remedy: &'static str,
}

impl Probing {
    /// What to do about an agent that is not installed.
    pub(in crate::provider) fn hint(&self) -> String {
        if self.install.is_empty() {
            return String::new();
        }
        format!("; install it with: {}", self.install)
    }
}

/// Looks for an agent.
pub(super) async fn probe(profile: &Profile, dialect: &AgentProtocol) -> Probe {
    let program = profile.command.first().cloned().unwrap_or_default();
    let caps = Some(dialect.caps());
    let Some(file) = find(&program) else {
        let detail = format!("{program:?} is not in PATH{}", dialect.probing.hint());
        let install = dialect.probing.install;
        let install = (!install.is_empty()).then_some(install.into());
        return Probe { caps, install, ..Probe::absent(detail) };
    };
    let file = file.display().to_string();
    let env = env(profile, dialect);
    let questions = if dialect.probing.login.is_some() { 2 } else { 1 };
    let limit = QUESTIONS_MAX / questions;
    let ask = async |arguments: &[&str]| question(&program, arguments, (&env, limit)).await;
    let version = match ask(dialect.probing.version).await {
        Some(answer) if answer.code == Some(0) => first_line(&answer.stdout.text()),
        // It exists, but is slow: a start waits longer.
        Some(answer) if answer.timed_out => {
            let detail = format!("{file}; it took too long to tell its version");
            return Probe { available: true, caps, ..Probe::absent(detail) };
        }
        answer => {
            let output = answer.and_then(|answer| complaint(&answer));
            let output = output.map(|line| format!(": {line}")).unwrap_or_default();
            let detail = format!("{file} does not tell its version{output}");
            return Probe { caps, ..Probe::absent(detail) };
        }
    };
    let Some(login) = &dialect.probing.login else {
        return Probe { available: true, version, caps, ..Probe::absent(file) };
    };
    let answer = ask(login.arguments).await.filter(|answer| !answer.timed_out);
    let logged_in = answer.and_then(|answer| answer.code).map(|code| code == 0);
    let detail = match logged_in {
        Some(false) => format!("{file}; not logged in: {}", login.remedy),
        Some(true) | None => file,
    };
    Probe { available: true, version, logged_in, caps, ..Probe::absent(detail) }
}

/// The file of a program name.
pub(in crate::provider) fn find(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(Path::new(program).to_owned()).filter(|file| file.is_file());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file())
}

fn env(profile: &Profile, dialect: &AgentProtocol) -> BTreeMap<String, String> {
    let passed_on = dialect.passed_on.iter();
    let passed_on =
        passed_on.filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)));
    let own = dialect.env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    own.chain(passed_on).chain(profile.env.clone()).collect()
}

async fn question(
    program: &str,
    arguments: &[&str],
    (env, limit): (&BTreeMap<String, String>, Duration),
) -> Option<CommandOutput> {
    let mut command = vec![program.to_owned()];
    command.extend(arguments.iter().map(|&word| word.to_owned()));
    // Processes started by the probe end with it, and no others do.
    let mark = format!("probe-{}", fresh_uuid());
    let family = Family { mark, run: None, node: None, tool: None };
    let workdir = std::env::temp_dir();
    let workdir = &workdir;
    let family = &family;
    let launch = Launch { command: &command, workdir, env, family, confinement: None };
    capture::run(&launch, limit).await.ok()
}

/// A program's error output, without secrets.
fn complaint(answer: &CommandOutput) -> Option<String> {
    let line = |text: String| first_line(&finish::redacted(text));
    line(answer.stderr.text()).or_else(|| line(answer.stdout.text()))
}

fn first_line(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(muster_core::text::cut(line, ANSWER_CHARS_MAX))
}
