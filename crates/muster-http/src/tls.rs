//! TLS of the server: its certificate, read again when the files change.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        self, ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem, pem::PemObject as _},
    },
};

/// The protocol that connections are used for.
const HTTP_1: &[u8] = b"http/1.1";

/// Where the certificate and its key are, both as PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's certificate, followed by those that signed it.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {path}: {source}")]
    File { path: PathBuf, source: io::Error },
    /// A file is not PEM, or has nothing that is needed.
    #[error("{path} holds no {what} as PEM: {source}")]
    Pem {
        path: PathBuf,
        /// What was looked for.
        what: &'static str,
        source: pem::Error,
    },
    /// The certificate and the key do not belong together, or are of no known kind.
    #[error("cannot use the certificate of {path} with its key: {source}")]
    Unusable { path: PathBuf, source: rustls::Error },
}

/// What identifies the content of both files without reading them.
type FileStamps = [(SystemTime, u64); 2];

/// The certificate in use.
pub(crate) struct TlsIdentity {
    files: TlsFiles,
    loaded: Mutex<LoadedIdentity>,
}

struct LoadedIdentity {
    stamps: Option<FileStamps>,
    config: Arc<ServerConfig>,
}

impl TlsIdentity {
    /// Reads the files.
    pub(crate) fn load(files: TlsFiles) -> Result<Self, TlsError> {
        let stamps = stamps(&files).ok();
        let config = read(&files)?;
        Ok(Self { files, loaded: Mutex::new(LoadedIdentity { stamps, config }) })
    }

    /// Accepts connections with the certificate as it is now. New files that cannot be used change
    /// nothing, and are looked at once.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        // Only whole values are stored, so a poisoned lock is used as it is.
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        match stamps(&self.files) {
            Ok(found) if loaded.stamps == Some(found) => {}
            Ok(found) => {
                loaded.stamps = Some(found);
                match read(&self.files) {
                    Ok(config) => {
                        loaded.config = config;
                        tracing::info!("the certificate was read again");
                    }
                    Err(error) => {
                        tracing::warn!(%error, "the old certificate stays in use");
                    }
                }
            }
            // It is being replaced, or gone: the next connection looks again.
            Err(error) => tracing::debug!(%error, "could not look at the certificate"),
        }
        Arc::clone(&loaded.config).into()
    }
}

fn stamps(files: &TlsFiles) -> io::Result<FileStamps> {
    let stamp = |path: &Path| {
        let known = fs::metadata(path)?;
        io::Result::Ok((known.modified()?, known.len()))
    };
    Ok([stamp(&files.certificate)?, stamp(&files.key)?])
}

fn read(files: &TlsFiles) -> Result<Arc<ServerConfig>, TlsError> {
    let TlsFiles { certificate, key } = files;
    let bad_chain = |source| pem_error(certificate, "certificate", source);
    let text = read_file(certificate)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let chain = chain.map_err(bad_chain)?;
    if chain.is_empty() {
        return Err(bad_chain(pem::Error::NoItemsFound));
    }
    let secret = PrivateKeyDer::from_pem_slice(&read_file(key)?);
    let secret = secret.map_err(|source| pem_error(key, "private key", source))?;
    let unusable = |source| TlsError::Unusable { path: certificate.clone(), source };
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(unusable)?;
    let config = builder.with_no_client_auth().with_single_cert(chain, secret);
    let mut config = config.map_err(unusable)?;
    config.alpn_protocols = vec![HTTP_1.to_vec()];
    Ok(Arc::new(config))
}

fn read_file(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|source| TlsError::File { path: path.to_owned(), source })
}

fn pem_error(path: &Path, what: &'static str, source: pem::Error) -> TlsError {
    TlsError::Pem { path: path.to_owned(), what, source }
}
