//! Writes generated protocol files to a folder.

mod archive;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use codex_regular_file::{LinkFreeFolder, NewFile};

use archive::Surfaces;
pub(crate) use archive::{JSON_SCHEMA, OPENRPC, TYPESCRIPT};

#[derive(Debug, Args)]
pub(crate) struct GenerateArguments {
    /// The output folder; created if it does not exist.
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    /// Include experimental parts, which clients must opt into.
    #[arg(long)]
    experimental: bool,
    /// The release of the clients: without the methods and members that came after it.
    #[arg(long = "for", value_name = "RELEASE")]
    release: Option<ClientRelease>,
}

/// A release whose vocabulary can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ClientRelease {
    #[value(name = "0.117")]
    V0_117,
}

pub(crate) fn run(arguments: &GenerateArguments, surfaces: &Surfaces) -> anyhow::Result<()> {
    let folder = match (arguments.release, arguments.experimental) {
        (None, false) => &surfaces.stable,
        (None, true) => &surfaces.experimental,
        (Some(ClientRelease::V0_117), false) => &surfaces.older_stable,
        (Some(ClientRelease::V0_117), true) => &surfaces.older_experimental,
    };
    let out = &arguments.out;
    fs::create_dir_all(out).with_context(|| format!("cannot make the folder {}", out.display()))?;
    let opened = LinkFreeFolder::open(out);
    let opened = opened.with_context(|| format!("cannot open the folder {}", out.display()))?;
    folder.for_each_file(|path, text| {
        let path = Path::new(path);
        let folder = path.parent().unwrap_or(Path::new(""));
        opened
            .make_folder(folder, NewFile::Usual)
            .and_then(|()| opened.replace(path, NewFile::Usual, |file| file.write_all(text)))
            .with_context(|| format!("cannot write {}", out.join(path).display()))
    })
}
