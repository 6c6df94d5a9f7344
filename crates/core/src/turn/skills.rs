//! Skills in a turn: which there are, and the texts of those that the user mentions.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use codex_protocol::{EventMsg, ResponseItem, SkillScope, UserInput, WarningEvent};
use codex_session_base::history::user_message;
use codex_skills::{SkillLibrary, SkillMention, SkillSet, mentioned};

use super::recording::RunningTurn;

/// The maximum length of the text of a skill.
const TEXT_LIMIT: usize = 256 * 1024;
/// A longer file of a skill is not read.
const FILE_LIMIT: u64 = 1024 * 1024;

impl RunningTurn<'_> {
    /// Finds the skills at the beginning of a turn.
    pub(crate) async fn find_skills(&self) {
        let settings = &self.scope.settings;
        if let Some(replay) = &self.scope.session.config.services.replay {
            let recorded = replay.skills(self.scope.session.emitter.thread());
            let _ = settings.skills.set(recorded);
            return;
        }
        let Some(library) = &self.scope.session.config.services.skills else {
            return;
        };
        let skills = match library.known(&settings.cwd) {
            Some(skills) => Some(skills),
            None => tokio::select! {
                biased;
                () = self.scope.stop.stopped() => None,
                skills = read_skills(library, &settings.cwd) => skills,
            },
        };
        if let Some(mut skills) = skills {
            if settings.first_elsewhere().is_some() {
                // The folder is not that of the project.
                let all = &mut Arc::make_mut(&mut skills).all;
                all.retain(|skill| skill.metadata.scope != SkillScope::Repo);
            }
            if !settings.disabled_plugins.is_empty() {
                let all = &mut Arc::make_mut(&mut skills).all;
                all.retain(|skill| !settings.disables(skill.plugin.as_deref()));
            }
            let _ = settings.skills.set(skills);
        }
    }

    /// The messages with the texts of the skills that an input mentions.
    pub(crate) async fn texts_of_skills(&self, input: &[UserInput]) -> Vec<ResponseItem> {
        let Some(skills) = self.scope.settings.skills.get() else {
            return Vec::new();
        };
        let input: Vec<SkillMention<'_>> = input.iter().filter_map(mention).collect();
        let mut texts = Vec::new();
        for skill in mentioned(skills, &input, &self.app_names()) {
            let (name, path) = (&skill.metadata.name, &skill.metadata.path);
            match self.text_of_skill(path).await {
                Ok(text) => {
                    let text = &text[..text.floor_char_boundary(TEXT_LIMIT)];
                    texts.push(user_message([format!(
                        "<skill>\n<name>{name}</name>\n<path>{path}</path>\n{text}\n</skill>"
                    )]));
                }
                Err(error) => {
                    let message = format!("Failed to load skill {name} at {path}: {error}");
                    self.emitter
                        .emit(EventMsg::Warning(WarningEvent { message }));
                }
            }
        }
        texts
    }
}

impl RunningTurn<'_> {
    async fn text_of_skill(&self, path: &str) -> std::io::Result<String> {
        let Some(replay) = &self.scope.session.config.services.replay else {
            let policy = self.scope.settings.turn_policy(&self.scope.session.config);
            if let Some(problem) = policy.hidden_problem(Path::new(path)) {
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem));
            }
            return read_text(path).await;
        };
        let recorded = replay.skill_text(self.scope.session.emitter.thread(), path);
        recorded.ok_or_else(|| std::io::ErrorKind::NotFound.into())
    }
}

fn mention(item: &UserInput) -> Option<SkillMention<'_>> {
    match item {
        UserInput::Skill { name, path } => Some(SkillMention::Item { name, path }),
        UserInput::Text { text, .. } => Some(SkillMention::Text(text)),
        _ => None,
    }
}

pub(crate) async fn read_skills(
    library: &Arc<SkillLibrary>,
    folder: &Path,
) -> Option<Arc<SkillSet>> {
    let (library, folder) = (Arc::clone(library), folder.to_path_buf());
    let reading = tokio::task::spawn_blocking(move || library.skills(&folder, &[]));
    reading.await.ok()
}

async fn read_text(path: &str) -> io::Result<String> {
    let path = PathBuf::from(path);
    let reading =
        tokio::task::spawn_blocking(move || codex_regular_file::read_text(&path, FILE_LIMIT));
    reading.await.unwrap_or_else(|error| Err(error.into()))
}
