//! Callers that wait for a run: when the last of them gives up, the run ends with it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use super::context::{ActiveRun, RunName, ServiceContext};

/// A caller that waits for a run of this process, until it is dropped. A run of another process is
/// not ended by giving up: who else waits for it is not known here.
pub struct CheckWaiter {
    context: Arc<ServiceContext>,
    name: RunName,
    has_left: AtomicBool,
}

impl CheckWaiter {
    pub(super) fn new(context: &Arc<ServiceContext>, name: RunName) -> Self {
        if let Some(active) = context.active().get_mut(&name) {
            active.waiting += 1;
        }
        Self { context: Arc::clone(context), name, has_left: AtomicBool::new(false) }
    }

    /// The caller does not want the verdict any more. Ends the run if no other caller waits for
    /// it; its processes are killed soon.
    pub fn give_up(&self) {
        self.leave(ActiveRun::end);
    }

    /// Stops waiting; `at_last` is called if no other caller waits for the run.
    fn leave(&self, at_last: impl FnOnce(&mut ActiveRun)) {
        if self.has_left.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut active = self.context.active();
        let Some(active) = active.get_mut(&self.name) else { return };
        active.waiting = active.waiting.saturating_sub(1);
        if active.waiting == 0 {
            at_last(active);
        }
    }
}

impl Drop for CheckWaiter {
    fn drop(&mut self) {
        self.leave(|_| {});
    }
}
