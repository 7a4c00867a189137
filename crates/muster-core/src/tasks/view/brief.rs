//! What lists and the views of a plan show of a task, stored next to it: such a view reads a page
//! of briefs instead of every task with all its steps.

use std::sync::Arc;

use super::{ViewLine, lines, steps::StepsSummary};
use crate::{
    Timestamp,
    compact::{Compact, CompactReader, CompactWriter, WholeText},
    tasks::{
        TaskDocs, TaskLookup,
        entity::{Task, TaskStatus, Urgency},
        id::{EntityId, PlanId, TaskId},
        step::{Step, StepLookCounts},
    },
};

/// A task in short. Follows from the task alone.
#[derive(Clone, PartialEq, Debug)]
pub struct TaskBrief {
    pub id: TaskId,
    /// The plan it belongs to.
    pub parent: PlanId,
    pub title: WholeText,
    /// How far it is.
    pub status: TaskStatus,
    /// Version of the task.
    pub revision: u64,
    /// How urgent it is.
    pub priority: Urgency,
    /// Area of work.
    pub domain: Option<WholeText>,
    pub assignee: Option<WholeText>,
    /// Free labels.
    pub tags: Vec<WholeText>,
    /// What has to be done first.
    pub depends_on: Vec<EntityId>,
    /// Open ones of `depends_on`.
    pub waits: Vec<EntityId>,
    pub steps: u64,
    /// Closed steps.
    pub closed: u64,
    /// Closed steps by what backs them; `None` if an earlier version stored the brief.
    pub looks: Option<StepLookCounts>,
    /// Open steps that are blocked.
    pub blocked: usize,
    /// When it was changed last.
    pub updated_at: Timestamp,
    pub next: Option<WholeText>,
    /// Missing confirmations and proofs.
    pub verify: Vec<WholeText>,
    /// Blockers of its steps and nodes.
    blockers: Vec<WholeText>,
    /// Open blocker cards.
    blocker_cards: Vec<WholeText>,
    /// Steps closed by force, a line each.
    pub forced: Vec<WholeText>,
    /// Risks and problems of open nodes.
    pub risks: Vec<WholeText>,
}

/// What a brief shows of the steps of a task.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::tasks) struct StepLines {
    looks: StepLookCounts,
    blocked: usize,
    /// The first line about what to do, if a step gives one.
    next: Option<WholeText>,
    verify: Vec<WholeText>,
    blockers: Vec<WholeText>,
    forced: Vec<WholeText>,
    risks: Vec<WholeText>,
}

impl StepLines {
    fn of(task: &Task) -> Self {
        let is_blocked = |step: &&Step| step.block.is_some() && !step.is_closed();
        let kept = |lines: Vec<ViewLine>| lines.into_iter().map(WholeText::from).collect();
        Self {
            looks: StepLookCounts::of(task.steps.iter()),
            blocked: task.steps.iter().filter(is_blocked).count(),
            next: lines::next_of_steps(task).map(WholeText::from),
            verify: kept(lines::verify(task, &StepsSummary::of(task))),
            blockers: kept(lines::blockers_inside(task)),
            forced: kept(lines::forced(task)),
            risks: kept(lines::risks(task)),
        }
    }
}

impl TaskBrief {
    /// The brief of a task.
    pub fn of(task: &Task) -> Self {
        let meta = &task.meta;
        let (closed, steps) = task.closed_of_total();
        let kept = |text: &String| WholeText::from(text.as_str());
        let inside = task.steps.lines(|| StepLines::of(task));
        let next = match &inside.next {
            Some(line) => (meta.status != TaskStatus::Done).then(|| line.clone()),
            None => lines::next(task).into_iter().next().map(WholeText::from),
        };
        Self {
            id: task.id,
            parent: task.parent,
            title: kept(&meta.title),
            status: meta.status,
            revision: meta.revision,
            priority: meta.priority,
            domain: task.domain.as_ref().map(kept),
            assignee: task.assignee.as_ref().map(kept),
            tags: meta.tags.iter().map(kept).collect(),
            depends_on: meta.depends_on.clone(),
            waits: meta.waits(),
            steps: steps as u64,
            closed: closed as u64,
            looks: Some(inside.looks),
            blocked: inside.blocked,
            updated_at: meta.updated_at,
            next,
            verify: inside.verify.clone(),
            blockers: inside.blockers.clone(),
            blocker_cards: lines::blocker_cards(task).map(WholeText::from).collect(),
            forced: inside.forced.clone(),
            risks: inside.risks.clone(),
        }
    }

    /// Percent of steps closed.
    pub(super) fn progress(&self) -> u64 {
        super::percent(self.closed, self.steps)
    }

    /// How many blocker lines it has.
    pub(super) fn blocker_count(&self) -> u64 {
        (self.blockers.len() + self.waits.len() + self.blocker_cards.len()) as u64
    }

    /// Its blockers, as in [`lines::blockers`].
    pub(super) fn blockers(&self, docs: &TaskDocs) -> TaskLookup<Vec<ViewLine>> {
        let waits = lines::waits(docs, &self.waits)?;
        let first = self.blockers.iter();
        let last = self.blocker_cards.iter();
        Ok(first.map(ViewLine::from).chain(waits).chain(last.map(ViewLine::from)).collect())
    }
}

/// Version of the stored form of briefs.
const FORM: u64 = 2;
const FORM_WITHOUT_LOOKS: u64 = 1;
/// Urgencies by their number.
const URGENCIES: [Urgency; 4] = [Urgency::Critical, Urgency::High, Urgency::Medium, Urgency::Low];

impl TaskBrief {
    /// All fields in the stored order; looks only if the form has them.
    fn fields(&self, form: u64) -> String {
        let ids = |ids: &[EntityId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
        let mut fields = CompactWriter::default();
        fields.number(form).number(self.id.0).number(self.parent.0).text(&self.title);
        fields.number(self.status as u64).number(self.priority as u64).number(self.revision);
        fields.maybe(self.domain.as_deref()).maybe(self.assignee.as_deref()).texts(&self.tags);
        fields.texts(&ids(&self.depends_on)).texts(&ids(&self.waits));
        fields.number(self.steps).number(self.closed).number(self.blocked as u64);
        fields.number(self.updated_at.0.cast_unsigned());
        fields.maybe(self.next.as_deref()).texts(&self.verify).texts(&self.blockers);
        fields.texts(&self.blocker_cards).texts(&self.forced).texts(&self.risks);
        if form == FORM {
            let looks = self.looks.unwrap_or_default();
            fields.number(looks.claimed).number(looks.evidence);
            fields.number(looks.proven).number(looks.waived);
        }
        fields.finish()
    }
}

impl Compact for TaskBrief {
    fn write(&self) -> String {
        self.fields(FORM)
    }

    fn earlier_forms(&self) -> Vec<String> {
        vec![self.fields(FORM_WITHOUT_LOOKS)]
    }

    fn read(text: &Arc<str>) -> Option<Self> {
        let mut fields = CompactReader::of(text);
        let id = |text: WholeText| text.parse().ok();
        let form = fields.number()?;
        if ![FORM, FORM_WITHOUT_LOOKS].contains(&form) {
            return None;
        }
        let mut brief = Self {
            id: TaskId(fields.number()?),
            parent: PlanId(fields.number()?),
            title: fields.text()?,
            status: *TaskStatus::ALL.get(fields.number()? as usize)?,
            priority: *URGENCIES.get(fields.number()? as usize)?,
            revision: fields.number()?,
            domain: fields.maybe()?,
            assignee: fields.maybe()?,
            tags: fields.texts(Some)?,
            depends_on: fields.texts(id)?,
            waits: fields.texts(id)?,
            steps: fields.number()?,
            closed: fields.number()?,
            looks: None,
            blocked: usize::try_from(fields.number()?).ok()?,
            updated_at: Timestamp(fields.number()?.cast_signed()),
            next: fields.maybe()?,
            verify: fields.texts(Some)?,
            blockers: fields.texts(Some)?,
            blocker_cards: fields.texts(Some)?,
            forced: fields.texts(Some)?,
            risks: fields.texts(Some)?,
        };
        if form == FORM {
            brief.looks = Some(StepLookCounts {
                claimed: fields.number()?,
                evidence: fields.number()?,
                proven: fields.number()?,
                waived: fields.number()?,
            });
        }
        fields.end().map(|()| brief)
    }
}
