//! Layer: surface. The `codex` binary: argument parsing and wiring, no behaviour of its own.

use clap::Parser;

/// The local engine behind AI coding assistants in IDEs.
#[derive(Debug, Parser)]
#[command(name = "codex", version)]
struct Arguments {}

fn main() -> anyhow::Result<()> {
    Arguments::parse();
    Ok(())
}
