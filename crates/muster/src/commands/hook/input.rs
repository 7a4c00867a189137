//! The JSON that an agent sends to its hooks on stdin. All of it is optional.

use std::{
    io::{self, IsTerminal as _, Read as _},
    sync::mpsc,
    thread,
    time::Duration,
};

use serde::Deserialize;

/// Bytes read at most.
const INPUT_BYTES_MAX: u64 = 1 << 20;
/// How long to wait for input on stdin.
const INPUT_WAIT_MAX: Duration = Duration::from_secs(1);

/// The fields of a hook's JSON that are used.
#[derive(Default, Deserialize)]
pub(super) struct HookInput {
    /// The agent continues only because a stop hook kept it from stopping.
    #[serde(default)]
    pub(super) stop_hook_active: bool,
}

/// Reads stdin; a terminal, silence or anything but JSON gives the defaults.
pub(super) fn read() -> HookInput {
    if io::stdin().is_terminal() {
        return HookInput::default();
    }
    let (sender, receiver) = mpsc::channel();
    // An agent may keep its end open, so a thread reads and this one waits with a timeout.
    thread::spawn(move || {
        let mut text = String::new();
        let read = io::stdin().lock().take(INPUT_BYTES_MAX).read_to_string(&mut text);
        if read.is_ok() && sender.send(text).is_err() {
            tracing::debug!("the hook's input did not arrive in time");
        }
    });
    let text = receiver.recv_timeout(INPUT_WAIT_MAX).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}
