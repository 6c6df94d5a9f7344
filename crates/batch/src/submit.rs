//! What schedulers take: an array job for Slurm, an Indexed Job for Kubernetes. Each task works on the row of its number.

use std::fmt::Write;
use std::path::Path;

use codex_shell_command::quote_command;
use serde_json::{Value, json};

use crate::folder::BatchFolder;

/// An array job.
#[derive(Clone, Debug, Default)]
pub struct SlurmJob {
    /// The program, as the nodes find it.
    pub program: String,
    /// Arguments before `batch`.
    pub arguments: Vec<String>,
    pub partition: Option<String>,
    pub time: Option<String>,
    pub memory: Option<String>,
    pub cpus: Option<u32>,
    /// The most tasks at once.
    pub at_once: Option<usize>,
}

/// An Indexed Job.
#[derive(Clone, Debug, Default)]
pub struct ContainerJob {
    pub name: String,
    pub namespace: Option<String>,
    pub image: String,
    /// Arguments before `batch`.
    pub arguments: Vec<String>,
    /// The claim of the volume with the run folder.
    pub volume_claim: String,
    /// Where the volume is mounted.
    pub mount_path: String,
    /// The run folder below that.
    pub folder: String,
    /// The secret with the key of the model, as `NAME/KEY`, and the variable that gets it.
    pub secret: Option<(String, String, String)>,
    pub memory: Option<String>,
    pub cpus: Option<String>,
    pub at_once: Option<usize>,
    /// How often a row may be tried.
    pub retries: u32,
}

/// The script that `sbatch` takes.
#[must_use]
pub fn slurm_script(folder: &BatchFolder, job: &SlurmJob) -> String {
    let path = folder.path();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let last = folder.rows.len().saturating_sub(1);
    let at_once = job
        .at_once
        .map(|most| format!("%{most}"))
        .unwrap_or_default();
    let mut script = format!(
        "#!/bin/bash\n#SBATCH --job-name={}\n#SBATCH --array=0-{last}{at_once}\n#SBATCH --requeue\n",
        plain_name(&name)
    );
    // The file names of Slurm have no quotes.
    let _ = writeln!(
        script,
        "#SBATCH --output={}",
        path.join("logs").join("%a.log").display()
    );
    let options = [
        ("partition", job.partition.clone()),
        ("time", job.time.clone()),
        ("mem", job.memory.clone()),
        ("cpus-per-task", job.cpus.map(|cpus| cpus.to_string())),
    ];
    for (name, value) in options {
        if let Some(value) = value {
            let _ = writeln!(script, "#SBATCH --{name}={}", one_line(&value));
        }
    }
    let mut words = vec![job.program.clone()];
    words.extend(job.arguments.iter().cloned());
    words.extend(["batch".to_owned(), "run".to_owned()]);
    words.push(path.display().to_string());
    let command = quote_command(&words);
    let _ = writeln!(script, "\nexec {command} --index \"$SLURM_ARRAY_TASK_ID\"");
    script
}

/// The object that `kubectl` takes, as JSON, which is YAML too.
#[must_use]
pub fn kubernetes_job(folder: &BatchFolder, job: &ContainerJob) -> Value {
    let rows = folder.rows.len();
    let run = Path::new(&job.mount_path).join(&job.folder);
    let mut arguments = job.arguments.clone();
    arguments.extend([
        "batch".to_owned(),
        "run".to_owned(),
        run.display().to_string(),
        "--index".to_owned(),
        "$(JOB_COMPLETION_INDEX)".to_owned(),
    ]);
    let mut container = json!({
        "name": "codex",
        "image": job.image,
        "command": ["codex"],
        "args": arguments,
        "volumeMounts": [{ "name": "batch", "mountPath": job.mount_path }],
    });
    if let Some((variable, name, key)) = &job.secret {
        container["env"] = json!([{
            "name": variable,
            "valueFrom": { "secretKeyRef": { "name": name, "key": key } },
        }]);
    }
    let limits: serde_json::Map<String, Value> = [("memory", &job.memory), ("cpu", &job.cpus)]
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), json!(value.as_ref()?))))
        .collect();
    if !limits.is_empty() {
        container["resources"] = json!({ "limits": limits, "requests": limits });
    }
    let mut metadata = json!({
        "name": plain_name(&job.name),
        "labels": { "app.kubernetes.io/name": "codex-batch" },
    });
    if let Some(namespace) = &job.namespace {
        metadata["namespace"] = json!(namespace);
    }
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {
            "completionMode": "Indexed",
            "completions": rows,
            "parallelism": job.at_once.unwrap_or(rows).min(rows),
            "backoffLimitPerIndex": job.retries,
            "maxFailedIndexes": rows,
            "template": { "spec": {
                "restartPolicy": "Never",
                "containers": [container],
                "volumes": [{
                    "name": "batch",
                    "persistentVolumeClaim": { "claimName": job.volume_claim },
                }],
            } },
        },
    })
}

/// A name that schedulers take.
fn plain_name(name: &str) -> String {
    let plain: String = (name.chars())
        .map(|letter| match letter.to_ascii_lowercase() {
            letter if letter.is_ascii_alphanumeric() => letter,
            _ => '-',
        })
        .collect();
    let plain = plain.trim_matches('-');
    match plain {
        "" => "codex-batch".to_owned(),
        plain => plain.chars().take(52).collect(),
    }
}

fn one_line(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::BatchSettings;
    use crate::tasks::BatchRow;

    fn folder(path: &Path) -> BatchFolder {
        let rows = vec![BatchRow::default(); 200];
        BatchFolder::create(path, BatchSettings::default(), rows).unwrap()
    }

    #[test]
    fn slurm_array_has_task_per_row() {
        let home = tempfile::tempdir().unwrap();
        let folder = folder(&home.path().join("it's mine"));
        let script = slurm_script(
            &folder,
            &SlurmJob {
                program: "/opt/a b/codex".to_owned(),
                partition: Some("gpu\n#SBATCH --uid=0".to_owned()),
                at_once: Some(8),
                ..SlurmJob::default()
            },
        );
        assert!(script.contains("\n#SBATCH --array=0-199%8\n"), "{script}");
        assert!(script.contains("\n#SBATCH --job-name=it-s-mine\n"));
        assert!(!script.contains("\n#SBATCH --uid"));
        let run = folder.path().display().to_string();
        let command = quote_command(&["/opt/a b/codex", "batch", "run", &run]);
        assert!(
            script.contains(&format!("\nexec {command} --index")),
            "{script}"
        );
    }

    #[test]
    fn kubernetes_job_is_indexed_and_refers_to_the_key() {
        let home = tempfile::tempdir().unwrap();
        let folder = folder(&home.path().join("run"));
        let job = kubernetes_job(
            &folder,
            &ContainerJob {
                name: "My Run".to_owned(),
                image: "codex:1".to_owned(),
                volume_claim: "data".to_owned(),
                mount_path: "/data".to_owned(),
                folder: "run".to_owned(),
                secret: Some(("K".to_owned(), "model".to_owned(), "key".to_owned())),
                retries: 2,
                at_once: Some(500),
                ..ContainerJob::default()
            },
        );
        let spec = &job["spec"];
        assert_eq!(spec["completions"], 200);
        assert_eq!(spec["parallelism"], 200);
        assert_eq!(spec["completionMode"], "Indexed");
        assert_eq!(spec["backoffLimitPerIndex"], 2);
        assert_eq!(job["metadata"]["name"], "my-run");
        let container = &spec["template"]["spec"]["containers"][0];
        assert_eq!(
            container["args"],
            json!([
                "batch",
                "run",
                "/data/run",
                "--index",
                "$(JOB_COMPLETION_INDEX)"
            ])
        );
        let key = &container["env"][0]["valueFrom"]["secretKeyRef"];
        assert_eq!(key, &json!({ "name": "model", "key": "key" }));
    }
}
