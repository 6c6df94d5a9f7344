//! Counts the commands of a launcher that have not ended.

use tokio::sync::watch;

/// The number of running commands.
#[derive(Debug)]
pub(crate) struct RunningCommands(watch::Sender<usize>);

/// A command that counts until this is dropped.
#[derive(Debug)]
pub(crate) struct RunningCommand(watch::Sender<usize>);

impl RunningCommands {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(0))
    }

    pub(crate) fn add(&self) -> RunningCommand {
        self.0.send_modify(|count| *count += 1);
        RunningCommand(self.0.clone())
    }

    /// Waits until no command is left.
    pub(crate) async fn all_ended(&self) {
        // The sender exists as long as this does.
        self.0.subscribe().wait_for(|count| *count == 0).await.ok();
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}
