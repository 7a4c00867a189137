//! The ways to a person. Each delivery has a limit, and a channel that fails is reported once until
//! it works again.

use std::{
    env, io,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use rustix::process::Signal;
use tokio::{
    io::AsyncWriteExt as _,
    process::{Child, Command},
    time::timeout,
};

use super::{Notification, NotifySettings, WebhookUrl};
use crate::process::{ending, family, strays};

/// How long a delivery may take.
const DELIVERY_MAX: Duration = Duration::from_secs(10);
/// Variables of a desktop session; without any there is no desktop to show something on.
const SESSION_VARIABLES: [&str; 3] = ["DBUS_SESSION_BUS_ADDRESS", "WAYLAND_DISPLAY", "DISPLAY"];

/// The channels that the settings name and that exist here.
pub(super) struct Channels {
    command: Option<Channel<Vec<String>>>,
    webhook: Option<Channel<WebhookUrl>>,
    desktop: Option<Channel<PathBuf>>,
}

struct Channel<T> {
    way: T,
    /// What a log line calls it.
    name: String,
    is_failing: bool,
}

impl Channels {
    pub(super) fn of(settings: NotifySettings) -> Option<Self> {
        let command = Some(settings.command).filter(|command| !command.is_empty());
        let command = command.map(|words| Channel::new(format!("command {}", words[0]), words));
        let webhook = settings.webhook.map(|url| Channel::new(format!("webhook {url}"), url));
        let program = if settings.desktop { desktop_program() } else { None };
        let desktop =
            program.map(|program| Channel::new(format!("program {}", program.display()), program));
        let some = command.is_some() || webhook.is_some() || desktop.is_some();
        some.then_some(Self { command, webhook, desktop })
    }

    /// Notifies the person on all channels at once.
    pub(super) async fn deliver(&mut self, notification: &Notification, url: &str) {
        let message = notification.message(url);
        let command = async {
            if let Some(channel) = &mut self.command {
                let sent = run(&channel.way, &message, DELIVERY_MAX).await;
                channel.note(sent);
            }
        };
        let webhook = async {
            if let Some(channel) = &mut self.webhook {
                let sent = timeout(DELIVERY_MAX, channel.way.post(&message)).await;
                channel.note(sent.unwrap_or_else(|_| Err(too_slow(DELIVERY_MAX))));
            }
        };
        let desktop = async {
            if let Some(channel) = &mut self.desktop {
                let sent = run(&desktop_words(&channel.way, notification), "", DELIVERY_MAX).await;
                channel.note(sent);
            }
        };
        tokio::join!(command, webhook, desktop);
    }
}

impl<T> Channel<T> {
    fn new(name: String, way: T) -> Self {
        Self { way, name, is_failing: false }
    }

    fn note(&mut self, sent: io::Result<()>) {
        match (sent, self.is_failing) {
            (Err(error), false) => {
                tracing::warn!(%error, "could not notify through the {}", self.name);
            }
            (Ok(()), true) => tracing::info!("notifications through the {} work again", self.name),
            (Err(_), true) | (Ok(()), false) => return,
        }
        self.is_failing = !self.is_failing;
    }
}

fn too_slow(limit: Duration) -> io::Error {
    let seconds = limit.as_secs_f32();
    io::Error::new(io::ErrorKind::TimedOut, format!("it took longer than {seconds} s"))
}

/// Runs a program in a process group of its own, with text on its standard input.
async fn run(words: &[String], input: &str, limit: Duration) -> io::Result<()> {
    let mut command = Command::new(&words[0]);
    command
        .args(&words[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .process_group(0);
    let mut child = strays::known(|| command.spawn())?;
    let group = child.id();
    let ended = timeout(limit, feed(&mut child, input)).await;
    let outcome = match ended {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(status) => Err(io::Error::other(format!("it ended with {}", ending(status)))),
        Err(_elapsed) => {
            if let Some(group) = group {
                family::signal_group(group, Signal::KILL);
            }
            child.wait().await?;
            Err(too_slow(limit))
        }
    };
    if let Some(group) = group {
        strays::forget(group);
    }
    outcome
}

async fn feed(child: &mut Child, input: &str) -> io::Result<ExitStatus> {
    if let Some(mut stdin) = child.stdin.take() {
        match stdin.write_all(input.as_bytes()).await {
            // It need not read what it is given.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    child.wait().await
}

/// The program that shows notifications of the desktop, where there is one.
fn desktop_program() -> Option<PathBuf> {
    if cfg!(target_os = "macos") {
        return in_path("osascript");
    }
    let is_set = |name: &&str| env::var_os(name).is_some_and(|value| !value.is_empty());
    SESSION_VARIABLES.iter().any(is_set).then(|| in_path("notify-send"))?
}

fn in_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// The program and its arguments. Texts are arguments of their own, never parts of a script.
fn desktop_words(program: &Path, notification: &Notification) -> Vec<String> {
    let program = program.display().to_string();
    let title = notification.title();
    if cfg!(target_os = "macos") {
        let script = "display notification (item 2 of argv) with title (item 1 of argv)";
        let lines = ["-e", "on run argv", "-e", script, "-e", "end run"];
        let script = lines.into_iter().map(str::to_owned);
        [program].into_iter().chain(script).chain([title, notification.text()]).collect()
    } else {
        let text = without_markup(&notification.text());
        vec![program, "--app-name=Muster".to_owned(), "--".to_owned(), title, text]
    }
}

/// Desktops read a subset of HTML in the body.
fn without_markup(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use muster_core::Timestamp;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    use super::{Channels, DELIVERY_MAX, run, without_markup};
    use crate::notify::{Notification, NotifySettings, WaitingItem};

    fn notification() -> Notification {
        let item = WaitingItem {
            key: "one".to_owned(),
            kind: "question".to_owned(),
            title: "Which <colour>?".to_owned(),
            next: "answer it".to_owned(),
            detail: None,
            since: Timestamp(0).into(),
        };
        Notification { items: vec![item] }
    }

    fn words(script: &str) -> Vec<String> {
        ["sh", "-c", script].map(str::to_owned).into()
    }

    #[tokio::test]
    async fn command_and_webhook_get_the_same_message() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("heard");
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let heard = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = String::new();
            while !request.ends_with('}') {
                let mut piece = [0; 1024];
                let count = stream.read(&mut piece).await.unwrap();
                request.push_str(std::str::from_utf8(&piece[..count]).unwrap());
            }
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
            request
        });
        let settings = NotifySettings {
            command: words(&format!("cat > {}", file.display())),
            webhook: Some(url.parse().unwrap()),
            ..NotifySettings::default()
        };
        let mut channels = Channels::of(settings).unwrap();
        channels.deliver(&notification(), "http://127.0.0.1:1/attention").await;
        let request = heard.await.unwrap();
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("POST /hook HTTP/1.1\r\n"), "{head}");
        assert_eq!(fs::read_to_string(file).unwrap(), body);
        let message: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(message["items"][0]["title"], "Which <colour>?");
        assert_eq!((&message["count"], &message["event"]), (&1.into(), &"waiting".into()));
        let failing = [channels.command.unwrap().is_failing, channels.webhook.unwrap().is_failing];
        assert_eq!(failing, [false, false]);
    }

    #[tokio::test]
    async fn a_command_that_fails_or_is_missing_says_so() {
        let error = run(&words("exit 3"), "{}", DELIVERY_MAX).await.unwrap_err();
        assert_eq!(error.to_string(), "it ended with exit code 3");
        assert!(run(&["/no/such/program".to_owned()], "{}", DELIVERY_MAX).await.is_err());
        run(&words("exit 0"), &"x".repeat(1_000_000), DELIVERY_MAX)
            .await
            .expect("it need not read");
    }

    #[tokio::test]
    async fn a_command_that_hangs_is_killed_with_its_group() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("late");
        let hangs = words(&format!("(sleep 1; touch {}) & sleep 3600", file.display()));
        let error = run(&hangs, "{}", Duration::from_millis(300)).await.unwrap_err();
        assert_eq!(error.to_string(), "it took longer than 0.3 s");
        std::thread::sleep(Duration::from_millis(1_500));
        assert!(!file.exists());
    }

    #[test]
    fn markup_is_shown_as_text() {
        assert_eq!(without_markup("a <b> & c"), "a &lt;b&gt; &amp; c");
        let settings = NotifySettings::default();
        assert!(Channels::of(settings).is_none(), "nothing is set");
    }
}
