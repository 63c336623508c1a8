//! Documents link to what exists, and name only what exists.

use std::collections::BTreeSet;
use std::fs;

use shardc_tests::tools::root;

use super::{RULES, collect, read, sources};

/// Returns the documents of the whole repository and those in docs, relative to its root, with their texts.
pub(super) fn documents() -> Vec<(String, String)> {
    let mut files = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(|name| root().join(name)).to_vec();
    collect(&root().join("docs"), "md", &mut files);
    assert!(files.len() > 10, "found only {} documents", files.len());
    read(files)
}

/// Returns the lines of a document outside of its blocks of code, with their numbers from 1.
pub(super) fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut quoted = false;
    let mut lines = Vec::new();
    for (i, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            quoted = !quoted;
        } else if !quoted {
            lines.push((i + 1, line));
        }
    }
    lines
}

#[test]
fn every_rewrite_of_the_plan_is_explained() {
    let text = std::fs::read_to_string(root().join("docs/design/plan.md")).unwrap();
    for (name, says) in passes::plan::rules() {
        assert!(text.contains(&format!("| `{name}` | {says} |")), "docs/design/plan.md lacks the rule {name}: {says}");
    }
}

/// The anchor of a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
    heading.trim_start_matches('#').trim().to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
}

#[test]
fn documents_link_to_what_exists() {
    let mut count = 0;
    for (path, text) in documents() {
        for (line, words) in prose(&text) {
            for link in words.split("](").skip(1) {
                let link = link.split(')').next().unwrap_or_default();
                if link.starts_with("https://") {
                    continue;
                }
                let (file, heading) = link.split_once('#').unwrap_or((link, ""));
                let document = root().join(&path);
                let target = if file.is_empty() { document } else { document.with_file_name(file) };
                assert!(target.exists(), "{path}:{line}: {link} doesn't exist");
                if !heading.is_empty() {
                    let other = fs::read_to_string(&target).expect("a document is text");
                    let is_there = prose(&other).iter().any(|l| l.1.starts_with('#') && anchor(l.1) == heading);
                    assert!(is_there, "{path}:{line}: {link} has no such heading");
                }
                count += 1;
            }
        }
    }
    assert!(count > 20, "found only {count} links");
}

/// ARCHITECTURE.md and docs/design name symbols, files and flags for readers to search for.
#[test]
fn the_design_names_what_exists() {
    let mut texts: Vec<String> = sources().into_iter().filter(|f| !f.0.starts_with(RULES)).map(|f| f.1).collect();
    texts.push(fs::read_to_string(root().join("Makefile")).expect("the Makefile is text"));
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = BTreeSet::new();
    for text in &texts {
        words.extend(text.split(|c| !is_part(c)));
        words.extend(text.split(|c| !is_part(c) && c != '-').map(|word| word.trim_matches('-')));
    }
    let mut count = 0;
    let is_design = |path: &str| path == "ARCHITECTURE.md" || path.starts_with("docs/design/");
    for (path, text) in documents().iter().filter(|f| is_design(&f.0)) {
        for (line, sentence) in prose(text) {
            assert!(
                sentence.matches('`').count().is_multiple_of(2),
                "{path}:{line}: a name in backticks is on two lines"
            );
            for name in sentence.split('`').skip(1).step_by(2) {
                count += 1;
                if name.contains('/') && !name.contains(' ') {
                    assert!(root().join(name).exists(), "{path}:{line}: {name} doesn't exist");
                    continue;
                }
                let parts = name.split(|c| !is_part(c) && c != '-').map(|part| part.trim_matches('-'));
                for part in parts.filter(|part| part.contains(char::is_alphabetic)) {
                    // clap makes the names of flags from those of fields.
                    let is_known = words.contains(part) || words.contains(part.replace('-', "_").as_str());
                    assert!(is_known, "{path}:{line}: no source has {part}");
                }
            }
        }
    }
    assert!(count > 300, "found only {count} names");
}
