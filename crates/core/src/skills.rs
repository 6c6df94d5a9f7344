//! Skills in a turn: which there are, and the texts of those that a person mentions.

use std::path::Path;
use std::sync::Arc;

use codex_protocol::{
    EventMsg, ListSkillsResponseEvent, ResponseItem, SkillsListEntry, UserInput, WarningEvent,
};
use codex_skills::{Library, Mention, Skills, mentioned};

use crate::context::user_message;
use crate::session::Session;
use crate::turn::Turn;

/// The longest text of a skill that is handed on.
const TEXT_LIMIT: usize = 256 * 1024;

impl Turn<'_> {
    /// Looks which skills there are at the beginning of a turn.
    pub(crate) async fn find_skills(&self) {
        let settings = &self.scope.settings;
        let Some(library) = &self.scope.services.config.skills else {
            return;
        };
        let skills = match library.known(&settings.cwd) {
            Some(skills) => Some(skills),
            None => tokio::select! {
                biased;
                () = self.scope.stop.stopped() => None,
                skills = read(library, &settings.cwd) => skills,
            },
        };
        if let Some(skills) = skills {
            let _ = settings.skills.set(skills);
        }
    }

    /// The texts of the skills that an input mentions, for the model.
    pub(crate) async fn texts_of_skills(&self, input: &[UserInput]) -> Vec<ResponseItem> {
        let Some(skills) = self.scope.settings.skills.get() else {
            return Vec::new();
        };
        let input: Vec<Mention<'_>> = input.iter().filter_map(mention).collect();
        let mut texts = Vec::new();
        for skill in mentioned(skills, &input) {
            let (name, path) = (&skill.metadata.name, &skill.metadata.path);
            match tokio::fs::read_to_string(path).await {
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

fn mention(item: &UserInput) -> Option<Mention<'_>> {
    match item {
        UserInput::Skill { name, path } => Some(Mention::Item { name, path }),
        UserInput::Text { text, .. } => Some(Mention::Text(text)),
        _ => None,
    }
}

async fn read(library: &Arc<Library>, folder: &Path) -> Option<Arc<Skills>> {
    let (library, folder) = (Arc::clone(library), folder.to_path_buf());
    let reading = tokio::task::spawn_blocking(move || library.skills(&folder, &[]));
    reading.await.ok()
}

impl Session {
    /// Lists the skills of folders; of the thread's own if none are named.
    pub(crate) fn list_skills(&self, id: String, cwds: Vec<String>, reload: bool) {
        let emitter = self.emitter().clone();
        let own = self.settings().cwd.display().to_string();
        let library = self.skill_library();
        let folders = match cwds.is_empty() {
            true => vec![own],
            false => cwds,
        };
        tokio::spawn(async move {
            if let Some(library) = library.as_ref().filter(|_| reload) {
                library.forget();
            }
            let mut skills = Vec::with_capacity(folders.len());
            for cwd in folders {
                let found = match &library {
                    Some(library) => read(library, Path::new(&cwd)).await,
                    None => None,
                };
                skills.push(entry(cwd, &found.unwrap_or_default()));
            }
            let listed = ListSkillsResponseEvent { skills };
            emitter.emit(&id, EventMsg::ListSkillsResponse(listed));
        });
    }
}

fn entry(cwd: String, skills: &Skills) -> SkillsListEntry {
    let all = skills.all.iter().map(|skill| skill.metadata.clone());
    SkillsListEntry {
        cwd,
        skills: all.collect(),
        errors: skills.errors.clone(),
    }
}
