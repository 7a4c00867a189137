//! The process's standard streams as asynchronous pipes or sockets.
//!
//! Clients in Python, Rust or a shell start servers on pipes; those in Node start them on socket
//! pairs. Both are driven by the reactor; anything else (a file, a terminal) falls back to blocking
//! threads.

use std::{
    fs::File,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::{fs::FileTypeExt, net::UnixStream},
    },
};

use crate::line::{LineSource, Sink};

/// Standard input and output, for use by one connection.
pub(crate) fn open() -> (LineSource, Sink) {
    if let Some(streams) = sockets() {
        return streams;
    }
    let (source, sink) = rmcp::transport::stdio_pipes();
    (Box::new(source), Box::new(sink))
}

/// Both streams, if both are sockets.
fn sockets() -> Option<(LineSource, Sink)> {
    let source = socket(std::io::stdin().as_fd())?;
    let sink = socket(std::io::stdout().as_fd())?;
    Some((Box::new(source), Box::new(sink)))
}

fn socket(stream: BorrowedFd<'_>) -> Option<tokio::net::UnixStream> {
    let owned = File::from(stream.try_clone_to_owned().ok()?);
    if !owned.metadata().ok()?.file_type().is_socket() {
        return None;
    }
    let socket = UnixStream::from(OwnedFd::from(owned));
    // An inet socket would be adopted as well, but has no unix address.
    socket.local_addr().ok()?;
    socket.set_nonblocking(true).ok()?;
    tokio::net::UnixStream::from_std(socket).ok()
}
