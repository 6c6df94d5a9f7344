//! Connections within the process, served as a listener serves those of the network.

use std::sync::Arc;
use std::time::Duration;

use codex_app_server::{AppServer, MESSAGE_LIMIT};
use codex_transport::{ConnectedClient, Limits, Lines, MessageHandler, Service};
use tokio::io::{BufReader, DuplexStream};

/// How long a client that has gone is still written to.
const LAST_MESSAGES: Duration = Duration::from_millis(400);

/// Connects a client. Each direction keeps so many bytes.
pub(crate) fn connect(server: &Arc<AppServer>, capacity: usize) -> DuplexStream {
    let (ours, theirs) = tokio::io::duplex(capacity);
    tokio::spawn(serve(Arc::clone(server), ours));
    theirs
}

async fn serve(server: Arc<AppServer>, stream: DuplexStream) {
    let (input, mut output) = tokio::io::split(stream);
    let ConnectedClient {
        id,
        mut session,
        outbox,
    } = Service::connect(Arc::clone(&server), Limits::ONE_OF_MANY);
    let reading = async {
        let mut lines = Lines::new(BufReader::new(input), MESSAGE_LIMIT);
        while let Ok(Some(line)) = lines.next_of_stream().await {
            session.take(line).await;
        }
    };
    let writing = async {
        tokio::select! {
            _ = outbox.write_to(&mut output) => {}
            () = outbox.until_cut_off() => {}
        }
    };
    tokio::pin!(writing);
    let is_written = tokio::select! {
        () = reading => false,
        () = &mut writing => true,
    };
    Service::disconnect(&*server, id).await;
    if !is_written {
        let _ = tokio::time::timeout(LAST_MESSAGES, writing).await;
    }
}
