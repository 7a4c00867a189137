//! Where connections come in: the server's address, and a plain one on loopback for programs of
//! this machine where other machines need TLS.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use tokio::{
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};

use crate::{
    connection::Wire,
    guard::UrlScheme,
    proxy_network::ProxyNetwork,
    server::{ServerError, ServerTransport},
    tls::TlsIdentity,
};

/// Pause after a failed accept, for example when file descriptors run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The listening sockets.
pub(crate) struct ServerListeners {
    listener: TcpListener,
    pub(crate) address: SocketAddr,
    /// For programs of this machine, if they cannot use the other one.
    local: Option<TcpListener>,
    pub(crate) local_address: Option<SocketAddr>,
    tls: Option<Arc<TlsIdentity>>,
    /// From where a proxy may connect; everyone may if there are none.
    proxies: Vec<ProxyNetwork>,
}

/// Which way a connection came in.
pub(crate) enum ConnectionSecurity {
    Plain,
    Tls(Arc<TlsIdentity>),
}

impl ServerListeners {
    pub(crate) async fn open(
        asked: SocketAddr,
        transport: ServerTransport,
    ) -> Result<Self, ServerError> {
        let (tls, proxies) = match transport {
            ServerTransport::Plain => (None, Vec::new()),
            ServerTransport::Tls(files) => (Some(TlsIdentity::load(files)?), Vec::new()),
            ServerTransport::Proxy(networks) => (None, networks),
        };
        let (listener, address) = listen(asked).await?;
        let is_reached_locally = asked.ip().is_loopback() || asked.ip().is_unspecified();
        let (local, local_address) = if tls.is_some() || !is_reached_locally {
            let any_port = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
            let (listener, address) = listen(any_port).await?;
            (Some(listener), Some(address))
        } else {
            (None, None)
        };
        Ok(Self { listener, address, local, local_address, tls: tls.map(Arc::new), proxies })
    }

    /// How clients speak to the server's address.
    pub(crate) fn scheme(&self) -> UrlScheme {
        if self.tls.is_some() { UrlScheme::Https } else { UrlScheme::Http }
    }

    /// The next connection that is not refused by where it comes from.
    pub(crate) async fn accept(&self) -> (TcpStream, ConnectionSecurity) {
        loop {
            let (accepted, is_local) = tokio::select! {
                accepted = self.listener.accept() => (accepted, false),
                accepted = accept_local(self.local.as_ref()) => (accepted, true),
            };
            match accepted {
                Ok((stream, _)) if is_local => return (stream, ConnectionSecurity::Plain),
                Ok((stream, peer)) if self.admits(peer.ip()) => return (stream, self.security()),
                Ok((_, peer)) => {
                    tracing::info!(%peer, "refused a connection that is not of the proxy");
                }
                Err(error) => {
                    tracing::warn!(%error, "could not accept a connection");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn admits(&self, peer: IpAddr) -> bool {
        self.proxies.is_empty()
            || peer.to_canonical().is_loopback()
            || self.proxies.iter().any(|network| network.contains(peer))
    }

    fn security(&self) -> ConnectionSecurity {
        match &self.tls {
            Some(identity) => ConnectionSecurity::Tls(Arc::clone(identity)),
            None => ConnectionSecurity::Plain,
        }
    }
}

impl ConnectionSecurity {
    /// Does the handshake of TLS, within a time.
    pub(crate) async fn enter(self, stream: TcpStream, limit: Duration) -> Option<Wire> {
        let Self::Tls(identity) = self else { return Some(Wire::Plain(stream)) };
        match timeout(limit, identity.acceptor().accept(stream)).await {
            Ok(Ok(stream)) => Some(Wire::Tls(Box::new(stream))),
            Ok(Err(error)) => {
                tracing::debug!(%error, "a TLS handshake failed");
                None
            }
            Err(_) => {
                tracing::debug!("a TLS handshake took too long");
                None
            }
        }
    }
}

async fn accept_local(listener: Option<&TcpListener>) -> std::io::Result<(TcpStream, SocketAddr)> {
    match listener {
        Some(listener) => listener.accept().await,
        None => std::future::pending().await,
    }
}

async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ServerError> {
    let failed = |source| ServerError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}
