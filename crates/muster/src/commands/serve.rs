//! `muster serve`: the HTTP server with the page, REST and MCP.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    net::SocketAddr,
    num::NonZeroU32,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, bail};
use clap::Args;
use muster_api::{
    App, AppOptions, DatabaseUrl, Toolset,
    notify::NotifySettings,
    runs::{McpCommand, RunDriver, RunOptions, RunsSettings},
};
use muster_http::{
    AllowedHost, AllowedOrigin, Authentication, CtreeDisplay, HttpServer, InstallationPaths,
    ProxyNetwork, ServerOptions, ServerTransport, TlsFiles,
    limits::{ServerTimes, TokenLimits},
};
use tokio::runtime;

use super::{open::in_browser, setup::Agent};
use crate::{
    arguments::toolset_parser,
    config::{
        ALLOW_HOSTS, ALLOWED_ORIGINS, AUTH, BODY_BYTES, CLIENT_URL, CTREES_MAX_CHARS,
        PROOF_LOG_DAYS, REQUESTS_PER_SECOND, SERVER_ADDR, STORAGE_DIR, STREAMS, Settings, TLS_CERT,
        TLS_KEY, TOOLSET, TRUST_PROXY, forget_database, remember_database,
    },
    local_server::WrittenDown,
    notifications, output, run_settings,
    stop::StopRequest,
    storage::{self, StorePlace},
    watching,
};

/// How long calls whose clients left may take to end.
const CALLS_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a server may take to stop: its runs, requests and sockets have their own limits,
/// which add up to less.
pub(crate) const STOP_GRACE: Duration = Duration::from_secs(40);

/// Start the HTTP server: page, REST and MCP over HTTP
///
/// Listens only on this machine, and asks every client for the token that is stored in the storage
/// folder. It prints a link to the page that signs one browser in, once; `muster open` makes
/// another. Stop it with Ctrl-C: requests in progress finish first.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster serve                                    http://127.0.0.1:7717
  muster serve --open                             and open the page in your browser
  muster serve --addr 127.0.0.1:0                 take any free port
  muster serve --addr 0.0.0.0:7717 --allow-host muster.example.org \\
       --tls-cert cert.pem --tls-key key.pem      for other machines
  muster serve --addr 0.0.0.0:7717 --allow-host muster.example.org:443 \\
       --trust-proxy 10.0.0.2                     behind a proxy that does TLS
  curl -H \"Authorization: Bearer $(cat ~/.local/share/muster/token)\" \\
       http://127.0.0.1:7717/api/ops     ask the server something")]
pub(crate) struct Serve {
    #[arg(
        long,
        value_name = "ADDRESS",
        value_parser = address,
        help = SERVER_ADDR.row.flag_help(),
        long_help = SERVER_ADDR.row.flag_long_help()
    )]
    addr: Option<SocketAddr>,

    /// Open the page in your browser
    #[arg(long)]
    open: bool,

    /// Do not ask for a token; only on a loopback address [env: MUSTER_AUTH=0]
    #[arg(long)]
    no_auth: bool,

    /// Another name, or NAME:PORT, under which clients reach the server; can be repeated
    /// [env: MUSTER_ALLOW_HOSTS]
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<AllowedHost>,

    /// An origin whose pages may call the server from a browser, such as http://localhost:3000;
    /// can be repeated [env: MUSTER_ALLOWED_ORIGINS]
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<AllowedOrigin>,

    #[arg(
        long,
        value_name = "FILE",
        help = TLS_CERT.row.flag_help(),
        long_help = TLS_CERT.row.flag_long_help()
    )]
    tls_cert: Option<PathBuf>,

    #[arg(
        long,
        value_name = "FILE",
        help = TLS_KEY.row.flag_help(),
        long_help = TLS_KEY.row.flag_long_help()
    )]
    tls_key: Option<PathBuf>,

    /// A network, such as 10.0.0.0/8, of a proxy that does TLS in front of the server; other
    /// machines are refused; can be repeated [env: MUSTER_TRUST_PROXY]
    #[arg(long, value_name = "NETWORK")]
    trust_proxy: Vec<ProxyNetwork>,

    #[arg(
        long,
        value_name = "SET",
        help = TOOLSET.row.flag_help(),
        long_help = TOOLSET.row.flag_long_help(),
        value_parser = toolset_parser()
    )]
    toolset: Option<Toolset>,

    /// Seconds that the server may take to stop
    #[arg(long, hide = true, value_name = "SECONDS", default_value_t = STOP_GRACE.as_secs())]
    stop_grace: u64,

    /// Seconds for which a client may take nothing of a response
    #[arg(long, hide = true, value_name = "SECONDS")]
    write_stall: Option<u64>,

    /// Divides the times that the server waits for its clients; tests shorten them so
    #[arg(long, hide = true, value_name = "N", default_value = "1")]
    time_divisor: NonZeroU32,
}

/// Serves until a signal asks it to stop.
pub(crate) fn run(settings: &Settings, serve: Serve) -> anyhow::Result<ExitCode> {
    let place = storage::place(settings)?;
    let storage_dir = place.folder.clone();
    let runs = run_settings::read(&storage_dir)?;
    let app = Arc::new(App::open(AppOptions {
        storage_dir: storage_dir.clone(),
        database: place.database.clone(),
        toolset: settings.get_over(&TOOLSET, serve.toolset)?.value,
        // A server is for all directories, so the one it was started in does not count.
        default_workspace: settings.workspace(None)?.map(|set| set.value),
        keeps_house: true,
        ctree_max_chars: Some(settings.get(&CTREES_MAX_CHARS)?.value),
        proof_log_days: Some(settings.get(&PROOF_LOG_DAYS)?.value),
        runs: RunOptions::of(&runs.settings, runs.roots).into(),
        ..AppOptions::default()
    })?);
    let transport = transport(settings, &serve)?;
    remember(&place)?;
    let hosts = (!serve.allow_host.is_empty()).then_some(serve.allow_host);
    let origins = (!serve.allow_origin.is_empty()).then_some(serve.allow_origin);
    let mut times = ServerTimes::divided_by(serve.time_divisor.get());
    times.write_stall = serve.write_stall.map_or(times.write_stall, Duration::from_secs);
    let options = ServerOptions {
        address: settings.get_over(&SERVER_ADDR, serve.addr)?.value,
        authentication: if settings.get_over(&AUTH, serve.no_auth.then_some(false))?.value {
            Authentication::Token
        } else {
            Authentication::Off
        },
        transport,
        limits: token_limits(settings)?,
        allowed_hosts: settings.get_over(&ALLOW_HOSTS, hosts)?.value,
        allowed_origins: settings.get_over(&ALLOWED_ORIGINS, origins)?.value,
        installation: InstallationPaths {
            program: std::env::current_exe().unwrap_or_else(|_| "muster".into()),
            names_storage_dir: !storage::is_default(settings, &storage_dir),
            storage_dir,
        },
        ctrees: ctree_display(settings)?,
        descriptors_max: raise_descriptor_limit(),
        times,
    };
    let runtime = runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the event loop")?;
    let manner = ServingManner {
        grace: Duration::from_secs(serve.stop_grace),
        opens_page: serve.open,
        notify: notifications::settings(settings)?,
    };
    runtime.block_on(answer(app, options, runs.settings, manner))?;
    // Calls whose clients are gone may still be running; what they write is durable or absent.
    runtime.shutdown_timeout(CALLS_TIMEOUT);
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
}

/// How other machines reach the server.
fn transport(settings: &Settings, serve: &Serve) -> anyhow::Result<ServerTransport> {
    let file = |setting, given: &Option<PathBuf>| {
        let set = settings.get_over(setting, given.clone().map(Some))?.value;
        anyhow::Ok(set)
    };
    let certificate = file(&TLS_CERT, &serve.tls_cert)?;
    let key = file(&TLS_KEY, &serve.tls_key)?;
    let proxies = (!serve.trust_proxy.is_empty()).then(|| serve.trust_proxy.clone());
    let proxies = settings.get_over(&TRUST_PROXY, proxies)?.value;
    match (certificate, key) {
        (Some(_), Some(_)) if !proxies.is_empty() => {
            bail!("either the server does TLS or its proxy: leave --tls-cert or --trust-proxy out")
        }
        (Some(certificate), Some(key)) => Ok(ServerTransport::Tls(TlsFiles { certificate, key })),
        (Some(_), None) => bail!("--tls-cert needs the certificate's private key: --tls-key FILE"),
        (None, Some(_)) => bail!("--tls-key needs the key's certificate: --tls-cert FILE"),
        (None, None) if proxies.is_empty() => Ok(ServerTransport::Plain),
        (None, None) => Ok(ServerTransport::Proxy(proxies)),
    }
}

/// What each named token may use.
fn token_limits(settings: &Settings) -> anyhow::Result<TokenLimits> {
    let requests = settings.get(&REQUESTS_PER_SECOND)?.value;
    let streams = settings.get(&STREAMS)?.value;
    let body_bytes = settings.get(&BODY_BYTES)?.value;
    Ok(TokenLimits {
        requests_per_second: u32::try_from(requests).unwrap_or(u32::MAX),
        // A semaphore holds no more.
        streams: u32::try_from(streams).unwrap_or(u32::MAX),
        body_bytes: usize::try_from(body_bytes).unwrap_or(usize::MAX),
    })
}

/// Which parts of C-Trees the page shows (contract: none without the profile or a switch).
fn ctree_display(settings: &Settings) -> anyhow::Result<CtreeDisplay> {
    let gate = settings.gate()?;
    Ok(CtreeDisplay { summary: gate.summary_visible(), task_node: gate.task_node_visible() })
}

/// An address with its port.
fn address(text: &str) -> Result<SocketAddr, String> {
    let expected =
        "expected an address and a port, such as 127.0.0.1:7717; port 0 takes any free one";
    text.trim().parse().map_err(|_| expected.to_owned())
}

/// Raises the limit on open files and connections as far as the system permits, and returns the
/// new limit. Shells commonly start programs with a far lower one.
#[cfg(unix)]
pub(crate) fn raise_descriptor_limit() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let known = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: known.maximum, maximum: known.maximum };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => known.maximum,
        Err(error) => {
            tracing::warn!(%error, "could not raise the limit on open files");
            known.current
        }
    }
}

/// Raises the limit on open files and connections as far as the system permits.
#[cfg(not(unix))]
pub(crate) fn raise_descriptor_limit() -> Option<u64> {
    None
}

/// A listening server, and the runs that it drives.
pub(crate) struct Serving {
    /// The server; it responds once it runs.
    pub(crate) server: HttpServer,
    pub(crate) runs: RunDriver,
    /// Publishes the address for clients on this machine until it is dropped.
    pub(crate) written_down: Option<WrittenDown>,
}

/// Binds the address and resumes the stored runs.
pub(crate) async fn open(
    app: &Arc<App>,
    options: ServerOptions,
    mut runs: RunsSettings,
) -> anyhow::Result<Serving> {
    let storage_dir = options.installation.storage_dir.clone();
    let program = options.installation.program.clone();
    let server = HttpServer::bind(Arc::clone(app), options).await?;
    runs.mcp = Some(tools_for_agents(&server, &program, &storage_dir));
    let runs = RunDriver::start(app.engine_handle(), runs).await?;
    app.drive(runs.clone());
    let written_down = write_down(&server, &storage_dir);
    Ok(Serving { server, runs, written_down })
}

/// How the command serves.
struct ServingManner {
    /// How long it may take to stop.
    grace: Duration,
    opens_page: bool,
    notify: NotifySettings,
}

async fn answer(
    app: Arc<App>,
    options: ServerOptions,
    runs: RunsSettings,
    manner: ServingManner,
) -> anyhow::Result<()> {
    let installation = options.installation.clone();
    // Published before anything is printed: a reader of that line may connect at once.
    let Serving { server, runs, written_down: _written_down } = open(&app, options, runs).await?;
    // Installed before anything is printed: a reader of that line may send a signal at once.
    let mut stop = StopRequest::listen(manner.grace).context("cannot listen for signals")?;
    if server.token_file().is_none() {
        tracing::warn!("authentication is off: every program on this machine can use this server");
    }
    tokio::spawn(run_settings::follow(Arc::clone(&app), installation.storage_dir.clone()));
    output::print(&announcement(&server, &installation)?)?;
    tracing::info!(address = %server.address(), "listening");
    if manner.opens_page {
        // Another link than the printed one, which stays good for another browser.
        in_browser(&server.page_link()?)?;
    }
    let page = format!("{}/#/attention", server.base_url());
    let notifying = tokio::spawn(notifications::run(Arc::clone(&app), manner.notify, page));
    let watching = tokio::spawn(watching::run(Arc::clone(&app)));
    let checks = Arc::clone(app.checks());
    let stop = async move {
        stop.wait().await;
        notifying.abort();
        watching.abort();
        tracing::info!("stopping after the requests in progress; Ctrl-C again stops at once");
        // Before the streams end, so that their readers see how the runs end (RUNS-REC-4).
        runs.shut_down().await;
        if let Err(error) = tokio::task::spawn_blocking(move || checks.stop()).await {
            tracing::warn!(%error, "could not stop the checks");
        }
    };
    server.run(stop).await;
    Ok(())
}

/// Lets the commands and agents of this machine work on the same database.
fn remember(place: &StorePlace) -> anyhow::Result<()> {
    let remembered = match &place.database {
        DatabaseUrl::Sqlite(_) => forget_database(&place.folder),
        DatabaseUrl::Postgres(address) => remember_database(&place.folder, address.reveal()),
    };
    remembered.with_context(|| format!("cannot write to {}", place.folder.display()))
}

/// How agents of runs get Muster's tools. The driver that starts them adds what binds them to
/// their node (RUNS-TIE-3).
fn tools_for_agents(server: &HttpServer, program: &Path, storage_dir: &Path) -> McpCommand {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    McpCommand {
        command: text(program),
        args: ["mcp", "--toolset", "daily"].map(str::to_owned).into(),
        env: BTreeMap::from([
            (CLIENT_URL.row.variables[0].to_owned(), server.local_url()),
            (STORAGE_DIR.row.variables[0].to_owned(), text(storage_dir)),
        ]),
    }
}

fn write_down(server: &HttpServer, storage_dir: &Path) -> Option<WrittenDown> {
    let written = WrittenDown::write(storage_dir, &server.local_url());
    if let Err(error) = &written {
        tracing::warn!(%error, "could not publish the address; commands need MUSTER_URL");
    }
    written.ok()
}

/// Five lines: where it is, the way in, where the data is, the next step, where more is.
fn announcement(server: &HttpServer, installation: &InstallationPaths) -> anyhow::Result<String> {
    let mut text =
        format!("muster {} listens on {}\n", env!("CARGO_PKG_VERSION"), server.base_url());
    let link = server.page_link()?;
    let once = if server.token_file().is_some() { "  (works once)" } else { "" };
    writeln!(text, "  page   {link}{once}")?;
    writeln!(text, "  store  {}", installation.storage_dir.display())?;
    let flag = match installation.names_storage_dir {
        true => format!(" --storage-dir {}", installation.storage_dir.display()),
        false => String::new(),
    };
    match Agent::installed().first().map(|agent| agent.program()) {
        Some(agent) => writeln!(text, "  agent  muster setup {agent} --write{flag}")?,
        None => writeln!(text, "  agent  none was found here; `muster setup --help` lists them")?,
    }
    writeln!(text, "  more   muster --help, or About on the page; Ctrl-C stops the server")?;
    Ok(text)
}
