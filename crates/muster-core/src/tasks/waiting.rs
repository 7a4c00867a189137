//! What on a task waits for a person: a waiver that an agent asks for, or a step on which an agent
//! gave up. Such tasks are catalogued, so that a list over all workspaces reads no others.

use super::entity::Task;

impl Task {
    /// Whether something on it waits for a person.
    #[must_use]
    pub fn has_questions(&self) -> bool {
        let gave_up = |stop: &super::stop::UnprovenStop| stop.allowed_at.is_some();
        !self.waivers_asked.is_empty()
            || self.steps.iter().any(|step| step.unproven_stop.as_ref().is_some_and(gave_up))
    }
}
