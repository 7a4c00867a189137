//! What an agent tells its hooks on stdin. Nothing of it is required.

use std::{
    io::{self, IsTerminal as _, Read as _},
    sync::mpsc,
    thread,
    time::Duration,
};

use serde::Deserialize;

/// Bytes read at most.
const INPUT_BYTES_MAX: u64 = 1 << 20;
/// How long whoever holds our stdin may take to say something.
const INPUT_WAIT_MAX: Duration = Duration::from_secs(1);

/// The part of a hook's JSON that matters here.
#[derive(Default, Deserialize)]
pub(super) struct HookInput {
    /// The agent goes on only because a stop hook has kept it from stopping.
    #[serde(default)]
    pub(super) stop_hook_active: bool,
}

/// Reads stdin; a terminal, silence or anything but JSON says nothing.
pub(super) fn read() -> HookInput {
    if io::stdin().is_terminal() {
        return HookInput::default();
    }
    let (sender, receiver) = mpsc::channel();
    // An agent may keep its end open: reading waits beside, not here.
    thread::spawn(move || {
        let mut text = String::new();
        let read = io::stdin().lock().take(INPUT_BYTES_MAX).read_to_string(&mut text);
        if read.is_ok() && sender.send(text).is_err() {
            tracing::debug!("the hook's input came too late");
        }
    });
    let text = receiver.recv_timeout(INPUT_WAIT_MAX).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}
