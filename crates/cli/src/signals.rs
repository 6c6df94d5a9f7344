//! The signals that end a server in good order.

/// Waits for one of them. A second one ends the process at once.
#[cfg(unix)]
pub(crate) async fn end() {
    use tokio::signal::unix::{SignalKind, signal};
    let listen = |kind| signal(kind).ok();
    let (mut terminate, mut interrupt) = (
        listen(SignalKind::terminate()),
        listen(SignalKind::interrupt()),
    );
    next(&mut terminate, &mut interrupt).await;
    tokio::spawn(async move {
        let code = next(&mut terminate, &mut interrupt).await;
        std::process::exit(code);
    });
}

/// The exit status of a process that this signal ended.
#[cfg(unix)]
async fn next(
    terminate: &mut Option<tokio::signal::unix::Signal>,
    interrupt: &mut Option<tokio::signal::unix::Signal>,
) -> i32 {
    async fn received(signal: &mut Option<tokio::signal::unix::Signal>) {
        let arrived = match signal {
            Some(signal) => signal.recv().await,
            None => None,
        };
        if arrived.is_none() {
            std::future::pending::<()>().await;
        }
    }
    tokio::select! {
        () = received(terminate) => 143,
        () = received(interrupt) => 130,
    }
}

#[cfg(not(unix))]
pub(crate) async fn end() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
