//! A model that follows a script, for agents which believe that they speak to a real one.
//!
//! It listens on loopback and speaks the three languages that agents ask models in. Which script
//! a conversation follows is said by a mark in the prompt, `[[model:NAME]]`, and how far it has
//! come is read off the conversation itself, which agents send whole with every question. So the
//! server keeps nothing between two questions: an agent may ask again, be killed and resume.
//!
//! ```text
//!   prompt [[model:name]]  ──►  first step      (answers after the mark: 0)
//!   answer, outcome        ──►  second step     (answers after the mark: 1)
//! ```
//!
//! Whatever else is asked for, such as a way out of this machine, is refused and remembered.

mod generate;
mod messages;
mod responses;
mod script;
mod serving;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    io,
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

use tokio::sync::oneshot;

pub use script::{Call, Progress, Reply, Step};

/// The marks around the name of a script in a prompt.
const MARK: (&str, &str) = ("[[model:", "]]");

/// What a model was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Name of the script.
    pub script: String,
    /// How many answers the model had given before.
    pub step: usize,
    /// Names of scripts that the conversation followed earlier, the oldest first.
    pub earlier: Vec<String>,
    /// The prompts since the mark, the one with the mark first.
    pub asked: Vec<String>,
    /// What came of the calls since the mark.
    pub outcomes: Vec<String>,
    /// The model that was asked for.
    pub model: String,
    /// Names of the tools that were offered.
    pub tools: Vec<String>,
}

/// Everything that the server knows.
#[derive(Default)]
struct Known {
    scripts: BTreeMap<String, Vec<Step>>,
    told: Vec<Told>,
    strangers: Vec<String>,
}

/// What tests and the server share.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Known>>);

impl Memory {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running model. Dropping it ends it.
pub struct ScriptedModel {
    address: SocketAddr,
    memory: Memory,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ScriptedModel {
    /// Starts a model on a free port of loopback.
    pub fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let memory = Memory::default();
        let (stop, stopped) = oneshot::channel();
        let served = memory.clone();
        let thread = thread::spawn(move || {
            // Answers that were made to hang would keep a graceful end from coming.
            runtime.block_on(async {
                tokio::select! {
                    () = serving::serve(listener, served) => {}
                    _ = stopped => {}
                }
            });
        });
        Ok(Self { address, memory, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its address as agents want it, with the path of the language.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Adds a script; returns the mark that a prompt has to bear.
    pub fn script(&self, name: &str, steps: Vec<Step>) -> String {
        self.memory.lock().scripts.insert(name.to_owned(), steps);
        format!("{}{name}{}", MARK.0, MARK.1)
    }

    /// What the model was sent in the conversations that follow a script, the newest last.
    pub fn told(&self, script: &str) -> Vec<Told> {
        let known = self.memory.lock();
        known.told.iter().filter(|told| told.script == script).cloned().collect()
    }

    /// Every request that is not a question to a model.
    pub fn strangers(&self) -> Vec<String> {
        self.memory.lock().strangers.clone()
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // A server that has ended already needs no signal.
            stop.send(()).unwrap_or_default();
        }
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap_or_default();
        }
    }
}
