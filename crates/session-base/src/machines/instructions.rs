//! The instruction files of a project on another machine.

use std::time::Duration;

use codex_environments::{MachineError, RemotePath};
use futures::future::join_all;

use super::place::{RemotePlace, place_of};
use crate::config::{OtherMachines, SessionConfig};

/// What marks the root of a project.
const ROOT_MARKER: &str = ".git";

/// Instruction files of a project that has longer ones are not read.
const MAX_FILE: u64 = 4 * 1024 * 1024;

/// How many folders above the working folder are looked at.
const MAX_FOLDERS: usize = 64;

/// The instruction files of a folder and of those above it, up to the root of the project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteInstructions {
    pub text: Option<String>,
    pub files: Vec<RemotePath>,
}

/// Reads them: one round trip for the facts of all files, and one for their contents.
pub async fn read_instructions(
    place: &RemotePlace,
    machines: &OtherMachines,
) -> Result<RemoteInstructions, MachineError> {
    let machine = &place.machine;
    let folders: Vec<RemotePath> =
        std::iter::successors(Some(place.cwd.clone()), RemotePath::parent)
            .take(MAX_FOLDERS)
            .collect();
    let markers = join_all(folders.iter().map(|folder| async move {
        let marker = folder.join(ROOT_MARKER);
        machine.metadata(&marker).await
    }));
    let names = &machines.instruction_names;
    let candidates = join_all(folders.iter().map(|folder| async move {
        let facts = names.iter().map(|name| async move {
            let path = folder.join(name);
            let facts = machine.metadata(&path).await?;
            Ok::<_, MachineError>(
                facts
                    .filter(|facts| facts.is_file)
                    .map(|facts| (path, facts)),
            )
        });
        let found: Vec<_> = join_all(facts)
            .await
            .into_iter()
            .collect::<Result<_, _>>()?;
        Ok::<_, MachineError>(found.into_iter().flatten().next())
    }));
    let (markers, candidates) = tokio::join!(markers, candidates);
    let markers: Vec<bool> = (markers.into_iter())
        .map(|facts| facts.map(|facts| facts.is_some()))
        .collect::<Result<_, _>>()?;
    let candidates: Vec<_> = candidates.into_iter().collect::<Result<_, _>>()?;
    // Without a project only the folder itself counts.
    let root = markers.iter().position(|is_root| *is_root).unwrap_or(0);
    let limit = machines.max_instruction_bytes;
    let found: Vec<_> = candidates.into_iter().take(root + 1).flatten().collect();
    let reads = found.iter().rev().map(|(path, facts)| async move {
        let read = machine.read_file(path, facts.size, limit.max(facts.size), None);
        read.await.map(|content| (path.clone(), content))
    });
    let mut instructions = RemoteInstructions::default();
    let mut texts = Vec::new();
    let mut left = usize::try_from(limit).unwrap_or(usize::MAX);
    if found.iter().any(|(_, facts)| facts.size > MAX_FILE) {
        return Ok(instructions);
    }
    for read in join_all(reads).await {
        let (path, mut content) = read?;
        content.truncate(left);
        let text = String::from_utf8_lossy(&content);
        if !text.trim().is_empty() {
            left -= content.len();
            texts.push(text.into_owned());
            instructions.files.push(path);
        }
    }
    instructions.text = (!texts.is_empty()).then(|| texts.join("\n\n"));
    Ok(instructions)
}

/// Separates the instructions of the user from those of a project, as on this machine.
const SEPARATOR: &str = "\n\n--- project-doc ---\n\n";

/// The instructions of the user and those of a project.
pub fn joined(own: Option<String>, project: Option<String>) -> Option<String> {
    match (own, project) {
        (Some(own), Some(project)) => Some(format!("{own}{SEPARATOR}{project}")),
        (own, project) => own.or(project),
    }
}

/// How long a machine may take to say which instruction files it has.
const LIST_WAIT: Duration = Duration::from_secs(5);

impl SessionConfig {
    /// Asks the other machines of the thread, as far as they can be reached, for their shells, and the first one for the instruction
    /// files of the project. Those are added to the instructions of the user. Returns their paths.
    pub async fn learn_of_machines(&mut self) -> Vec<String> {
        let Some(machines) = self.services.machines.clone() else {
            return Vec::new();
        };
        let mut choices = std::mem::take(&mut self.options.settings.environments);
        for choice in choices.iter_mut().filter(|choice| !choice.is_local()) {
            if let Ok(place) = place_of(choice, Some(&machines)) {
                let facts = tokio::time::timeout(LIST_WAIT, place.machine.facts()).await;
                choice.shell = facts
                    .ok()
                    .and_then(Result::ok)
                    .map(|facts| facts.shell.path.clone());
            }
        }
        let first = choices
            .first()
            .filter(|one| !one.is_local() && one.shell.is_some());
        let place = first.and_then(|first| place_of(first, Some(&machines)).ok());
        self.options.settings.environments = choices;
        let Some(place) = place else {
            return Vec::new();
        };
        let reading = read_instructions(&place, &machines);
        let Ok(Ok(read)) = tokio::time::timeout(LIST_WAIT, reading).await else {
            return Vec::new();
        };
        let own = self.options.user_instructions.take();
        self.options.user_instructions = joined(own, read.text);
        read.files.iter().map(ToString::to_string).collect()
    }
}
