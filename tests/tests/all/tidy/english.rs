//! Comments, messages and documents are in plain English.

use std::path::PathBuf;

use shardc_tests::tools::root;

use super::documents::{documents, prose};
use super::{RULES, collect, read, sources};

/// Phrases that make readers read a sentence twice. What to write instead is in CONTRIBUTING.md.
const RIDDLES: [&str; 14] = [
    "nobody",
    "anybody",
    "somebody",
    "of one's own",
    "so many",
    "so much",
    "that there isn't",
    "in vain",
    "who reads",
    "is told",
    "are told",
    "lies",
    "knows",
    "gives back",
];

/// The same for messages, where they are not also words of the field.
const RIDDLES_OF_MESSAGES: [&str; 12] = [
    "is no",
    "are no",
    "of your own",
    "made up",
    "made-up",
    "dearer",
    "dearest",
    "isn't read",
    "nothing here",
    "stands",
    "wants",
    "beside",
];

/// Program text in strings and in documentation may be longer.
const MAX_COLUMNS: usize = 120;

#[test]
fn comments_are_plain_and_fit_the_page() {
    let mut faults = Vec::new();
    for (path, text) in sources().iter().filter(|f| !f.0.starts_with(RULES)) {
        let mut quoted = false;
        for (i, line) in text.lines().enumerate() {
            let Some(comment) = line.trim_start().strip_prefix("//") else {
                quoted = false;
                continue;
            };
            let words = comment.trim_start_matches(['/', '!', ' ']);
            quoted ^= words.starts_with("```");
            let found = RIDDLES.iter().find(|phrase| has_phrase(words, phrase));
            let long = line.chars().count() > MAX_COLUMNS && !quoted && words.contains(' ');
            if found.is_some() || long {
                faults.push(format!("{path}:{}: {}", i + 1, line.trim()));
            }
        }
    }
    assert!(faults.is_empty(), "{} comments are riddles or too long:\n{}", faults.len(), faults.join("\n"));
}

/// Checks the string literals of the compiler and the bindings: messages, help and reasons.
#[test]
fn messages_are_plain() {
    let (mut count, mut faults) = (0, Vec::new());
    for (path, text) in sources() {
        let is_test = path.contains("tests") || !path.contains("/src/");
        if is_test || ["tests/", "lit-tests/"].iter().any(|folder| path.starts_with(folder)) {
            continue;
        }
        // Tests at the end of a file assert on messages.
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        for (line, literal) in literals(code) {
            count += 1;
            let mut phrases = RIDDLES.iter().chain(&RIDDLES_OF_MESSAGES);
            // A placeholder's name isn't shown.
            let shown: String = literal.split('{').map(|part| part.split_once('}').map_or(part, |p| p.1)).collect();
            if let Some(phrase) = phrases.find(|phrase| has_phrase(&shown, phrase)) {
                faults.push(format!("{path}:{line}: '{phrase}' in \"{literal}\""));
            }
        }
    }
    assert!(count > 5000, "found only {count} literals");
    assert!(faults.is_empty(), "{} messages are riddles:\n{}", faults.len(), faults.join("\n"));
}

/// Returns the string literals of a file, each with the number of its first line.
fn literals(text: &str) -> Vec<(usize, &str)> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(next) = text[at..].find(['"', '/', '\'']).map(|next| at + next) {
        let rest = &text[next..];
        at = next + 1;
        if rest.starts_with("//") {
            at = next + rest.find('\n').unwrap_or(rest.len());
        } else if let Some(escaped) = rest.strip_prefix("'\\") {
            at = next + 3 + escaped[1..].find('\'').unwrap_or(0);
        } else if rest.starts_with("'\"'") {
            at = next + 3;
        } else if let Some(inside) = rest.strip_prefix('"') {
            let before = text[..next].trim_end_matches('#');
            let hashes = &text[before.len()..next];
            let raw = before.strip_suffix('r').is_some_and(|b| !b.ends_with(|c: char| c.is_alphanumeric() || c == '_'));
            let end = if raw { inside.find(&format!("\"{hashes}")) } else { end_of_literal(inside) };
            let Some(length) = end else { break };
            found.push((text[..next].matches('\n').count() + 1, &inside[..length]));
            at = next + 1 + length + 1 + if raw { hashes.len() } else { 0 };
        }
    }
    found
}

/// Returns the position of the quotation mark that ends a literal.
fn end_of_literal(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

#[test]
fn literals_are_found() {
    let text = "// \"no\"\n'\"' \"a \\\" b\" '\\'' r#\"c \"d\" e\"# / 'x\nf(\"g\")";
    assert_eq!(literals(text), [(2, "a \\\" b"), (2, "c \"d\" e"), (3, "g")]);
}

/// Checks every line of the Python package, the headers, the Makefile and the pages of editors.
#[test]
fn bindings_are_plain() {
    let mut files: Vec<PathBuf> =
        ["Makefile", "editors/README.md", "bindings/python/README.md"].map(|f| root().join(f)).into();
    collect(&root().join("bindings/python/python"), "py", &mut files);
    collect(&root().join("bindings/c/include"), "h", &mut files);
    collect(&root().join("bindings/mlir/include"), "h", &mut files);
    assert!(files.len() > 15, "found only {} files", files.len());
    for (path, text) in read(files) {
        for (i, line) in text.lines().enumerate() {
            let found = RIDDLES.iter().find(|phrase| has_phrase(line, phrase));
            assert!(found.is_none(), "{path}:{}: {line}", i + 1);
        }
    }
}

/// Whether a phrase is in a line, as whole words, outside of quotations in backticks.
fn has_phrase(line: &str, phrase: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let plain = line.split('`').step_by(2);
    plain.map(str::to_lowercase).any(|text| {
        text.match_indices(phrase).any(|(at, _)| {
            !is_part(text[..at].chars().next_back()) && !is_part(text[at + phrase.len()..].chars().next())
        })
    })
}

#[test]
fn documents_are_plain() {
    for (path, text) in documents() {
        for (line, words) in prose(&text) {
            let found = RIDDLES.iter().find(|phrase| has_phrase(words, phrase));
            assert!(found.is_none(), "{path}:{line}: {words}");
        }
    }
}
