//! Checks the code against the map in `src/lib.rs`.

use std::fs;
use std::path::Path;

/// Each layer, and the layers that it may use.
const LAYERS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("json", &["model"]),
    ("format", &["model", "json"]),
    ("context", &["model", "json", "format"]),
    ("ops", &["model", "json", "format", "context"]),
    ("fsck", &["model", "json", "format", "context"]),
    ("store", &["model", "json", "format"]),
    ("ui", &[]),
    ("cmd", &["model", "json", "format", "context", "ops", "fsck", "store", "ui"]),
];

#[test]
fn a_layer_uses_only_those_below_it() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for (layer, below) in LAYERS {
        each_file(&src.join(layer), &mut |path| {
            for (number, line) in fs::read_to_string(path).unwrap().lines().enumerate() {
                let code = line.split("//").next().unwrap();
                for (other, _) in LAYERS {
                    let named = code.contains(&format!("crate::{other}::"))
                        || code.contains(&format!("crate::{other};"));
                    if named && other != layer && !below.contains(other) {
                        wrong.push(format!("{}:{}: {layer} uses {other}", path.display(), number + 1));
                    }
                }
                if *layer == "cmd"
                    && ["owo_colors::", "unicode_width::"].iter().any(|of_ui| code.contains(of_ui))
                {
                    wrong.push(format!(
                        "{}:{}: colors and widths are matters of ui",
                        path.display(),
                        number + 1
                    ));
                }
                if code.contains("crate::{") {
                    wrong.push(format!(
                        "{}:{}: name the layer: `use crate::…::{{…}}`",
                        path.display(),
                        number + 1
                    ));
                }
            }
        });
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn each_file(folder: &Path, with: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            each_file(&path, with);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            with(&path);
        }
    }
}
