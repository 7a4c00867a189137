//! What keeps a hook from failing its host: errors, bugs and delays of Muster let the agent go on,
//! with one line on stderr at most.

use std::{env, panic, process::ExitCode, thread, time::Duration};

use muster_core::text;

use crate::output;

/// Events whose hooks must never stand in the way of an agent. Not the gate before calls, which
/// refuses whatever fails.
const HARMLESS: [&str; 4] = ["session-start", "stop", "task-completed", "report"];

/// Runs a hook. Its exit code counts only if it was decided in time.
pub(crate) fn guarded(
    limit: Duration,
    work: impl FnOnce() -> anyhow::Result<ExitCode>,
) -> ExitCode {
    panic::set_hook(Box::new(|_| {}));
    thread::spawn(move || {
        thread::sleep(limit);
        output::remark("Muster: the hook took too long and was stopped");
        std::process::exit(0);
    });
    match panic::catch_unwind(panic::AssertUnwindSafe(work)) {
        Ok(Ok(code)) => return code,
        Ok(Err(error)) => give_up(&format!("{error:#}")),
        Err(_) => give_up("the hook failed because of a bug"),
    }
    ExitCode::SUCCESS
}

/// The exit code of a hook whose command line is not understood, such as one that another version
/// of Muster has configured; `None` for any other command. The usual code would refuse.
pub(crate) fn misused(error: &clap::Error) -> Option<ExitCode> {
    let words: Vec<String> = env::args_os().map(|word| word.to_string_lossy().into()).collect();
    let is_hook = words.get(1).is_some_and(|word| word == "hook");
    let is_harmless = words.iter().any(|word| HARMLESS.contains(&word.as_str()));
    if !is_hook || !is_harmless || !error.use_stderr() {
        return None;
    }
    give_up(error.to_string().lines().next().unwrap_or_default());
    Some(ExitCode::SUCCESS)
}

fn give_up(reason: &str) {
    output::remark(&format!("Muster: {}", text::join_words(reason, ' ')));
}
