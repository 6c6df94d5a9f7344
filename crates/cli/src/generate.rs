//! Writes generated protocol files to a folder.
//!
//! They are made from the catalogue of the protocol, which `build.rs` packs into the program.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use codex_app_server_protocol::export::{self, Catalogue, GeneratedFile, Request, Surface};
use codex_protocol::Release;
use codex_regular_file::{LinkFreeFolder, NewFile};

static CATALOGUE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/catalogue.zst"));

/// An exporter.
pub(crate) type FileExporter = fn(&Catalogue, &Request<'_>) -> Vec<GeneratedFile>;

#[derive(Debug, Args)]
pub(crate) struct GenerateArguments {
    /// The output folder; created if it does not exist.
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    /// Include experimental parts, which clients must opt into.
    #[arg(long)]
    experimental: bool,
    /// The release of the clients, 0.117 to 0.171: what that release has, as it describes it.
    #[arg(long = "for", value_name = "RELEASE", value_parser = read_release)]
    release: Option<Release>,
}

#[derive(Debug, Args)]
pub(crate) struct TypeScriptArguments {
    #[command(flatten)]
    common: GenerateArguments,
    /// What imports end with, for example `js`, as Node.js resolves them; nothing by default.
    #[arg(long, value_name = "EXTENSION", value_parser = read_extension)]
    import_extension: Option<String>,
}

fn read_release(text: &str) -> Result<Release, String> {
    let known = Release::FIRST..=Release::NEWEST;
    Release::parse(text)
        .filter(|release| known.contains(release))
        .ok_or_else(|| format!("not a release from {} to {}", known.start(), known.end()))
}

fn read_extension(text: &str) -> Result<String, String> {
    let name = text.strip_prefix('.').unwrap_or(text);
    if ["js", "ts", "mjs", "mts", "cjs", "cts"].contains(&name) {
        Ok(format!(".{name}"))
    } else {
        Err("expected js, ts, mjs, mts, cjs or cts".to_owned())
    }
}

pub(crate) fn run_typescript(arguments: &TypeScriptArguments) -> anyhow::Result<()> {
    let extension = arguments.import_extension.as_deref().unwrap_or_default();
    write(&arguments.common, extension, export::typescript)
}

pub(crate) fn run(arguments: &GenerateArguments, exporter: FileExporter) -> anyhow::Result<()> {
    write(arguments, "", exporter)
}

fn write(
    arguments: &GenerateArguments,
    import_extension: &str,
    exporter: FileExporter,
) -> anyhow::Result<()> {
    let out = &arguments.out;
    fs::create_dir_all(out).with_context(|| format!("cannot make the folder {}", out.display()))?;
    let opened = LinkFreeFolder::open(out);
    let opened = opened.with_context(|| format!("cannot open the folder {}", out.display()))?;

    const DAMAGED: &str = "the program is damaged: its description of the protocol cannot be read";
    let catalogue = zstd::decode_all(CATALOGUE).context(DAMAGED)?;
    let catalogue = Catalogue::read(&catalogue).context(DAMAGED)?;
    let surface = if arguments.experimental {
        Surface::Experimental
    } else {
        Surface::Stable
    };
    let request = Request {
        import_extension,
        ..Request::of_release(surface, arguments.release.unwrap_or(Release::OWN))
    };
    let mut made = Vec::new();
    for file in exporter(&catalogue, &request) {
        let path = Path::new(&file.path);
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        if !made.contains(&folder) {
            let result = opened.make_folder(&folder, NewFile::Usual);
            result.with_context(|| format!("cannot make {}", out.join(&folder).display()))?;
            made.push(folder);
        }
        opened
            .replace(path, NewFile::Usual, |to| {
                to.write_all(file.text.as_bytes())
            })
            .with_context(|| format!("cannot write {}", out.join(path).display()))?;
    }
    Ok(())
}
