//! A connection to a server, plain or with TLS.

use std::{
    fs,
    io::{self, Read, Write},
    net::TcpStream,
    path::Path,
    sync::Arc,
};

use anyhow::{Context as _, bail};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};

/// How to speak TLS with one server.
pub(super) struct TlsClient {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

/// A connection.
pub(super) enum ServerLink {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl TlsClient {
    /// For a host, whose certificate has to come from one of the authorities of a file, or of the
    /// system if no file is named.
    pub(super) fn of(host: &str, authorities: Option<&Path>) -> anyhow::Result<Self> {
        let name = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(name);
        let name = name.with_context(|| format!("{host:?} is not the name of a host"))?;
        let roots = match authorities {
            Some(file) => given(file)?,
            None => of_system()?,
        };
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions()?;
        let config = builder.with_root_certificates(roots).with_no_client_auth();
        Ok(Self { config: Arc::new(config), name })
    }

    /// Speaks TLS on a connection; the handshake happens with the first bytes.
    pub(super) fn over(&self, stream: TcpStream) -> io::Result<ServerLink> {
        let connection = ClientConnection::new(Arc::clone(&self.config), self.name.clone());
        let connection = connection.map_err(io::Error::other)?;
        Ok(ServerLink::Tls(Box::new(StreamOwned::new(connection, stream))))
    }
}

fn given(file: &Path) -> anyhow::Result<RootCertStore> {
    let text = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let certificate = certificate
            .with_context(|| format!("{} holds no certificate as PEM", file.display()))?;
        roots.add(certificate)?;
    }
    if roots.is_empty() {
        bail!("{} holds no certificate as PEM", file.display());
    }
    Ok(roots)
}

fn of_system() -> anyhow::Result<RootCertStore> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (added, _ignored) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        bail!("this system has no certificates of authorities: name a file with MUSTER_CA");
    }
    Ok(roots)
}

impl Read for ServerLink {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for ServerLink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}
