//! Settings of notifications: how a person hears that something waits.

use std::time::Duration;

use muster_api::notify::{QuietHours, WebhookUrl};

use super::{SWITCH, switch};
use crate::config::{
    Setting, SettingRow, Sourced, readers,
    row::{Form, Reading, ShownValue},
};

/// Whether the desktop shows notifications.
pub(crate) static NOTIFY_DESKTOP: Setting<bool> = Setting {
    row: SettingRow {
        name: "notify.desktop",
        variables: &["MUSTER_NOTIFY_DESKTOP"],
        form: Form::Switch,
        allowed: SWITCH,
        default: "true",
        help: "Show a notification of the desktop when something starts to wait for you, with \
               notify-send or osascript where a desktop is",
        ..SettingRow::PLAIN
    },
    reading: Reading::plain(readers::switch, |_| Sourced::default(true)),
    show: switch,
};

/// The program that is notified.
pub(crate) static NOTIFY_COMMAND: Setting<Vec<String>> = Setting {
    row: SettingRow {
        name: "notify.command",
        variables: &["MUSTER_NOTIFY_COMMAND"],
        form: Form::Command,
        allowed: "a program and its arguments as an array of strings; in a variable a JSON array",
        default: "none",
        help: "Program that is run when something starts to wait for you; it gets JSON on its \
               standard input and has 10 s",
        ..SettingRow::PLAIN
    },
    reading: Reading::plain(readers::command, |_| Sourced::default(Vec::new())),
    show: |words| ShownValue::list(words),
};

/// The address that is notified.
pub(crate) static NOTIFY_WEBHOOK: Setting<Option<WebhookUrl>> = Setting {
    row: SettingRow {
        name: "notify.webhook",
        variables: &["MUSTER_NOTIFY_WEBHOOK"],
        allowed: "an http:// address such as http://127.0.0.1:8080/muster; there is no TLS here: \
                  for https set notify.command = [\"curl\", \"-sSf\", \"--json\", \"@-\", \
                  \"https://…\"]",
        default: "none",
        help: "Address that gets the same JSON in a POST, over plain HTTP",
        ..SettingRow::PLAIN
    },
    reading: Reading::plain(readers::webhook, |_| Sourced::default(None)),
    show: |url| ShownValue::maybe(url.as_ref()),
};

/// How long something waits before a person is notified.
pub(crate) static NOTIFY_MIN_AGE: Setting<Duration> = Setting {
    row: SettingRow {
        name: "notify.min_age",
        variables: &["MUSTER_NOTIFY_MIN_AGE"],
        allowed: "a whole number with s, m or h, for example 30s",
        default: "0s",
        help: "How long something has to wait before you are notified; what is answered earlier \
               is not mentioned",
        ..SettingRow::PLAIN
    },
    reading: Reading::plain(readers::duration, |_| Sourced::default(Duration::ZERO)),
    show: |age| ShownValue::text(&format!("{}s", age.as_secs())),
};

/// The hours without notifications.
pub(crate) static NOTIFY_QUIET: Setting<Option<QuietHours>> = Setting {
    row: SettingRow {
        name: "notify.quiet",
        variables: &["MUSTER_NOTIFY_QUIET"],
        allowed: "two times of the day in local time, for example 22:00-07:00",
        default: "none",
        help: "Hours without notifications; what still waits at their end is mentioned then",
        ..SettingRow::PLAIN
    },
    reading: Reading::plain(readers::quiet_hours, |_| Sourced::default(None)),
    show: |hours| ShownValue::maybe(hours.as_ref()),
};
