//! Requests to stop. A thread of its own receives them, so that a server stops in time even
//! when all of its worker threads are stuck.

use std::{io, process, sync::mpsc, thread, time::Duration};

use tokio::{runtime, sync::watch};

/// Exit code after a second Ctrl-C.
const INTERRUPTED: i32 = 130;
/// Exit code of a program that did not stop in time.
const LATE: i32 = 1;

/// Resolves when the program should stop.
#[derive(Clone)]
pub(crate) struct StopRequest {
    asked: watch::Receiver<bool>,
}

impl StopRequest {
    /// Listens for signals from now on. The first one asks to stop; the second one, or the end of
    /// the grace time, ends the program.
    pub(crate) fn listen(grace: Duration) -> io::Result<Self> {
        let (ask, asked) = watch::channel(false);
        let (listening, outcome) = mpsc::sync_channel(1);
        let attend = move || {
            let runtime = runtime::Builder::new_current_thread().enable_all().build();
            let listened = runtime.and_then(|runtime| {
                let signals = runtime.block_on(async { Signals::listen() })?;
                Ok((runtime, signals))
            });
            match listened {
                Ok((runtime, signals)) => {
                    listening.send(Ok(())).unwrap_or_default();
                    runtime.block_on(attend(signals, &ask, grace));
                }
                Err(error) => listening.send(Err(error)).unwrap_or_default(),
            }
        };
        thread::Builder::new().name("muster-signals".to_owned()).spawn(attend)?;
        outcome.recv().map_err(io::Error::other)??;
        Ok(Self { asked })
    }

    /// Whether the program should stop.
    pub(crate) fn is_asked(&self) -> bool {
        *self.asked.borrow()
    }

    /// Waits until the program should stop.
    pub(crate) async fn wait(&mut self) {
        if self.asked.wait_for(|asked| *asked).await.is_err() {
            tracing::error!("the signal thread ended; signals are ignored from now on");
        }
    }
}

async fn attend(mut signals: Signals, ask: &watch::Sender<bool>, grace: Duration) {
    signals.next().await;
    ask.send_replace(true);
    tokio::select! {
        () = signals.next() => process::exit(INTERRUPTED),
        () = tokio::time::sleep(grace) => {
            let seconds = grace.as_secs();
            tracing::error!(seconds, "did not stop within its grace time; ending the process");
            process::exit(LATE);
        }
    }
}

/// The signals that ask a program to stop.
#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    /// Sent when the terminal is closed.
    hang_up: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}

/// The signal that asks a program to stop.
#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if let Err(error) = tokio::signal::ctrl_c().await {
            tracing::error!(%error, "cannot listen for Ctrl-C");
            std::future::pending::<()>().await;
        }
    }
}
