//! Which of what waits is news. Pure: the time comes with every look.

use std::{
    collections::{BTreeSet, VecDeque},
    time::Duration,
};

use muster_core::Timestamp;

use super::{Notification, WaitingItem};

/// At most this many notifications within [`RATE_MS`].
const RATE_MAX: usize = 10;
const RATE_MS: i64 = 60_000;
/// More items than this at once are one notification.
const SINGLE_MAX: usize = 3;

/// What was notified already, and when.
#[derive(Debug)]
pub struct NotificationPlan {
    min_age_ms: i64,
    /// What waited before this time was notified by the process before.
    began: Timestamp,
    has_looked: bool,
    notified: BTreeSet<String>,
    /// Times of the last notifications.
    sent: VecDeque<Timestamp>,
    /// When the next item is due that is not old enough yet, or has to wait for the rate.
    due: Option<Timestamp>,
}

impl NotificationPlan {
    pub fn new(min_age: Duration, now: Timestamp) -> Self {
        Self {
            min_age_ms: i64::try_from(min_age.as_millis()).unwrap_or(i64::MAX),
            began: now,
            has_looked: false,
            notified: BTreeSet::new(),
            sent: VecDeque::new(),
            due: None,
        }
    }

    /// The notifications for a list. Each item is in one of them at most; one that left the list
    /// and comes back is news again.
    pub fn look(
        &mut self,
        items: &[WaitingItem],
        now: Timestamp,
        is_quiet: bool,
    ) -> Vec<Notification> {
        self.notified.retain(|key| items.iter().any(|item| item.key == *key));
        if !self.has_looked {
            self.has_looked = true;
            let old = items.iter().filter(|item| item.since.0 < self.began);
            self.notified.extend(old.map(|item| item.key.clone()));
        }
        self.due = None;
        let fresh = items.iter().filter(|item| !self.notified.contains(&item.key));
        let (ripe, young): (Vec<_>, Vec<_>) = fresh.partition(|item| self.is_ripe(item, now));
        self.due = young.iter().map(|item| self.ripe_at(item)).min();
        if is_quiet || ripe.is_empty() {
            return Vec::new();
        }
        let room = self.room(now);
        let items: Vec<WaitingItem> = ripe.into_iter().cloned().collect();
        if room == 0 {
            let next = self.sent.front().map(|first| Timestamp(first.0 + RATE_MS));
            self.due = self.due.into_iter().chain(next).min();
            return Vec::new();
        }
        self.notified.extend(items.iter().map(|item| item.key.clone()));
        let notifications = if items.len() > SINGLE_MAX.min(room) {
            vec![Notification { items }]
        } else {
            items.into_iter().map(|item| Notification { items: vec![item] }).collect()
        };
        self.sent.extend(notifications.iter().map(|_| now));
        notifications
    }

    /// When something is due without any change of the list.
    pub fn next_look(&self, now: Timestamp) -> Option<Duration> {
        let wait = u64::try_from(self.due?.0 - now.0).unwrap_or(0);
        Some(Duration::from_millis(wait.max(1)))
    }

    fn ripe_at(&self, item: &WaitingItem) -> Timestamp {
        Timestamp(item.since.0.0.saturating_add(self.min_age_ms))
    }

    fn is_ripe(&self, item: &WaitingItem, now: Timestamp) -> bool {
        self.ripe_at(item) <= now
    }

    /// How many notifications may be sent now.
    fn room(&mut self, now: Timestamp) -> usize {
        self.sent.retain(|at| now.0 - at.0 < RATE_MS);
        RATE_MAX.saturating_sub(self.sent.len())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use muster_core::Timestamp;

    use super::{NotificationPlan, RATE_MAX, RATE_MS};
    use crate::notify::{Notification, WaitingItem};

    const BEGAN: i64 = 1_000_000;

    fn item(key: &str, since: i64) -> WaitingItem {
        WaitingItem {
            key: key.to_owned(),
            kind: "approval".to_owned(),
            title: format!("{key} asks"),
            next: "answer it".to_owned(),
            detail: None,
            since: Timestamp(since).into(),
        }
    }

    fn plan(min_age: u64) -> NotificationPlan {
        let mut plan = NotificationPlan::new(Duration::from_secs(min_age), Timestamp(BEGAN));
        assert_eq!(plan.look(&[], Timestamp(BEGAN), false), []);
        plan
    }

    fn keys(sent: &[Notification]) -> Vec<Vec<&str>> {
        let keys = sent.iter().map(|one| one.items.iter().map(|item| item.key.as_str()));
        keys.map(Iterator::collect).collect()
    }

    #[test]
    fn an_item_is_told_once_and_again_after_it_was_gone() {
        let mut plan = plan(0);
        let list = [item("a", BEGAN + 1), item("b", BEGAN + 2)];
        let mut look = |list: &[WaitingItem]| plan.look(list, Timestamp(BEGAN + 5), false).len();
        assert_eq!((look(&list), look(&list)), (2, 0));
        assert_eq!((look(&list[..1]), look(&list)), (0, 1));
    }

    #[test]
    fn what_is_answered_before_its_age_is_never_told() {
        let mut plan = plan(30);
        let list = [item("quick", BEGAN), item("slow", BEGAN + 10_000)];
        assert_eq!(plan.look(&list, Timestamp(BEGAN + 10_000), false), []);
        assert_eq!(plan.next_look(Timestamp(BEGAN + 10_000)), Some(Duration::from_secs(20)));
        let sent = plan.look(&list[1..], Timestamp(BEGAN + 40_000), false);
        assert_eq!(keys(&sent), [["slow"]]);
        assert_eq!(plan.next_look(Timestamp(BEGAN + 40_000)), None);
    }

    #[test]
    fn what_waited_before_the_start_is_not_news() {
        let mut plan = NotificationPlan::new(Duration::ZERO, Timestamp(BEGAN));
        let list = [item("old", BEGAN - 1), item("new", BEGAN)];
        assert_eq!(keys(&plan.look(&list, Timestamp(BEGAN + 1), false)), [["new"]]);
    }

    #[test]
    fn quiet_hours_hold_back_and_their_end_tells_the_rest() {
        let mut plan = plan(0);
        let list: Vec<_> = (0..5).map(|n| item(&format!("n{n}"), BEGAN)).collect();
        assert_eq!(plan.look(&list, Timestamp(BEGAN + 1), true), []);
        let sent = plan.look(&list[1..], Timestamp(BEGAN + 2), false);
        assert_eq!(keys(&sent), [["n1", "n2", "n3", "n4"]], "many are one notification");
    }

    #[test]
    fn the_rate_is_bounded_and_nothing_is_lost() {
        let mut plan = plan(0);
        let mut list = Vec::new();
        for n in 0..RATE_MAX + 5 {
            list.push(item(&format!("n{n}"), BEGAN));
            let sent = plan.look(&list, Timestamp(BEGAN + 1), false);
            assert_eq!(sent.len(), usize::from(n < RATE_MAX), "{n}");
        }
        assert_eq!(plan.next_look(Timestamp(BEGAN + 1)), Some(Duration::from_mins(1)));
        let sent = plan.look(&list, Timestamp(BEGAN + 1 + RATE_MS), false);
        assert_eq!(sent[0].items.len(), 5);
    }
}
