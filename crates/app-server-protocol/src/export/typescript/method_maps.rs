//! `Methods.ts`: what each method takes and answers, to be looked up by its name.

use std::collections::BTreeSet;

use super::{Context, HEADER, local_name, push_comment};
use crate::export::catalogue::MethodRow;
use crate::export::request::GeneratedFile;
use crate::export::schema::UNIONS;

/// The name of the file, without what paths end with.
pub(super) const NAME: &str = "Methods";

/// The maps that it declares.
pub(super) const EXPORTS: &str =
    "ClientRequests, ServerRequests, ServerNotifications, ClientNotifications";

impl Context<'_> {
    pub(super) fn method_maps(&self) -> GeneratedFile {
        let methods = &self.selection.methods;
        let params = methods.iter().filter_map(|method| self.params(method));
        let results = methods
            .iter()
            .filter_map(|method| method.response.as_deref());
        let used: BTreeSet<&str> = params.chain(results).collect();
        let mut text = format!("{HEADER}\n");
        for name in used {
            let folder = self.layout.folder(name).prefix();
            let (local, extension) = (local_name(name), self.request.import_extension);
            text += &format!("import type {{ {local} }} from \"./{folder}{local}{extension}\";\n");
        }
        for (direction, union) in UNIONS {
            let what = if direction.has_reply() {
                "What each request takes and answers"
            } else {
                "What each notification has"
            };
            text += &format!("\n/** {what}, by method. */\nexport interface {union}s {{\n");
            for method in methods.iter().filter(|row| row.direction == direction) {
                text += &self.entry(method, union);
            }
            text += "}\n";
        }
        GeneratedFile {
            path: format!("{NAME}.ts"),
            text,
        }
    }

    fn entry(&self, method: &MethodRow, union: &str) -> String {
        let path = format!("{}.params", method.name);
        let form = self.forms.for_member(union, &path, self.request.release);
        let mut params = self
            .params(method)
            .map_or("undefined", local_name)
            .to_owned();
        if form.is_some_and(|form| form.null) {
            params += " | null";
        }
        if form.is_some_and(|form| form.optional) {
            params += " | undefined";
        }
        let mut text = String::new();
        push_comment(&mut text, Some(&method.description), "  ");
        text += &format!("  \"{}\": {{\n    params: {params};\n", method.name);
        if method.direction.has_reply() {
            let result = method.response.as_deref().map_or("unknown", local_name);
            text += &format!("    result: {result};\n");
        }
        text + "  };\n"
    }

    fn params<'m>(&self, method: &'m MethodRow) -> Option<&'m str> {
        method.params_of(self.request.release)
    }
}
