//! What git and the programs that build things run, as their settings and recipes say.

use std::path::PathBuf;

use super::reader::ReferenceReader;
use super::text::text_of;
use crate::found_files::ProgramFiles;
use crate::git_settings::{GitPlaces, READING_GIT, git_settings};
use crate::recipes::{lines_to_run, recipes_in, recipes_of};

impl ReferenceReader<'_> {
    /// What git runs, as the settings of the repository say.
    pub(super) fn git(&mut self, found: &mut ProgramFiles) {
        let commands = std::mem::take(&mut found.git);
        if commands.is_empty() {
            return;
        }
        // Outside of a repository the settings of the user count all the same.
        let root = self.finder.place.repository();
        let root = root.unwrap_or_else(|| self.finder.place.cwd.to_path_buf());
        let only_reads = (commands.iter()).all(|command| READING_GIT.contains(&command.as_str()));
        let place = self.finder.place;
        let mut places = GitPlaces::from_variables(&|name| place.variable(name));
        places.files.extend(found.git_files.iter().cloned());
        let settings = git_settings(&root, &places, only_reads);
        if settings.is_unreadable {
            found
                .unknown
                .get_or_insert_with(|| "the index of git".to_owned());
        }
        let is_of_work = |file: &&PathBuf| self.finder.is_of_work(file);
        for file in settings.included.iter().filter(is_of_work) {
            self.finder.add_path(">included", file.clone(), found);
        }
        for hook in settings.hooks {
            self.run_by.push((root.clone(), hook.clone()));
            self.finder.add_path(">hook", hook, found);
        }
        for folder in settings.inner {
            self.finder.add_repository(&folder, found);
        }
        self.source = root.clone();
        for (key, value) in settings.values {
            let mut part = ProgramFiles::default();
            let line = format!("cd {}\n{}", root.display(), value.trim_start_matches('!'));
            let is_run = commands.contains(&key) && value.starts_with('!');
            self.read_script(&line, &root, is_run, &mut part);
            // Data of the user and programs elsewhere are no matter of the workspace.
            part.all.retain(|file| self.finder.is_of_work(&file.real));
            part.trees.clear();
            part.unknown = None;
            part.git.clear();
            found.take_in(part);
        }
    }

    /// What recipes run that are asked for, until no more are.
    pub(super) fn recipes(&mut self, found: &mut ProgramFiles) {
        loop {
            let before = (found.recipes.len(), found.recipe_files.len());
            for path in &found.recipe_files {
                let is_new = self.recipe_files.iter().all(|(known, _)| known != path);
                let text = text_of(path).filter(|_| is_new);
                self.recipe_files
                    .extend(text.map(|text| (path.clone(), text)));
            }
            for (path, text) in self.recipe_files.clone() {
                let recipes = recipes_of(&path, &text).unwrap_or_else(|| recipes_in(&path, &text));
                let lines = lines_to_run(&recipes, &found.recipes);
                let folder = path.parent().unwrap_or(&path).to_path_buf();
                // They run beside their file, or where an option says.
                let folders = found.recipe_folders.iter().chain([&folder]);
                let changes = folders.map(|folder| format!("cd '{}'\n", folder.display()));
                let lines = changes.collect::<String>() + &lines;
                self.source = path;
                self.read_script(&lines, &folder, true, found);
            }
            if (found.recipes.len(), found.recipe_files.len()) == before {
                return;
            }
        }
    }
}
