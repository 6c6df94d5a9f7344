//! Writes generated protocol files to a folder.

mod archive;

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

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
    let mut created = HashSet::new();
    folder.for_each_file(|path, text| {
        let path = arguments.out.join(path);
        if let Some(folder) = path.parent()
            && created.insert(folder.to_owned())
        {
            fs::create_dir_all(folder)
                .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        }
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    })
}
