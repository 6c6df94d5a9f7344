//! Writes generated protocol files to a folder.
//!
//! They are made from the catalogue of the protocol, which `build.rs` packs into the program. The TypeScript of this program's own
//! surfaces is packed too, so that it need not be made again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use clap::Args;
use codex_app_server_protocol::export::{self, Catalogue, GeneratedFile, Request, Surface};
use codex_protocol::Release;
use codex_regular_file::{LinkFreeFolder, NewFile};

static CATALOGUE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/catalogue.zst"));
static STABLE_TYPESCRIPT: &[u8] =
    include_bytes!(concat!(env!("OUT_DIR"), "/typescript-stable.zst"));
static EXPERIMENTAL_TYPESCRIPT: &[u8] =
    include_bytes!(concat!(env!("OUT_DIR"), "/typescript-experimental.zst"));

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
    /// Format the files with this program, as Prettier is called: `PROGRAM --write FILES`.
    #[arg(short, long, value_name = "PROGRAM")]
    prettier: Option<PathBuf>,
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
    let common = &arguments.common;
    let out = OutputFolder::make(&common.out)?;
    let written = write_typescript(arguments, out)?;
    match &arguments.prettier {
        Some(program) => format_files(program, &written),
        None => Ok(()),
    }
}

/// Writes the files and returns their paths.
fn write_typescript(
    arguments: &TypeScriptArguments,
    out: OutputFolder<'_>,
) -> anyhow::Result<Vec<PathBuf>> {
    let common = &arguments.common;
    if let (None, None) = (common.release, &arguments.import_extension) {
        let packed = match common.surface() {
            Surface::Stable => STABLE_TYPESCRIPT,
            Surface::Experimental => EXPERIMENTAL_TYPESCRIPT,
        };
        return out.write_packed(packed);
    }
    let extension = arguments.import_extension.as_deref().unwrap_or_default();
    out.write_made(common, extension, export::typescript)
}

/// Lets a program format the files. What it says goes to standard error.
fn format_files(program: &Path, files: &[PathBuf]) -> anyhow::Result<()> {
    let mut command = Command::new(program);
    command.args(["--write", "--log-level", "warn"]).args(files);
    command.stdin(Stdio::null()).stdout(io::stderr());
    let named = program.display();
    let ended = command.status();
    let ended = ended.with_context(|| format!("cannot run {named}"))?;
    if !ended.success() {
        bail!("{named} did not format the files, which are written: it ended with {ended}");
    }
    Ok(())
}

pub(crate) fn run(arguments: &GenerateArguments, exporter: FileExporter) -> anyhow::Result<()> {
    let out = OutputFolder::make(&arguments.out)?;
    out.write_made(arguments, "", exporter).map(drop)
}

impl GenerateArguments {
    fn surface(&self) -> Surface {
        if self.experimental {
            Surface::Experimental
        } else {
            Surface::Stable
        }
    }
}

/// Says that what `build.rs` has packed cannot be read.
const DAMAGED_MESSAGE: &str =
    "the program is damaged: its description of the protocol cannot be read";

/// The folder for the files, and those below it that were made.
struct OutputFolder<'p> {
    path: &'p Path,
    opened: LinkFreeFolder,
    below: Vec<(PathBuf, LinkFreeFolder)>,
    /// The files.
    written: Vec<PathBuf>,
}

impl<'p> OutputFolder<'p> {
    fn make(path: &'p Path) -> anyhow::Result<Self> {
        let made = fs::create_dir_all(path);
        made.with_context(|| format!("cannot make the folder {}", path.display()))?;
        let opened = LinkFreeFolder::open(path);
        let opened =
            opened.with_context(|| format!("cannot open the folder {}", path.display()))?;
        Ok(Self {
            path,
            opened,
            below: Vec::new(),
            written: Vec::new(),
        })
    }

    /// Writes the files of a surface that `build.rs` has packed: paths and texts, each with a zero byte at its end.
    fn write_packed(mut self, packed: &[u8]) -> anyhow::Result<Vec<PathBuf>> {
        let texts = zstd::decode_all(packed).context(DAMAGED_MESSAGE)?;
        let texts = String::from_utf8(texts).context(DAMAGED_MESSAGE)?;
        let mut parts = texts.split_terminator('\0');
        while let (Some(path), Some(text)) = (parts.next(), parts.next()) {
            self.write(path, text)?;
        }
        Ok(self.written)
    }

    /// Makes the files from the catalogue and writes them.
    fn write_made(
        mut self,
        arguments: &GenerateArguments,
        import_extension: &str,
        exporter: FileExporter,
    ) -> anyhow::Result<Vec<PathBuf>> {
        let catalogue = zstd::decode_all(CATALOGUE).context(DAMAGED_MESSAGE)?;
        let catalogue = Catalogue::read(&catalogue).context(DAMAGED_MESSAGE)?;
        let release = arguments.release.unwrap_or(Release::OWN);
        let request = Request {
            import_extension,
            ..Request::of_release(arguments.surface(), release)
        };
        for GeneratedFile { path, text } in exporter(&catalogue, &request) {
            self.write(&path, &text)?;
        }
        Ok(self.written)
    }

    /// Writes a file. One that has this text already is left as it is.
    fn write(&mut self, path: &str, text: &str) -> anyhow::Result<()> {
        let path = Path::new(path);
        let folder = path.parent().unwrap_or(Path::new(""));
        let name = Path::new(path.file_name().unwrap_or_default());
        let written = self
            .below(folder)?
            .update(name, NewFile::Usual, text.as_bytes());
        let full = self.path.join(path);
        written.with_context(|| format!("cannot write {}", full.display()))?;
        self.written.push(full);
        Ok(())
    }

    /// A folder below, which is made the first time.
    fn below(&mut self, folder: &Path) -> anyhow::Result<&LinkFreeFolder> {
        let known = self.below.iter().position(|(path, _)| path == folder);
        let at = match known {
            Some(at) => at,
            None => {
                let made = self.opened.make_folder(folder, NewFile::Usual);
                let opened = made.and_then(|()| self.opened.folder(folder));
                let opened = opened
                    .with_context(|| format!("cannot make {}", self.path.join(folder).display()))?;
                self.below.push((folder.to_owned(), opened));
                self.below.len() - 1
            }
        };
        Ok(&self.below[at].1)
    }
}
