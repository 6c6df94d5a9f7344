//! `codex exec-server`: runs commands and reads and writes files of this machine, for an app-server elsewhere.

use anyhow::Context;
use clap::Args;
use codex_exec::Launcher;
use codex_exec_server::MachineServer;
use codex_transport::{Listener, serve_stdio};

use crate::listen_flags::{ListenFlags, ListenTransport};
use crate::print;

#[derive(Debug, Args)]
#[command(after_help = "\
A listener prints its address as one line on standard output. It serves whoever can reach it and has its token: \
on addresses that other machines reach, `--ws-auth` is required.\n\n\
Exit status: 0 it served to the end, 1 it could not, 2 wrong usage.")]
pub(crate) struct ExecServerArguments {
    #[command(flatten)]
    listen: ListenFlags,
    /// The number of requests of a connection that run at the same time.
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    concurrent_requests: u16,
    /// With a listener: end when the standard input is closed, for example because the program that started this one has
    /// ended.
    #[arg(long)]
    exit_on_stdin_close: bool,
}

pub(crate) fn run(arguments: ExecServerArguments) -> anyhow::Result<()> {
    let limit = arguments.listen.max_message_bytes();
    let (transport, auth) = arguments.listen.transport()?;
    let runtime = codex_engine_host::runtime::here()?;
    let served = runtime.block_on(async {
        let program = std::env::current_exe().context("the path of this program is not known")?;
        let concurrent = usize::from(arguments.concurrent_requests);
        let server = MachineServer::new(Launcher::of_this_program(), program, concurrent);
        let listen = match transport {
            ListenTransport::Stdio => return Ok(serve_stdio(server, limit).await?),
            ListenTransport::Listener(listen) => listen,
        };
        let listener = Listener::bind(&listen, auth, limit).await;
        let listener = listener.with_context(|| format!("cannot listen at {listen}"))?;
        announce(&listener, &listen.to_string())?;
        if !arguments.exit_on_stdin_close {
            listener.serve(server).await;
            return Ok(());
        }
        tokio::select! {
            () = listener.serve(server) => {}
            () = end_of_input() => {}
        }
        Ok(())
    });
    runtime.shutdown_background();
    served
}

/// Waits for the end of the standard input. What comes before it is nothing to this program.
async fn end_of_input() {
    // An input that cannot be read has ended as well.
    let _ = tokio::io::copy(&mut tokio::io::stdin(), &mut tokio::io::sink()).await;
}

/// Prints the address, with the port that was chosen.
fn announce(listener: &Listener, listen: &str) -> std::io::Result<()> {
    use std::io::Write as _;
    let mut out = print::output();
    match listener.tcp_address() {
        Some(address) => writeln!(out, "ws://{address}")?,
        None => writeln!(out, "{listen}")?,
    }
    out.flush()
}
