//! Notifies a person that something waits: on the desktop, through a command, or to a webhook
//! (HOST-NOTE-1).
//!
//! ```text
//!   list of what waits ─► plan: which of it is news ─► queue ─► desktop, command, webhook
//! ```
//!
//! The plan is pure. Deliveries have a limit each and run beside the server; a full queue loses
//! notifications, never time. What waits stays in the list that the page and the commands show.

mod channels;
mod plan;
mod quiet;
mod webhook;

use std::time::Duration;

use muster_core::{Timestamp, run::moment::Moment};
use serde::Serialize;
use tokio::sync::mpsc;

pub use plan::NotificationPlan;
pub use quiet::QuietHours;
pub use webhook::{WebhookFault, WebhookUrl};

use self::channels::Channels;

/// Notifications that wait for their delivery.
const QUEUE_MAX: usize = 16;
/// Items of one notification that are named.
const NAMED_MAX: usize = 20;

/// How a person is notified.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotifySettings {
    /// Program and arguments; empty for none. The notification is JSON on its standard input.
    pub command: Vec<String>,
    pub webhook: Option<WebhookUrl>,
    pub desktop: bool,
    /// How long something has to wait first.
    pub min_age: Duration,
    /// The hours without notifications.
    pub quiet: Option<QuietHours>,
}

/// Something that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitingItem {
    /// Distinguishes it from everything else that waits.
    pub key: String,
    /// What a person is needed for: `approval`, `check_failed`, …
    pub kind: String,
    /// What happened, in one line.
    pub title: String,
    /// The last lines of a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What to do next, in one line.
    pub next: String,
    pub since: Moment,
}

/// The items of one notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    items: Vec<WaitingItem>,
}

/// A notification as programs get it.
#[derive(Serialize)]
struct NotificationMessage<'a> {
    event: &'static str,
    title: &'a str,
    text: &'a str,
    /// The page with the list; a browser that signed in opens it.
    url: &'a str,
    count: usize,
    items: &'a [WaitingItem],
}

impl Notification {
    /// One line for the head of a notification.
    fn title(&self) -> String {
        match &self.items[..] {
            [_] => "Muster: something waits for you".to_owned(),
            items => format!("Muster: {} things wait for you", items.len()),
        }
    }

    fn text(&self) -> String {
        let lines = self.items.iter().map(|item| item.title.as_str());
        lines.take(NAMED_MAX).collect::<Vec<_>>().join("\n")
    }

    fn message(&self, url: &str) -> String {
        let message = NotificationMessage {
            event: "waiting",
            title: &self.title(),
            text: &self.text(),
            url,
            count: self.items.len(),
            items: &self.items[..self.items.len().min(NAMED_MAX)],
        };
        serde_json::to_string(&message).unwrap_or_else(|error| unreachable!("plain data: {error}"))
    }
}

/// Decides what is news and hands it to the channels.
pub struct Notifier {
    plan: NotificationPlan,
    quiet: Option<QuietHours>,
    queue: mpsc::Sender<Notification>,
    /// Whether the last notification found the queue full.
    is_full: bool,
}

impl Notifier {
    /// Starts the deliveries; needs a runtime. `None` if the settings name no channel that exists
    /// here.
    pub fn start(settings: NotifySettings, url: String, now: Timestamp) -> Option<Self> {
        let plan = NotificationPlan::new(settings.min_age, now);
        let quiet = settings.quiet;
        let channels = Channels::of(settings)?;
        let (queue, mut waiting) = mpsc::channel::<Notification>(QUEUE_MAX);
        crate::background::spawn(async move {
            let mut channels = channels;
            while let Some(notification) = waiting.recv().await {
                channels.deliver(&notification, &url).await;
            }
        });
        Some(Self { plan, quiet, queue, is_full: false })
    }

    /// Takes the list of what waits now; returns when to look again at the latest, if something is
    /// due later.
    pub fn look(&mut self, items: &[WaitingItem], now: Timestamp) -> Option<Duration> {
        let is_quiet = self.quiet.is_some_and(QuietHours::holds_now);
        for notification in self.plan.look(items, now, is_quiet) {
            let is_full = self.queue.try_send(notification).is_err();
            if is_full && !self.is_full {
                tracing::warn!("too many notifications wait for their delivery; some are dropped");
            }
            self.is_full = is_full;
        }
        self.plan.next_look(now)
    }
}
