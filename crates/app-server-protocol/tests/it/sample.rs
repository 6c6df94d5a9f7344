//! Makes values from a JSON Schema, so that every type of the vocabulary can be tested without a
//! hand-written generator for each.

use serde_json::{Map, Value};

/// Decides what a sample looks like wherever the schema leaves a choice.
pub(crate) trait Chooser {
    /// A number below `count`, which is at least 1.
    fn choose(&mut self, count: usize) -> usize;
}

/// Choices from a seed, for random samples.
pub(crate) struct Seeded(pub(crate) u64);

impl Chooser for Seeded {
    fn choose(&mut self, count: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % count as u64) as usize
    }
}

/// Past this depth optional parts are left out, so that recursive types come to an end.
const MAX_DEPTH: usize = 8;

/// Makes samples from the definitions of a bundle.
pub(crate) struct Sampler<'a, C> {
    pub(crate) definitions: &'a Value,
    pub(crate) chooser: C,
}

impl<C: Chooser> Sampler<'_, C> {
    /// A value of the type of this name.
    pub(crate) fn sample_named(&mut self, name: &str) -> Value {
        let schema = self.definitions[name].clone();
        self.sample(&schema, 0)
    }

    fn sample(&mut self, schema: &Value, depth: usize) -> Value {
        let Some(object) = schema.as_object() else {
            return self.any_value();
        };
        if let Some(reference) = object.get("$ref").and_then(Value::as_str) {
            let name = reference.rsplit('/').next().unwrap_or_default();
            let schema = self.definitions[name].clone();
            return self.sample(&schema, depth + 1);
        }
        if let Some(constant) = object.get("const") {
            return constant.clone();
        }
        if let Some(values) = object.get("enum").and_then(Value::as_array) {
            return values[self.chooser.choose(values.len())].clone();
        }
        if let Some(all) = object.get("allOf").and_then(Value::as_array) {
            let mut value = self.sample(&all[0], depth);
            self.add_own_members(&mut value, object, depth);
            return value;
        }
        for key in ["oneOf", "anyOf"] {
            if let Some(branches) = object.get(key).and_then(Value::as_array) {
                let mut value = self.sample_branch(branches, depth);
                self.add_own_members(&mut value, object, depth);
                return value;
            }
        }
        self.sample_plain(object, depth)
    }

    /// Adds the members that stand beside a union or a reference.
    fn add_own_members(&mut self, value: &mut Value, object: &Map<String, Value>, depth: usize) {
        if let (Some(value), true) = (value.as_object_mut(), object.contains_key("properties"))
            && let Value::Object(own) = self.sample_object(object, depth)
        {
            value.extend(own);
        }
    }

    fn sample_branch(&mut self, branches: &[Value], depth: usize) -> Value {
        let null = branches.iter().position(|branch| branch["type"] == "null");
        let index = match null {
            Some(index) if depth > MAX_DEPTH => index,
            _ => self.chooser.choose(branches.len()),
        };
        self.sample(&branches[index], depth + 1)
    }

    fn sample_plain(&mut self, object: &Map<String, Value>, depth: usize) -> Value {
        let name = match object.get("type") {
            Some(Value::String(name)) => name.as_str(),
            Some(Value::Array(names)) => {
                let index = self.chooser.choose(names.len());
                names[index].as_str().unwrap_or_default()
            }
            _ => return self.any_value(),
        };
        match name {
            "null" => Value::Null,
            "boolean" => (self.chooser.choose(2) == 1).into(),
            "integer" => (self.chooser.choose(200) as u64).into(),
            "number" => (self.chooser.choose(2000) as f64 / 8.0).into(),
            "string" => self.text().into(),
            "array" if depth > MAX_DEPTH => Value::Array(Vec::new()),
            "array" => {
                let count = self.chooser.choose(3);
                let items = object.get("items").cloned().unwrap_or(Value::Bool(true));
                (0..count).map(|_| self.sample(&items, depth + 1)).collect()
            }
            _ => self.sample_object(object, depth),
        }
    }

    fn sample_object(&mut self, object: &Map<String, Value>, depth: usize) -> Value {
        let required: Vec<&str> = object
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut value = Map::new();
        for (name, schema) in object
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            // A member that is read but never written back would not survive.
            if schema["writeOnly"] == true {
                continue;
            }
            let is_required = required.contains(&name.as_str());
            if is_required || (depth <= MAX_DEPTH && self.chooser.choose(3) > 0) {
                value.insert(name.clone(), self.sample(schema, depth + 1));
            }
        }
        match object.get("additionalProperties") {
            Some(rest) if *rest != Value::Bool(false) && depth <= MAX_DEPTH => {
                for number in 0..self.chooser.choose(3) {
                    value.insert(format!("more{number}"), self.sample(rest, depth + 1));
                }
            }
            _ => {}
        }
        value.into()
    }

    fn text(&mut self) -> String {
        const TEXTS: [&str; 6] = [
            "",
            "plain",
            "two\nlines",
            "\"quoted\" \\ and \u{1}",
            "ключ 🗝",
            "/absolute/path",
        ];
        TEXTS[self.chooser.choose(TEXTS.len())].to_owned()
    }

    fn any_value(&mut self) -> Value {
        match self.chooser.choose(4) {
            0 => Value::Null,
            1 => 7.into(),
            2 => "anything".into(),
            _ => serde_json::json!({ "nested": [true, null] }),
        }
    }
}
