//! The listening socket: accepts connections, serves them, and shuts down in order.
//!
//! `axum::serve` has neither a header limit nor a header timeout and leaves Nagle's algorithm on,
//! so the accept loop is written here, on the same hyper.

use std::{
    convert::Infallible,
    io,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    Router,
    http::{HeaderValue, header},
    response::Response,
};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use muster_api::{App, CALL_BYTES_MAX};
use muster_mcp::HttpOptions;
use tokio::{
    net::TcpStream,
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    task::JoinSet,
    time::timeout,
};

use crate::{
    about::CtreeDisplay,
    capacity::Capacity,
    connect::InstallationPaths,
    connection::ClientStream,
    fault::Fault,
    guard::{
        AllowedHost, AllowedOrigin, CallerRole, Hosts, Identity, Keys, Quotas, RequestGuard,
        UrlScheme,
    },
    health::LastProbe,
    limits::{
        CALLS_MAX, HEADER_BYTES_MAX, REFUSAL_TIMEOUT, REFUSALS_MAX, ServerTimes, TokenLimits,
        WRITES_MAX,
    },
    listeners::{ConnectionSecurity, ServerListeners},
    mcp::McpEndpoints,
    person::PersonKeyError,
    proxy_network::ProxyNetwork,
    refusal::{HttpRefusal, RefusalKind},
    server_state::{ServerState, access_table, router},
    sessions,
    tls::{TlsError, TlsFiles},
    token::TokenError,
};

/// The configuration of a server.
pub struct ServerOptions {
    /// Where to listen; port 0 takes a free one.
    pub address: SocketAddr,
    /// Who may use the server.
    pub authentication: Authentication,
    /// How other machines reach it.
    pub transport: ServerTransport,
    /// Names besides the loopback ones under which clients reach the server.
    pub allowed_hosts: Vec<AllowedHost>,
    /// Origins of other pages that may call the server from a browser.
    pub allowed_origins: Vec<AllowedOrigin>,
    /// How agents reach this installation.
    pub installation: InstallationPaths,
    /// Which parts of C-Trees the page shows.
    pub ctrees: CtreeDisplay,
    /// Limit on open descriptors of this process, if any: clients beyond it
    /// are refused.
    pub descriptors_max: Option<u64>,
    /// How long it waits for its clients.
    pub times: ServerTimes,
    /// What each named token may use.
    pub limits: TokenLimits,
}

/// How other machines reach a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ServerTransport {
    /// Over plain HTTP, which is for this machine only.
    #[default]
    Plain,
    /// Over TLS. Programs of this machine have a plain address of their own.
    Tls(TlsFiles),
    /// Through a proxy in these networks that does TLS; others are refused.
    Proxy(Vec<ProxyNetwork>),
}

/// Who may use a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authentication {
    /// Clients with the token of the storage directory.
    Token,
    /// Everyone who can reach it; only on a loopback address.
    Off,
}

/// Why a server cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}{}", hint(.source))]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// Authentication can be turned off on loopback only.
    #[error("{0} can be reached from other machines: remove --no-auth, or listen on 127.0.0.1")]
    OpenToOthers(SocketAddr),
    /// A server for other machines needs a name.
    #[error(
        "{0} can be reached from other machines: set their name for it with --allow-host NAME, \
         or listen on 127.0.0.1"
    )]
    NamelessToOthers(SocketAddr),
    /// Tokens would be sent in the clear.
    #[error(
        "{0} can be reached from other machines, and plain HTTP shows the tokens to everyone on \
         the way: set a certificate with --tls-cert FILE --tls-key FILE, or name the proxy that \
         does TLS with --trust-proxy NETWORK, or listen on 127.0.0.1"
    )]
    PlainToOthers(SocketAddr),
    /// The certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The token cannot be used.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The person's key cannot be used.
    #[error(transparent)]
    PersonKey(#[from] PersonKeyError),
    /// The system returned no random bytes.
    #[error("the system returned no random bytes: {0}")]
    Randomness(#[from] getrandom::Error),
}

fn hint(error: &io::Error) -> &'static str {
    let hints = [
        (
            io::ErrorKind::AddrInUse,
            " (is another muster running? --addr 127.0.0.1:0 takes a free port)",
        ),
        (
            io::ErrorKind::PermissionDenied,
            " (try a port above 1023, such as --addr 127.0.0.1:7717)",
        ),
    ];
    hints.iter().find(|(kind, _)| *kind == error.kind()).map_or("", |(_, hint)| hint)
}

/// A server that listens but does not respond yet.
pub struct HttpServer {
    listeners: ServerListeners,
    site: Arc<ServerState>,
    mcp: McpEndpoints,
    capacity: Capacity,
}

impl HttpServer {
    /// Binds the address and prepares everything; call [`HttpServer::run`] to serve.
    pub async fn bind(app: Arc<App>, options: ServerOptions) -> Result<Self, ServerError> {
        let asked = options.address;
        if !asked.ip().is_loopback() {
            if options.authentication == Authentication::Off {
                return Err(ServerError::OpenToOthers(asked));
            }
            if options.allowed_hosts.is_empty() {
                return Err(ServerError::NamelessToOthers(asked));
            }
            if options.transport == ServerTransport::Plain {
                return Err(ServerError::PlainToOthers(asked));
            }
        }
        let keys = match options.authentication {
            Authentication::Token => Some(Keys::of(&options.installation.storage_dir)?),
            Authentication::Off => None,
        };
        let listeners = ServerListeners::open(asked, options.transport).await?;
        let address = listeners.address;
        let scheme = listeners.scheme();
        let hosts = Hosts::new(address, scheme, &options.allowed_hosts);
        let hosts = hosts.also_on_loopback(listeners.local_address);
        let gate = Arc::new(RequestGuard {
            hosts: hosts.open_to(options.allowed_origins),
            keys,
            access: access_table(),
            source: Box::new(Arc::clone(&app)),
            quotas: Quotas::new(options.limits),
            body_timeout: options.times.body,
        });
        let mcp = McpEndpoints::new(
            Arc::clone(&app),
            HttpOptions {
                allowed_hosts: gate.hosts.names().to_vec(),
                allowed_origins: gate.hosts.origins(),
                request_bytes_max: CALL_BYTES_MAX,
            },
        );
        let started_at = app.now();
        let capacity = Capacity::within(options.descriptors_max);
        let site = ServerState {
            app,
            gate,
            base_url: base_url(address, scheme, &options.allowed_hosts),
            installation: options.installation,
            ctrees: options.ctrees,
            times: options.times,
            started: Instant::now(),
            started_at,
            last_probe: LastProbe::default(),
            streams: watch::Sender::new(false),
            calls: Semaphore::new(CALLS_MAX),
            writes: Semaphore::new(WRITES_MAX),
            sockets: Arc::new(Semaphore::new(capacity.sockets as usize)),
        };
        Ok(Self { listeners, site: Arc::new(site), mcp, capacity })
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.listeners.address
    }

    /// Where programs of this machine reach it, without a trailing slash.
    pub fn local_url(&self) -> String {
        let address = self.listeners.local_address.unwrap_or(self.listeners.address);
        match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => format!("http://127.0.0.1:{}", address.port()),
            IpAddr::V6(ip) if ip.is_unspecified() => format!("http://[::1]:{}", address.port()),
            IpAddr::V4(_) | IpAddr::V6(_) => format!("http://{address}"),
        }
    }

    /// The address as a URL for clients on this machine, without a trailing slash.
    pub fn base_url(&self) -> &str {
        &self.site.base_url
    }

    /// The token's file, if a token is needed.
    pub fn token_file(&self) -> Option<PathBuf> {
        let needed = self.site.gate.keys.is_some();
        needed.then(|| self.site.installation.token_file().into())
    }

    /// A link to the page that signs one browser in, once.
    pub fn page_link(&self) -> Result<String, ServerError> {
        Ok(self.site.page_link(Identity::Local(CallerRole::Person))?)
    }

    /// Serves until `stop` resolves, then lets requests in progress finish, within a limit.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let mcp = self.mcp;
        let listeners = self.listeners;
        let site = Arc::clone(&self.site);
        let times = site.times;
        tokio::spawn(sessions::watch_leases(Arc::clone(&site)));
        let router = router(self.site, mcp.clone());
        let (stopping, stopped) = watch::channel(());
        let places = Arc::new(Semaphore::new(self.capacity.connections));
        let refusals = Arc::new(Semaphore::new(REFUSALS_MAX));
        let mut connections = JoinSet::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            while connections.try_join_next().is_some() {}
            let (stream, security) = tokio::select! {
                () = &mut stop => break,
                accepted = listeners.accept() => accepted,
            };
            if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
                set_nodelay(&stream);
                let served = serve(stream, security, router.clone(), stopped.clone(), times);
                connections.spawn(async move {
                    served.await;
                    drop(place);
                });
            } else if let (Ok(place), ConnectionSecurity::Plain) =
                (Arc::clone(&refusals).try_acquire_owned(), &security)
            {
                connections.spawn(refuse(stream, place));
            }
        }
        drop(listeners);
        drop(stopping);
        // Streams that wait for events would otherwise hold their connections until the limit.
        mcp.shut_down();
        site.streams.send_replace(true);
        drain(connections, times.drain).await;
        // Sockets have left their connections; each has a last word to say.
        let sockets = site.sockets.acquire_many(self.capacity.sockets);
        if timeout(times.drain, sockets).await.is_err() {
            tracing::warn!("WebSockets did not end in time");
        }
    }
}

/// Small responses must not wait for the acknowledgement of earlier ones.
fn set_nodelay(stream: &TcpStream) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "could not set TCP_NODELAY");
    }
}

/// Serves one connection until it ends or the server stops.
async fn serve(
    stream: TcpStream,
    security: ConnectionSecurity,
    router: Router,
    mut stopped: watch::Receiver<()>,
    times: ServerTimes,
) {
    let Some(wire) = security.enter(stream, times.header).await else { return };
    let stream = ClientStream::new(wire, times.write_stall);
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(times.header);
    builder.max_header_size(HEADER_BYTES_MAX);
    let service = TowerToHyperService::new(router);
    let connection = builder.serve_connection(TokioIo::new(stream), service).with_upgrades();
    let mut connection = std::pin::pin!(connection);
    let outcome = tokio::select! {
        outcome = connection.as_mut() => outcome,
        // The sender is only ever dropped: that is the signal.
        _ = stopped.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = outcome {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Refuses the first request of a client beyond the limit, whatever it asks for.
async fn refuse(stream: TcpStream, place: OwnedSemaphorePermit) {
    let service = service_fn(|request: hyper::Request<Incoming>| {
        std::future::ready(Ok::<_, Infallible>(too_many_connections(request.uri().path())))
    });
    let refused = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    match timeout(REFUSAL_TIMEOUT, refused).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a client left before it was refused"),
        Err(_) => tracing::debug!("a client beyond the limit sent no request"),
    }
    drop(place);
}

fn too_many_connections(path: &str) -> Response {
    let message = "too many connections are open";
    let recovery = "close some, or try again";
    let refusal = HttpRefusal::new(RefusalKind::TooManyConnections, message, recovery);
    let mut response = Fault::from(refusal).render(path);
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Waits for the connections to end, and ends those that do not.
async fn drain(mut connections: JoinSet<()>, limit: Duration) {
    let all_ended = async { while connections.join_next().await.is_some() {} };
    if timeout(limit, all_ended).await.is_err() {
        tracing::warn!(left = connections.len(), "connections did not end in time; closing them");
        connections.shutdown().await;
    }
}

/// The URL that clients use: the address itself on loopback, the allowed name elsewhere.
fn base_url(address: SocketAddr, scheme: UrlScheme, allowed: &[AllowedHost]) -> String {
    match allowed.first() {
        Some(host) if !address.ip().is_loopback() => host.url(scheme, address.port()),
        _ => format!("{}://{address}", scheme.name()),
    }
}
