//! `codex debug trace-view`: writes an HTML page for a bundle.

use std::path::PathBuf;

use clap::Args;
use codex_engine_host::console::Console;
use codex_regular_file::OutputFile;
use codex_rollout_trace::replay_bundle;
use codex_trace_view::{ViewOptions, write_view};

use crate::follow::serve_page;
use crate::outcome::TraceOutcome;
use crate::output::write_output;
use crate::problems::{outcome_of, report_damage};
use crate::source::{UnpackArguments, open_source};

#[derive(Debug, Args)]
#[command(after_help = "\
A bundle is a folder `trace-...` below the one that CODEX_ROLLOUT_TRACE_ROOT named when the session \
ran. The path of the page is printed; open it in a browser.\n\n\
Example:\n  CODEX_ROLLOUT_TRACE_ROOT=traces codex exec \"Say hello.\"\n  \
codex debug trace-view traces/trace-*\n\n\
Exit status: 0 written, 1 not, 3 written although the bundle is damaged.")]
pub struct TraceViewArguments {
    /// The bundle, a folder or a packed file; or a rollout, or the id of a thread.
    bundle: PathBuf,
    #[command(flatten)]
    unpack: UnpackArguments,
    /// The output file; by default `view.html` in the bundle.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Serve the page on this machine while the session runs. BUNDLE may be a folder of bundles.
    #[arg(long, conflicts_with = "output")]
    follow: bool,
    /// What a million tokens of a model cost: new input, cached input, output. May be repeated.
    #[arg(long, value_name = "MODEL=IN,CACHED,OUT", value_parser = price)]
    price: Vec<(String, [f64; 3])>,
}

fn price(text: &str) -> Result<(String, [f64; 3]), String> {
    let wrong = || format!("`{text}` is not MODEL=IN,CACHED,OUT with three numbers");
    let (model, numbers) = text.rsplit_once('=').ok_or_else(wrong)?;
    let numbers: Result<Vec<f64>, _> = numbers.split(',').map(str::parse).collect();
    let numbers = numbers.ok().and_then(|numbers| numbers.try_into().ok());
    Ok((model.to_owned(), numbers.ok_or_else(wrong)?))
}

pub(crate) fn run(
    arguments: TraceViewArguments,
    console: &mut Console<'_>,
) -> anyhow::Result<TraceOutcome> {
    let TraceViewArguments {
        bundle,
        unpack,
        output,
        follow,
        price,
    } = arguments;
    let prices = price.into_iter().collect();
    if follow {
        return serve_page(&bundle, prices, console);
    }
    let bundle = open_source(&bundle, unpack)?;
    let options = ViewOptions {
        prices,
        ..ViewOptions::default()
    };
    let reduction = replay_bundle(bundle.folder())?;
    let derived = || bundle.derived("view.html");
    let output = output.map_or_else(derived, OutputFile::named);
    write_output(console, &output, |out| {
        write_view(&reduction, bundle.folder(), &options, out)
    })?;
    report_damage(console, &reduction.problems, None);
    let is_damaged = reduction.problems.is_damaged();
    Ok(outcome_of(reduction, is_damaged))
}
