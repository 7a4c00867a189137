//! Calls that outlive their reply: the extension `io.modelcontextprotocol/tasks`.
//!
//! A call that may take long, of a client that declares the extension, gets a short time to answer
//! as usual. After that the client gets a handle, asks with `tasks/get` how far the call is and
//! what it answered, and may cancel it. Handles last as long as the process; the SDK's own manager
//! keeps any number of results, so it is not used.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use muster_api::{Clock as _, SystemClock, echo};
use rmcp::{
    ErrorData,
    model::{
        CallToolRequestParams, CallToolResponse, CreateTaskResult, DetailedTask, JsonObject, Task,
        TaskPayload, TaskStatus,
    },
};
use serde::Serialize;
use serde_json::Value;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

use crate::{
    backend::{Backend, McpCall},
    blocking::broken,
};

/// A call that ends within this time is answered without a handle.
const GRACE: Duration = Duration::from_millis(200);
/// Running calls with a handle; further ones are answered when they end.
pub(crate) const RUNNING_MAX: usize = 32;
/// Results of ended calls that are kept; the oldest goes first.
pub(crate) const ENDED_MAX: usize = 128;
/// How long the result of an ended call is kept.
pub(crate) const ENDED_KEPT: Duration = Duration::from_mins(10);
/// How often a client should ask.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// How long calls may take to stop once the connection has ended.
const STOP_MAX: Duration = Duration::from_secs(5);
const HANDLE_BYTES: usize = 16;

/// The handles of one endpoint.
pub(crate) struct LongCalls {
    handles: Mutex<BTreeMap<String, LongCall>>,
    room: Arc<Semaphore>,
}

/// What a running call says about itself.
#[derive(Clone, Debug)]
pub(crate) struct CallStatus(Arc<watch::Sender<Option<StatusLine>>>);

#[derive(Clone, Debug)]
struct StatusLine {
    text: String,
    at: String,
}

struct LongCall {
    task: Task,
    began: Instant,
    state: LongCallState,
}

enum LongCallState {
    Running { call: McpCall, status: CallStatus },
    Ended { at: Instant, payload: TaskPayload },
}

impl CallStatus {
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }

    pub(crate) fn set(&self, text: &str) {
        self.0.send_replace(Some(StatusLine { text: text.to_owned(), at: now() }));
    }
}

impl LongCalls {
    pub(crate) fn new() -> Self {
        Self { handles: Mutex::default(), room: Arc::new(Semaphore::new(RUNNING_MAX)) }
    }

    /// A place for one more running call, if there is one.
    pub(crate) fn room(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.room).try_acquire_owned().ok()
    }

    /// Calls a tool; returns a handle if it takes longer than the grace period.
    pub(crate) async fn call(
        self: &Arc<Self>,
        backend: Arc<dyn Backend>,
        request: CallToolRequestParams,
        mut call: McpCall,
        room: OwnedSemaphorePermit,
    ) -> Result<CallToolResponse, ErrorData> {
        let id = new_handle()?;
        let (asker, status) = call.detach();
        let running = call.clone();
        let mut work = tokio::spawn(async move { backend.call_tool(request, running).await });
        tokio::select! {
            answer = &mut work => return answer.map_err(|error| broken(&error))?,
            () = asker.cancelled() => {
                call.cancel();
                return Err(cancelled());
            }
            () = sleep(GRACE) => {}
        }
        // The client has a reply now, so later calls need not wait for this one.
        call.leave_place();
        let task = self.keep(id, call, status);
        self.clone().settle_later(task.task_id.clone(), work, room);
        Ok(CallToolResponse::Task(CreateTaskResult::new(task)))
    }

    fn keep(&self, id: String, call: McpCall, status: CallStatus) -> Task {
        let at = now();
        let task = Task::new(id.clone(), TaskStatus::Working, at.clone(), at)
            .with_poll_interval_ms(milliseconds(POLL_INTERVAL));
        let began = Instant::now() - GRACE;
        let state = LongCallState::Running { call, status };
        let kept = LongCall { task: task.clone(), began, state };
        self.locked().insert(id, kept);
        task
    }

    fn settle_later(
        self: Arc<Self>,
        id: String,
        work: JoinHandle<Result<CallToolResponse, ErrorData>>,
        room: OwnedSemaphorePermit,
    ) {
        tokio::spawn(async move {
            let answer = work.await.unwrap_or_else(|error| Err(broken(&error)));
            if let Some(kept) = self.locked().get_mut(&id) {
                kept.end(answer);
            }
            drop(room);
        });
    }

    /// `tasks/get`.
    pub(crate) fn get(&self, id: &str) -> Result<DetailedTask, ErrorData> {
        let handles = self.locked();
        Ok(handles.get(id).ok_or_else(|| unknown(id))?.detailed())
    }

    /// `tasks/cancel`: the call is asked to stop. What it then returns decides how it ended.
    pub(crate) fn cancel(&self, id: &str) -> Result<(), ErrorData> {
        let handles = self.locked();
        handles.get(id).ok_or_else(|| unknown(id))?.cancel();
        Ok(())
    }

    pub(crate) fn cancel_all(&self) {
        self.locked().values().for_each(LongCall::cancel);
    }

    /// Stops all calls and waits for them, for as long as a process may take to end.
    pub(crate) async fn stop(&self) {
        self.cancel_all();
        let all = u32::try_from(RUNNING_MAX).unwrap_or(u32::MAX);
        if timeout(STOP_MAX, self.room.acquire_many(all)).await.is_err() {
            tracing::warn!("a call did not stop in time");
        }
    }

    /// The handles, without those that have expired.
    fn locked(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, LongCall>> {
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        handles.retain(|_, kept| kept.ended_at().is_none_or(|at| at.elapsed() < ENDED_KEPT));
        while handles.values().filter_map(LongCall::ended_at).count() > ENDED_MAX {
            let ended = handles.iter().filter_map(|(id, kept)| Some((kept.ended_at()?, id)));
            let Some(oldest) = ended.min().map(|(_, id)| id.clone()) else { break };
            handles.remove(&oldest);
        }
        handles
    }
}

impl LongCall {
    fn ended_at(&self) -> Option<Instant> {
        match self.state {
            LongCallState::Running { .. } => None,
            LongCallState::Ended { at, .. } => Some(at),
        }
    }

    fn cancel(&self) {
        match &self.state {
            LongCallState::Running { call, .. } => call.cancel(),
            LongCallState::Ended { .. } => {}
        }
    }

    fn is_cancelled(&self) -> bool {
        match &self.state {
            LongCallState::Running { call, .. } => call.is_cancelled(),
            LongCallState::Ended { .. } => false,
        }
    }

    fn end(&mut self, answer: Result<CallToolResponse, ErrorData>) {
        let payload = match answer {
            Ok(CallToolResponse::Complete(result)) if result.is_error != Some(true) => {
                TaskPayload::Completed { result: object(&result) }
            }
            // What a cancelled call says instead of its result is not worth a distinction.
            Ok(_) | Err(_) if self.is_cancelled() => TaskPayload::Cancelled,
            Ok(CallToolResponse::Complete(result)) => {
                TaskPayload::Completed { result: object(&result) }
            }
            Ok(_) => TaskPayload::Failed { error: object(&asks_too_late()) },
            Err(error) => TaskPayload::Failed { error: object(&error) },
        };
        let at = Instant::now();
        self.task.ttl_ms = Some(milliseconds(at - self.began + ENDED_KEPT));
        self.task.last_updated_at = now();
        self.state = LongCallState::Ended { at, payload };
    }

    fn detailed(&self) -> DetailedTask {
        let mut task = self.task.clone();
        match &self.state {
            LongCallState::Ended { payload, .. } => DetailedTask::new(task, payload.clone()),
            LongCallState::Running { status, .. } => {
                if let Some(line) = status.0.borrow().clone() {
                    task.status_message = Some(line.text);
                    task.last_updated_at = line.at;
                }
                DetailedTask::new(task, TaskPayload::Working)
            }
        }
    }
}

fn now() -> String {
    SystemClock.now().rfc3339()
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// An id that cannot be guessed: a client that knows it may read the result.
fn new_handle() -> Result<String, ErrorData> {
    let mut bytes = [0; HANDLE_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| {
        tracing::error!(%error, "no random numbers for a handle");
        ErrorData::internal_error("the server has no random numbers", None)
    })?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

fn object(value: &impl Serialize) -> JsonObject {
    match serde_json::to_value(value) {
        Ok(Value::Object(object)) => object,
        Ok(_) | Err(_) => JsonObject::new(),
    }
}

fn unknown(id: &str) -> ErrorData {
    let minutes = ENDED_KEPT.as_secs() / 60;
    let id = echo(id);
    let message = format!(
        "there is no task {id:?}, or it has expired: results are kept for {minutes} minutes and \
         only while this process runs; call the tool again"
    );
    ErrorData::invalid_params(message, None)
}

fn asks_too_late() -> ErrorData {
    ErrorData::internal_error("the tool asked for input after its handle was given", None)
}

/// Never reaches the client: the SDK drops the response to a cancelled request.
pub(crate) fn cancelled() -> ErrorData {
    ErrorData::internal_error("the request was cancelled", None)
}
