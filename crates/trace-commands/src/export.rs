//! `codex debug trace-export`: exports a bundle for another program.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use codex_engine_host::console::Console;
use codex_http::fetch;
use codex_regular_file::OutputFile;
use codex_rollout_trace::replay_bundle;
use codex_trace_view::{Contents, encode_otlp, write_atif, write_otlp, write_perfetto};

use crate::outcome::TraceOutcome;
use crate::output::write_output;
use crate::problems::{outcome_of, report_damage};
use crate::source::{UnpackArguments, open_source};

/// The time limit for sending.
const SEND_TIME: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ExportFormat {
    /// Chrome JSON trace events, for the Perfetto UI.
    Perfetto,
    /// OpenTelemetry spans after the conventions for generative AI, in JSON.
    OtlpJson,
    /// The same in the binary encoding, which most backends require.
    OtlpProtobuf,
    /// A trajectory in the Agent Trajectory Interchange Format, with all contents, for evaluation frameworks.
    Atif,
}

impl ExportFormat {
    fn file_name(self) -> &'static str {
        match self {
            Self::Perfetto => "perfetto.json",
            Self::OtlpJson => "otlp.json",
            Self::OtlpProtobuf => "otlp.binpb",
            Self::Atif => "trajectory.json",
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:\n  codex debug trace-export BUNDLE --format perfetto     to open at ui.perfetto.dev\n  \
codex debug trace-export BUNDLE --send http://localhost:6006    to a backend of OpenTelemetry\n\n\
Exit status: 0 written or sent, 1 not, 3 written or sent although the bundle is damaged.")]
pub struct TraceExportArguments {
    /// The bundle, a folder or a packed file; or a rollout, or the id of a thread.
    bundle: PathBuf,
    #[command(flatten)]
    unpack: UnpackArguments,
    /// The output format.
    #[arg(long, value_enum, required_unless_present = "send")]
    format: Option<ExportFormat>,
    /// The output file; by default `perfetto.json`, `otlp.json`, `otlp.binpb` or `trajectory.json` in the bundle.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Send the spans to this OTLP/HTTP address. `/v1/traces` is added if it has no path.
    #[arg(long, value_name = "URL", conflicts_with_all = ["format", "output"])]
    send: Option<String>,
    /// A header of the request, for example `authorization: Bearer TOKEN`.
    #[arg(long, value_name = "NAME: VALUE", requires = "send")]
    header: Vec<String>,
    /// Export the contents of messages and tool calls too.
    #[arg(long)]
    contents: bool,
}

pub(crate) fn run(
    arguments: TraceExportArguments,
    console: &mut Console<'_>,
) -> anyhow::Result<TraceOutcome> {
    let TraceExportArguments {
        bundle,
        unpack,
        format,
        output,
        send,
        header,
        contents,
    } = arguments;
    let contents = if contents {
        Contents::Include
    } else {
        Contents::Omit
    };
    let bundle = open_source(&bundle, unpack)?;
    let reduction = replay_bundle(bundle.folder())?;
    if let Some(url) = send {
        let spans = encode_otlp(&reduction, bundle.folder(), contents);
        codex_engine_host::runtime::here()?.block_on(send_spans(&url, &header, spans, console))?;
    } else if let Some(format) = format {
        let derived = || bundle.derived(format.file_name());
        let output = output.map_or_else(derived, OutputFile::named);
        write_output(console, &output, |out| match format {
            ExportFormat::Perfetto => write_perfetto(&reduction, out),
            ExportFormat::OtlpJson => write_otlp(&reduction, bundle.folder(), contents, out),
            ExportFormat::OtlpProtobuf => {
                out.write_all(&encode_otlp(&reduction, bundle.folder(), contents))
            }
            ExportFormat::Atif => write_atif(&reduction, out),
        })?;
    }
    report_damage(console, &reduction.problems, None);
    let is_damaged = reduction.problems.is_damaged();
    Ok(outcome_of(reduction, is_damaged))
}

/// Sends spans in the binary encoding.
async fn send_spans(
    url: &str,
    headers: &[String],
    spans: Vec<u8>,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    let url = traces_address(url)?;
    let http = codex_engine_host::resources::http_pool();
    let mut request = http.client(&url)?.post(&url);
    request = request.header("content-type", "application/x-protobuf");
    for header in headers {
        let (name, value) = header
            .split_once(':')
            .with_context(|| format!("`{header}` is no header: it has no colon"))?;
        request = request.header(name.trim(), value.trim());
    }
    let reply = fetch(request.body(spans), SEND_TIME).await;
    let reply = reply.with_context(|| format!("cannot send to {url}"))?;
    if !reply.is_success() {
        let text = String::from_utf8_lossy(&reply.body).into_owned();
        anyhow::bail!("{url} answers {} {}: {text}", reply.status, reply.reason);
    }
    console.answer(format_args!("sent to {url}"));
    Ok(())
}

/// The address for traces at an address without a path, as for OpenTelemetry's own exporters.
fn traces_address(url: &str) -> anyhow::Result<String> {
    let (_, place) = url
        .split_once("://")
        .filter(|(scheme, _)| ["http", "https"].contains(scheme))
        .with_context(|| {
            format!("`{url}` is no address of a server: it begins with http:// or https://")
        })?;
    Ok(match place.trim_end_matches('/') {
        host if host.contains('/') => url.to_owned(),
        _ => format!("{}/v1/traces", url.trim_end_matches('/')),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_added_where_there_is_none() {
        let address = |url| traces_address(url).unwrap();
        assert_eq!(
            address("http://localhost:4318"),
            "http://localhost:4318/v1/traces"
        );
        assert_eq!(
            address("http://localhost:4318/"),
            "http://localhost:4318/v1/traces"
        );
        assert_eq!(
            address("https://x.test/otlp/v1/traces"),
            "https://x.test/otlp/v1/traces"
        );
        assert!(traces_address("localhost:4318").is_err());
    }
}
