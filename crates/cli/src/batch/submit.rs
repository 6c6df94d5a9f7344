//! `codex batch submit`.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, bail};
use clap::Args;
use codex_batch::{BatchFolder, ContainerJob, SlurmJob, kubernetes_job, slurm_script};
use codex_regular_file::{NewFile, OutputFile};

use crate::print::answer;

#[derive(Debug, Args)]
#[command(after_help = "\
The file is written into the run folder. Without --apply nothing is started. `sbatch` and `kubectl` are your own: their logins, \
clusters and contexts hold.")]
pub(super) struct SubmitArguments {
    /// The run folder.
    folder: PathBuf,
    /// An array job for Slurm, a task for each row.
    #[arg(long, required_unless_present = "kubernetes")]
    slurm: bool,
    /// An Indexed Job for Kubernetes, a pod for each row.
    #[arg(long, conflicts_with = "slurm")]
    kubernetes: bool,
    /// Hand it over.
    #[arg(long)]
    apply: bool,
    /// The most rows at once.
    #[arg(long, value_name = "NUMBER")]
    at_once: Option<usize>,
    /// Memory of a row, as the scheduler writes it.
    #[arg(long, value_name = "AMOUNT")]
    memory: Option<String>,
    /// Processors of a row.
    #[arg(long, value_name = "NUMBER")]
    cpus: Option<u32>,
    /// A setting of the workers. May be repeated.
    #[arg(long = "setting", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// The program on the nodes (Slurm).
    #[arg(long, value_name = "PATH")]
    program: Option<String>,
    /// The partition (Slurm).
    #[arg(long, value_name = "NAME")]
    partition: Option<String>,
    /// The time limit of a row (Slurm).
    #[arg(long, value_name = "TIME")]
    time: Option<String>,
    /// The name of the job (Kubernetes). That of the folder by default.
    #[arg(long)]
    name: Option<String>,
    /// The namespace (Kubernetes).
    #[arg(long)]
    namespace: Option<String>,
    /// The image, which has `codex` in its path (Kubernetes).
    #[arg(long, required_if_eq("kubernetes", "true"))]
    image: Option<String>,
    /// The claim of the volume with the run folder (Kubernetes).
    #[arg(long, value_name = "NAME", required_if_eq("kubernetes", "true"))]
    volume_claim: Option<String>,
    /// Where the volume is mounted (Kubernetes).
    #[arg(long, value_name = "PATH", default_value = "/batch")]
    mount_path: String,
    /// The run folder below that (Kubernetes). The name of the folder by default.
    #[arg(long, value_name = "PATH")]
    volume_folder: Option<String>,
    /// The secret with the key of the model (Kubernetes).
    #[arg(long, value_name = "VARIABLE=SECRET/KEY", value_parser = secret)]
    secret: Option<(String, String, String)>,
    /// How often a row may be tried again (Kubernetes).
    #[arg(long, value_name = "NUMBER", default_value_t = 2)]
    retries: u32,
}

fn secret(text: &str) -> Result<(String, String, String), String> {
    let parts = text.split_once('=').and_then(|(variable, place)| {
        let (name, key) = place.split_once('/')?;
        Some((variable.to_owned(), name.to_owned(), key.to_owned()))
    });
    let is_whole = |(variable, name, key): &(String, String, String)| {
        !variable.is_empty() && !name.is_empty() && !key.is_empty()
    };
    parts
        .filter(is_whole)
        .ok_or_else(|| "give VARIABLE=SECRET/KEY".to_owned())
}

pub(super) fn submit(arguments: &SubmitArguments) -> anyhow::Result<ExitCode> {
    let folder = BatchFolder::open(&arguments.folder)?;
    let settings = arguments.settings.iter();
    let settings: Vec<String> = settings
        .flat_map(|setting| ["-c".to_owned(), setting.clone()])
        .collect();
    if arguments.kubernetes {
        kubernetes(arguments, &folder, settings)
    } else {
        slurm(arguments, &folder, settings)
    }
}

fn slurm(
    arguments: &SubmitArguments,
    folder: &BatchFolder,
    settings: Vec<String>,
) -> anyhow::Result<ExitCode> {
    let program = match &arguments.program {
        Some(program) => program.clone(),
        None => {
            let here = std::env::current_exe().context("the path of this program is not known")?;
            here.display().to_string()
        }
    };
    let job = SlurmJob {
        program,
        arguments: settings,
        partition: arguments.partition.clone(),
        time: arguments.time.clone(),
        memory: arguments.memory.clone(),
        cpus: arguments.cpus,
        at_once: arguments.at_once,
    };
    let file = folder.path().join("slurm.sh");
    write(&file, &slurm_script(folder, &job))?;
    codex_private_files::create_dir_all(&folder.path().join("logs"))?;
    if !arguments.apply {
        answer(format!(
            "{}\nHand it over with `sbatch {0}`, or with --apply.",
            file.display()
        ));
        return Ok(ExitCode::SUCCESS);
    }
    let mut sbatch = Command::new("sbatch");
    let submitted = hand_over(sbatch.arg("--parsable").arg(&file), "sbatch")?;
    let id = submitted
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_owned();
    answer(format!(
        "Job {id}.\nWatch it:  squeue -j {id}    and    codex batch status {}\nCancel it: scancel {id}",
        folder.path().display()
    ));
    Ok(ExitCode::SUCCESS)
}

fn kubernetes(
    arguments: &SubmitArguments,
    folder: &BatchFolder,
    settings: Vec<String>,
) -> anyhow::Result<ExitCode> {
    let own_name = folder.path().file_name().unwrap_or_default();
    let own_name = own_name.to_string_lossy().into_owned();
    let job = ContainerJob {
        name: arguments.name.clone().unwrap_or_else(|| own_name.clone()),
        namespace: arguments.namespace.clone(),
        image: arguments.image.clone().unwrap_or_default(),
        arguments: settings,
        volume_claim: arguments.volume_claim.clone().unwrap_or_default(),
        mount_path: arguments.mount_path.clone(),
        folder: arguments.volume_folder.clone().unwrap_or(own_name),
        secret: arguments.secret.clone(),
        memory: arguments.memory.clone(),
        cpus: arguments.cpus.map(|cpus| cpus.to_string()),
        at_once: arguments.at_once,
        retries: arguments.retries,
    };
    let object = kubernetes_job(folder, &job);
    // JSON is YAML.
    let file = folder.path().join("kubernetes.yaml");
    write(&file, &(serde_json::to_string_pretty(&object)? + "\n"))?;
    if !arguments.apply {
        answer(format!(
            "{}\nHand it over with `kubectl apply -f {0}`, or with --apply.",
            file.display()
        ));
        return Ok(ExitCode::SUCCESS);
    }
    let mut kubectl = Command::new("kubectl");
    let said = hand_over(kubectl.arg("apply").arg("-f").arg(&file), "kubectl")?;
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let place = match &arguments.namespace {
        Some(namespace) => format!(" -n {namespace}"),
        None => String::new(),
    };
    answer(format!(
        "{}\nWatch it:  kubectl get job {name}{place} -w\nCancel it: kubectl delete job {name}{place}",
        said.trim()
    ));
    Ok(ExitCode::SUCCESS)
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    let output = OutputFile::derived(file);
    let written = output.write(NewFile::Private, |file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("cannot write {}", file.display()))
}

/// Runs a program of the scheduler, and returns what it says.
fn hand_over(command: &mut Command, name: &str) -> anyhow::Result<String> {
    let output = command.output().with_context(|| {
        format!("`{name}` cannot be started; the file is written, hand it over yourself")
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`{name}` refused it: {}", said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
