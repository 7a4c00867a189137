//! A separate network for programs that must not leave the machine: loopback and nothing else.
//!
//! Linux grants one to the administrator, or to any user where user namespaces are allowed. This
//! program starts itself again inside of it, because the tool that creates the network cannot bring
//! its loopback up.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use super::kit::finished;
use crate::{suite, workspace::Workspace};

/// Commands that create a network, the plainest first.
const WAYS: [&[&str]; 2] = [&["--net"], &["--user", "--map-root-user", "--net"]];

/// The command that starts this program again in a separate network; an error gives the reason why
/// there is none.
pub(crate) fn again(arguments: &[&str]) -> Result<Command, String> {
    let mut reasons = Vec::new();
    for way in WAYS {
        match finished(Command::new("unshare").args(way).args(LOOPBACK_UP)) {
            Ok(()) => {
                let mut command = Command::new("unshare");
                command.args(way).arg(this_program()?).args(arguments);
                return Ok(command);
            }
            Err(reason) => reasons.push(reason),
        }
    }
    Err(reasons.join("; "))
}

/// The file of this program. If it was rebuilt since it was started, the system reports the old one
/// as deleted.
pub(crate) fn this_program() -> Result<PathBuf, String> {
    let path = env::current_exe().map_err(|error| error.to_string())?;
    let rebuilt = path.to_str().and_then(|path| path.strip_suffix(" (deleted)")).map(PathBuf::from);
    Ok(rebuilt.unwrap_or(path))
}

/// Brings loopback up.
const LOOPBACK_UP: [&str; 6] = ["ip", "link", "set", "dev", "lo", "up"];

/// Runs the tests with real agents in the network of this process, which must not reach anything
/// else.
pub(crate) fn agents(workspace: &Workspace, folder: &Path) -> Result<bool> {
    let [ip, arguments @ ..] = LOOPBACK_UP;
    finished(Command::new(ip).args(arguments)).map_err(anyhow::Error::msg)?;
    let devices = fs::read_to_string("/proc/net/dev").context("read the network's devices")?;
    let others = ways_out(&devices);
    if !others.is_empty() {
        bail!("this network has a way out: {}", others.join(", "));
    }
    let status = suite::agents_command(workspace, folder).status();
    Ok(status.context("start the tests")?.success())
}

/// Devices besides loopback. Each has a line with its name before a colon.
fn ways_out(devices: &str) -> Vec<&str> {
    let names = devices.lines().filter_map(|line| Some(line.split_once(':')?.0.trim()));
    names.filter(|name| *name != "lo").collect()
}

#[cfg(test)]
mod tests {
    use super::ways_out;

    #[test]
    fn loopback_is_no_way_out() {
        let alone = "Inter-|   Receive  |  Transmit\n face |bytes |bytes\n    lo: 0 0\n";
        assert!(ways_out(alone).is_empty());
        let together = format!("{alone}  eth0: 12 3\nwlan0: 1 1\n");
        assert_eq!(ways_out(&together), ["eth0", "wlan0"]);
    }
}
