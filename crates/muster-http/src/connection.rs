//! One client's connection, plain or with TLS, with a limit on how long it may not read what is
//! sent to it.
//!
//! Without the limit a client that never reads would hold its place, its descriptor and its
//! response forever, and enough of them would make the server unreachable.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep, sleep},
};
use tokio_rustls::server::TlsStream;

/// The bytes of a connection.
pub(crate) enum Wire {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// A connection whose writes fail once the client has read nothing for a while.
pub(crate) struct ClientStream {
    stream: Wire,
    stall_max: Duration,
    /// Runs while a write waits; allocated when the first one does.
    stall: Option<Pin<Box<Sleep>>>,
    waiting: bool,
}

impl ClientStream {
    /// Limits the time that a write may wait for the client.
    pub(crate) fn new(stream: Wire, stall_max: Duration) -> Self {
        Self { stream, stall_max, stall: None, waiting: false }
    }

    /// The bare connection, for code with its own limits.
    pub(crate) fn into_inner(self) -> Wire {
        self.stream
    }

    fn bounded<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waiting = false;
            return written;
        }
        let deadline = Instant::now() + self.stall_max;
        let stall = self.stall.get_or_insert_with(|| Box::pin(sleep(self.stall_max)));
        if !self.waiting {
            self.waiting = true;
            stall.as_mut().reset(deadline);
        }
        ready!(stall.as_mut().poll(context));
        let seconds = self.stall_max.as_secs();
        let cause = format!("the client read nothing for {seconds} seconds");
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, cause)))
    }
}

/// Calls a method of the connection that a wire has.
macro_rules! of_wire {
    ($wire:expr, $method:ident($($argument:expr),*)) => {
        match $wire.get_mut() {
            Wire::Plain(stream) => Pin::new(stream).$method($($argument),*),
            Wire::Tls(stream) => Pin::new(&mut **stream).$method($($argument),*),
        }
    };
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        of_wire!(self, poll_read(context, buffer))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        of_wire!(self, poll_write(context, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        of_wire!(self, poll_write_vectored(context, pieces))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        of_wire!(self, poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        of_wire!(self, poll_shutdown(context))
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.bounded(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.bounded(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::{io, time::Duration};

    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::{TcpListener, TcpStream},
    };

    use super::{ClientStream, Wire};

    const STALL: Duration = Duration::from_millis(50);

    async fn pair() -> (ClientStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        (ClientStream::new(Wire::Plain(stream), STALL), client)
    }

    #[tokio::test]
    async fn a_client_that_reads_nothing_ends_the_write() {
        let (mut stream, _client) = pair().await;
        let error = stream.write_all(&vec![0; 64 * 1024 * 1024]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn a_slow_client_that_goes_on_reading_gets_everything() {
        let (mut stream, mut client) = pair().await;
        let bytes = 16 * 1024 * 1024;
        let reader = tokio::spawn(async move {
            let mut read = 0;
            let mut buffer = vec![0; 1024 * 1024];
            while read < bytes {
                read += client.read(&mut buffer).await.unwrap();
                tokio::time::sleep(STALL / 10).await;
            }
        });
        stream.write_all(&vec![0; bytes]).await.unwrap();
        reader.await.unwrap();
    }
}
