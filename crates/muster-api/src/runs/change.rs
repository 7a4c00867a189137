//! Changes of a run: commands, their response, and the idempotency key, in one
//! transaction.

use muster_core::{
    CallFacts, Draft, Json,
    answers::{self, Answers, CallKey, Keep, Taken},
    run::{
        Ask, RunAggregate, RunCommand,
        allow::AllowCommand,
        command::{CreateRun, EditNode, GraphNodeInput, Resolve},
        edge::Actor,
        id::{EdgeId, ItemId, NodeId, RunId},
        layout::{GraphLayout, LayoutChange, Layouts, TooManyPositions},
        node::PermissionsMode,
    },
};
use muster_engine::MultiStreamTransaction;
use muster_store::StoreError;

use super::{
    RunDesk, RunTold, allow,
    answer::RunResponse,
    fault::{RunCode, RunFault},
    original::Original,
    request::{CreateRequest, EditNodeRequest, EditRequest, NodeRequest},
    seed,
};
use crate::sessions::SaidInput;

/// The commands of a change, and its response.
pub struct RunChangeRequest {
    run: RunId,
    /// The commands, in order; all of them happen or none.
    asks: Vec<Ask>,
    /// New positions of nodes.
    layout: Option<LayoutChange>,
    answer: RunResponse,
    /// The idempotency key.
    pub once: Option<CallKey>,
    /// Prefix of paths in errors.
    prefix: String,
    /// What a person typed, if the log must not have all of it.
    original: Option<Original>,
    /// A rule that is made with it, and who makes it.
    rule: Option<(AllowCommand, CallFacts)>,
}

impl RunChangeRequest {
    pub(super) fn new(run: RunId, ask: Ask, answer: RunResponse) -> Self {
        let asks = vec![ask];
        let layout = None;
        let once = None;
        let prefix = String::new();
        Self { run, asks, layout, answer, once, prefix, original: None, rule: None }
    }

    fn creates(&self) -> bool {
        matches!(self.asks.first(), Some(Ask::CreateRun(_)))
    }

    pub(super) fn below(mut self, prefix: &str) -> Self {
        prefix.clone_into(&mut self.prefix);
        self
    }

    /// The same under an idempotency key.
    #[must_use]
    pub fn once(mut self, key: Option<CallKey>) -> Self {
        self.once = key;
        self
    }

    /// Changes fields, modes, status or layout.
    pub fn edit_run(run: RunId, request: EditRequest) -> Self {
        let EditRequest { fields, asks, layout, prefix } = request;
        let original = Original::of_goal(&fields);
        let answer = RunResponse::Run;
        Self { run, asks, layout, answer, once: None, prefix, original, rule: None }
    }

    pub fn verify(run: RunId) -> Self {
        Self::new(run, Ask::StartVerify, RunResponse::Done)
    }

    /// Dismisses the notice of a refused declaration.
    pub fn dismiss(run: RunId) -> Self {
        Self::new(run, Ask::DismissRefusal, RunResponse::Done)
    }

    pub fn create_node(run: RunId, request: NodeRequest) -> Self {
        let asked_for_no_approval = asks_for_no_approval(&request.input);
        let ask = Ask::CreateNode(Box::new(request.input));
        Self::new(run, ask, RunResponse::FreshNode { asked_for_no_approval }).below(&request.prefix)
    }

    pub fn edit_node(run: RunId, request: EditNodeRequest) -> Self {
        let EditNodeRequest { edit, prefix } = request;
        let EditNode { node: id, input, .. } = &edit;
        let asked_for_no_approval = asks_for_no_approval(input);
        let answer = RunResponse::Node { id: *id, asked_for_no_approval };
        Self::new(run, Ask::EditNode(Box::new(edit)), answer).below(&prefix)
    }

    pub fn delete_node(run: RunId, node: NodeId) -> Self {
        Self::new(run, Ask::DeleteNode { node }, RunResponse::NodeGone(node))
    }

    /// Clears a node's context.
    pub fn reset_node(run: RunId, node: NodeId, reason: Option<String>) -> Self {
        Self::new(run, Ask::ResetNode { node, reason }, RunResponse::Done)
    }

    /// Starts a node again.
    pub fn start_node(run: RunId, node: NodeId) -> Self {
        Self::new(run, Ask::StartNode { node }, RunResponse::Done)
    }

    /// Stops a node and holds it.
    pub fn stop_node(run: RunId, node: NodeId) -> Self {
        Self::new(run, Ask::StopNode { node }, RunResponse::Done)
    }

    /// Interrupts the current turn of a node.
    pub fn interrupt_node(run: RunId, node: NodeId) -> Self {
        Self::new(run, Ask::InterruptNode { node }, RunResponse::Done)
    }

    pub fn delete_edge(run: RunId, edge: EdgeId) -> Self {
        Self::new(run, Ask::DeleteEdge { edge }, RunResponse::EdgeGone(edge))
    }

    /// Sends a message to a node.
    pub fn chat(run: RunId, node: Option<NodeId>, content: String, interrupt: bool) -> Self {
        let ask = Ask::SendMessage { node, content, interrupt, id: None };
        Self::new(run, ask, RunResponse::Message)
    }

    /// Sends a message to a node in its session; returns the response of the session.
    pub(crate) fn input(run: RunId, node: NodeId, content: String, said: SaidInput) -> Self {
        let ask = Ask::SendMessage { node: Some(node), content, interrupt: false, id: None };
        Self::new(run, ask, RunResponse::Said(said))
    }

    /// Sends a failed input again.
    pub fn resend_item(run: RunId, node: NodeId, item: ItemId) -> Self {
        Self::new(run, Ask::ResendItem { node, item }, RunResponse::Item(item))
    }

    /// Deletes a queued or failed input.
    pub fn cancel_item(run: RunId, node: NodeId, item: ItemId) -> Self {
        Self::new(run, Ask::CancelItem { node, item }, RunResponse::Item(item))
    }

    /// The same together with a new rule.
    #[must_use]
    pub(super) fn with_rule(mut self, rule: Option<(AllowCommand, CallFacts)>) -> Self {
        self.rule = rule;
        self
    }

    pub(super) fn resolve(run: RunId, resolve: Resolve, prefix: &str) -> Self {
        let answer = RunResponse::Resolved(resolve.approval);
        Self::new(run, Ask::Resolve(Box::new(resolve)), answer).below(prefix)
    }
}

fn asks_for_no_approval(input: &GraphNodeInput) -> bool {
    input.permissions.spawn_requires_approval == Some(false)
}

impl RunDesk<'_> {
    /// Creates a run; its directory, templates and bindings have to exist.
    pub fn create(self, request: CreateRequest, once: Option<CallKey>) -> RunTold<Json> {
        let CreateRequest { fields, extras, prefix } = request;
        let nodes = extras.nodes.unwrap_or_default();
        let cwd = self.directory(extras.cwd.as_deref()).map_err(|fault| fault.below(&prefix))?;
        let checked = self.check_binding(&fields, None).and_then(|()| {
            nodes.iter().enumerate().try_for_each(|(at, input)| {
                let place = format!("nodes[{at}].");
                self.check_fresh_node(input, &cwd).map_err(|fault| fault.below(&place))
            })
        });
        checked.map_err(|fault| fault.below(&prefix))?;
        let run = self.fresh_id()?;
        let create = CreateRun {
            id: run,
            cwd: cwd.to_string_lossy().into_owned(),
            fields,
            mode: extras.mode,
            global_mode: extras.global_mode,
            auto_start: extras.auto_start.unwrap_or(true),
            nodes,
            permissions_mode: self.usual_permissions(),
        };
        let original = Original::of_goal(&create.fields);
        let change = RunChangeRequest::new(run, Ask::CreateRun(Box::new(create)), RunResponse::Run);
        let change = RunChangeRequest { original, ..change };
        self.carry_out(change.below(&prefix).once(once))
    }

    /// Default permissions of nodes.
    pub fn usual_permissions(self) -> PermissionsMode {
        self.0.options().runs.now().permissions_mode.unwrap_or(PermissionsMode::Gated)
    }

    /// Applies the commands durably, and responds.
    pub fn carry_out(self, change: RunChangeRequest) -> RunTold<Json> {
        let prefix = change.prefix.clone();
        self.attended(change).map_err(|fault| fault.below(&prefix))
    }

    /// Notifies the engine of runs of what has changed.
    fn attended(self, mut change: RunChangeRequest) -> RunTold<Json> {
        let Some(driver) = self.0.driver() else { return self.attempt(change).map(Done::answer) };
        if let Some(Ask::SendMessage { content, id, .. }) = change.asks.first_mut() {
            change.original = Original::of_message(content, id, self.now())?;
        }
        let run = change.run;
        let creates = change.creates();
        if !creates {
            // Nothing drives a run that does not exist.
            self.exists(run)?;
        }
        let attended = driver.attend(run)?;
        // Before the input exists, so that no turn begins without it.
        let original = change.original.take();
        if let Some(original) = &original {
            original.keep(driver, run)?;
        }
        let outcome = self.attempt(change);
        if let (Some(original), Ok(Done::Before(_)) | Err(_)) = (&original, &outcome) {
            original.forget(driver, run);
        }
        match &outcome {
            Ok(Done::Now(_)) => attended.changed(),
            Ok(Done::Before(_)) | Err(_) if creates => attended.abandoned(),
            Ok(Done::Before(_)) | Err(_) => {}
        }
        outcome.map(Done::answer)
    }

    fn attempt(self, change: RunChangeRequest) -> RunTold<Done> {
        let RunChangeRequest { run, asks, layout, answer, once, rule, .. } = change;
        let commands = commands(asks)?;
        let shown = if matches!(answer, RunResponse::Run) {
            self.layout(run)?
        } else {
            GraphLayout::default()
        };
        let work = move |draft: &mut Draft<'_, RunAggregate>, layout: &GraphLayout| {
            for command in &commands {
                draft.apply(command)?;
            }
            answer.written(draft.documents(), draft.events(), layout)
        };
        if layout.is_none() && once.is_none() && rule.is_none() {
            let work = move |draft: &mut Draft<'_, RunAggregate>| work(draft, &shown);
            let answer = self.engine().execute::<RunAggregate, Json>(run.stream(), work)?;
            return Ok(Done::Now(answer));
        }
        let (rule, facts) = rule.unzip();
        let bound = self.engine().transact_for(facts.unwrap_or_default(), move |streams| {
            let made = rule.map_or(Ok(Ok(())), |rule| allow::make(streams, &rule))?;
            if let Err(refusal) = made {
                return Ok(Err(Stop::Fault(refusal)));
            }
            let layout = match layout {
                Some(change) => match moved(streams, run, &change)? {
                    Ok(layout) => layout,
                    Err(TooManyPositions) => return Ok(Err(Stop::Fault(too_many_positions()))),
                },
                None => shown,
            };
            let drafted =
                streams.on::<RunAggregate, Json>(run.stream(), |draft| work(draft, &layout))?;
            let drafted = drafted.map_err(|rejection| Stop::Fault(RunFault::from(*rejection)));
            match once {
                Some(key) => kept(streams, key, drafted),
                None => Ok(drafted),
            }
        })?;
        match bound {
            Ok(answer) => Ok(Done::Now(answer)),
            Err(Stop::Repeated(answer)) => Ok(Done::Before(answer)),
            Err(Stop::Fault(fault)) => Err(fault),
        }
    }
}

/// When a change was made, with its response.
enum Done {
    Now(Json),
    /// Earlier, under the same key.
    Before(Json),
}

impl Done {
    fn answer(self) -> Json {
        match self {
            Self::Now(answer) | Self::Before(answer) => answer,
        }
    }
}

/// Why a transaction writes nothing.
enum Stop {
    /// It was made before, with this response.
    Repeated(Json),
    /// An error.
    Fault(RunFault),
}

fn commands(asks: Vec<Ask>) -> Result<Vec<RunCommand>, StoreError> {
    asks.into_iter().map(|ask| Ok(RunCommand { by: Actor::USER, seed: seed()?, ask })).collect()
}

fn moved(
    streams: &mut MultiStreamTransaction<'_>,
    run: RunId,
    change: &LayoutChange,
) -> Result<Result<GraphLayout, TooManyPositions>, StoreError> {
    let drafted = streams.on::<Layouts, GraphLayout>(run.layout_stream(), |draft| {
        draft.apply(change)?;
        Ok(draft.documents().get(&())?.cloned().unwrap_or_default())
    })?;
    Ok(drafted.map_err(|rejection| *rejection))
}

fn too_many_positions() -> RunFault {
    let detail = "positions may not name more nodes than a run can have";
    RunFault::new(RunCode::TooLong, detail).at("layout.positions")
}

/// Stores a response under its key; a stored one takes precedence (RUNS-REST-7).
fn kept(
    streams: &mut MultiStreamTransaction<'_>,
    CallKey { key, digest }: CallKey,
    drafted: Result<Json, Stop>,
) -> Result<Result<Json, Stop>, StoreError> {
    let answer = drafted.as_ref().map_or("", Json::text).to_owned();
    let keep = Keep { key, digest, answer };
    let stream = answers::STREAM.to_owned();
    let outcome = streams.on::<Answers, ()>(stream, |draft| draft.apply(&keep).map(|_| ()))?;
    Ok(match outcome.map_err(|taken| *taken) {
        Ok(()) => drafted,
        Err(Taken::Answered(answer)) => Err(repeated(&answer)),
        Err(Taken::Differs) => {
            let detail = "this Idempotency-Key was used for another request: choose a new one";
            Err(Stop::Fault(RunFault::new(RunCode::IdempotencyConflict, detail)))
        }
    })
}

fn repeated(answer: &str) -> Stop {
    match serde_json::from_str::<Json>(answer) {
        Ok(answer) => Stop::Repeated(answer),
        Err(error) => {
            tracing::error!(%error, "a stored response cannot be read");
            Stop::Fault(RunFault::new(RunCode::Internal, "the stored response cannot be read"))
        }
    }
}
