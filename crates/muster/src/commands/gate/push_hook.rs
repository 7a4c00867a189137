//! The pre-push hook that asks `muster gate`. A hook that was there is kept beside it and runs
//! first.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use muster_api::checkout;

use crate::{config::Settings, storage};

const HOOK: &str = "pre-push";
/// Where the hook is kept that was there before.
const EARLIER: &str = "pre-push.before-muster";
/// The line by which the hook is recognised.
const MARK: &str = "# Written by `muster gate --install`; `muster gate --remove` takes it away.";
const EXECUTABLE: u32 = 0o755;

/// Writes the hook; says what was done.
pub(super) fn install(settings: &Settings, directory: &Path) -> anyhow::Result<String> {
    let hooks = hooks_of(directory)?;
    let hook = hooks.join(HOOK);
    let earlier = hooks.join(EARLIER);
    fs::create_dir_all(&hooks).with_context(|| cannot("create", &hooks))?;
    if hook.symlink_metadata().is_ok() && !is_ours(&hook) {
        if earlier.symlink_metadata().is_ok() {
            bail!("{} is in the way; move it elsewhere first", earlier.display());
        }
        fs::rename(&hook, &earlier).with_context(|| cannot("rename", &hook))?;
    }
    fs::write(&hook, script(settings)?).with_context(|| cannot("write", &hook))?;
    let permissions = fs::Permissions::from_mode(EXECUTABLE);
    fs::set_permissions(&hook, permissions).with_context(|| cannot("change", &hook))?;
    let kept = match earlier.exists() {
        true => format!("The hook before it runs first; it is now {}.\n", earlier.display()),
        false => String::new(),
    };
    Ok(format!("Wrote {}. `git push` asks `muster gate` from now on.\n{kept}", hook.display()))
}

/// Takes the hook away and restores the one before it; says what was done.
pub(super) fn remove(directory: &Path) -> anyhow::Result<String> {
    let hooks = hooks_of(directory)?;
    let hook = hooks.join(HOOK);
    let earlier = hooks.join(EARLIER);
    if !is_ours(&hook) {
        bail!("{} was not written by `muster gate --install`", hook.display());
    }
    if earlier.symlink_metadata().is_ok() {
        fs::rename(&earlier, &hook).with_context(|| cannot("rename", &earlier))?;
        return Ok(format!("Restored the hook that was {} before.\n", hook.display()));
    }
    fs::remove_file(&hook).with_context(|| cannot("remove", &hook))?;
    Ok(format!("Removed {}.\n", hook.display()))
}

fn hooks_of(directory: &Path) -> anyhow::Result<PathBuf> {
    let directory = directory.canonicalize().with_context(|| cannot("read", directory))?;
    let hooks = checkout::hooks(&directory);
    hooks.with_context(|| format!("{} is not in a git repository", directory.display()))
}

fn is_ours(hook: &Path) -> bool {
    fs::read_to_string(hook).is_ok_and(|text| text.lines().any(|line| line == MARK))
}

fn script(settings: &Settings) -> anyhow::Result<String> {
    let program = env::current_exe().context("cannot find the path of this program")?;
    let mut gate = format!("{} gate", quoted(&program)?);
    let storage = storage::directory(settings)?;
    if !storage::is_default(settings, &storage) {
        gate += &format!(" --storage-dir {}", quoted(&storage)?);
    }
    Ok(format!(
        "#!/bin/sh\n{MARK}\nearlier=\"$(dirname \"$0\")/{EARLIER}\"\n\
         # It reads the refs from standard input.\n\
         if [ -x \"$earlier\" ]; then \"$earlier\" \"$@\" || exit $?; fi\n\
         exec {gate} </dev/null\n"
    ))
}

/// A path as a word for the shell.
fn quoted(path: &Path) -> anyhow::Result<String> {
    let text = path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))?;
    Ok(format!("'{}'", text.replace('\'', "'\\''")))
}

fn cannot(what: &str, path: &Path) -> String {
    format!("cannot {what} {}", path.display())
}
