//! No editor makes the language server end with a bug: conversations about damaged programs, whose messages are damaged
//! too, from fixed seeds.
//!
//! `RANDOM_PROGRAMS=5000` tries more conversations, `RANDOM_FROM=300` starts at another seed (`make fuzz-sessions`).

use fastrand::Rng;
use serde_json::{Value, json};
use shardc_tests::attempt::{attempt, try_all};
use shardc_tests::mutation::{Original, corpus, mutated, word as one_of};

/// Conversations per run.
const COUNT: u64 = 60;
/// Texts of at most this many bytes are opened.
const LARGEST: usize = 12_000;
/// Conversations at the same time: the server waits for typing to end, which takes no processor.
const THREADS: usize = 4;

const URIS: [&str; 4] = ["file:///model.mlir", "untitled:Untitled-1", "file:///a%20b.mlir", "no uri"];

/// Requests and notifications, those that the server refuses among them.
const METHODS: &str = "textDocument/hover|textDocument/definition|textDocument/references|textDocument/inlayHint|\
     textDocument/documentSymbol|textDocument/foldingRange|textDocument/codeAction|textDocument/hover|\
     textDocument/definition|textDocument/references|textDocument/inlayHint|textDocument/codeAction|\
     textDocument/completion|textDocument/formatting|textDocument/rename|textDocument/semanticTokens/full|\
     workspace/symbol|initialize|$/unknown|";

/// What is typed.
const TYPED: &str = "| |\n|\r\n|\r|}|{|%0|é|😀|\u{2028}|\0|// -----\n|return\n|\u{feff}|\"";

/// Positions: some are outside of every text, some between the two units of a character.
fn position(random: &mut Rng) -> Value {
    let number = |random: &mut Rng, near: u64| match random.u8(..12) {
        0 => json!(u32::MAX),
        1 => json!(u64::from(u32::MAX) + 1),
        2 => json!(-1),
        3 => json!(i32::MAX),
        _ => json!(random.u64(..near)),
    };
    json!({"line": number(random, 40), "character": number(random, 120)})
}

fn range(random: &mut Rng) -> Value {
    match random.u8(..4) {
        0 => json!({"start": {"line": 0, "character": 0}, "end": {"line": 9999, "character": 0}}),
        1 => {
            let at = position(random);
            json!({"start": at, "end": at})
        }
        _ => json!({"start": position(random), "end": position(random)}),
    }
}

/// Words in place of any part of a message.
fn word(random: &mut Rng) -> Value {
    match random.u8(..12) {
        0 => Value::Null,
        1 => json!(-1),
        2 => json!(u64::MAX),
        3 => json!(1e308),
        4 => json!(""),
        5 => json!([]),
        6 => json!({}),
        7 => json!(true),
        8 => json!("\u{0}😀"),
        9 => json!([[[[[[1]]]]]]),
        10 => json!(0.5),
        _ => json!("2.0"),
    }
}

/// Replaces or removes one part of a message.
fn damage(value: &mut Value, random: &mut Rng) {
    let deeper = random.u8(..4) > 0;
    match value {
        Value::Object(map) if deeper && !map.is_empty() => {
            let at = random.usize(..map.len());
            let key = map.keys().nth(at).cloned().unwrap_or_default();
            match random.u8(..8) {
                0 => drop(map.remove(&key)),
                _ => damage(&mut map[&key], random),
            }
        }
        Value::Array(list) if deeper && !list.is_empty() => {
            let at = random.usize(..list.len());
            damage(&mut list[at], random);
        }
        _ => *value = word(random),
    }
}

fn change(random: &mut Rng, texts: &mut dyn FnMut(u64) -> String) -> Value {
    let typed = |random: &mut Rng| one_of(TYPED, random);
    match random.u8(..6) {
        0 => json!({"text": texts(random.u64(..))}),
        1 => json!({"range": range(random), "rangeLength": random.u32(..), "text": typed(random)}),
        _ => json!({"range": range(random), "text": typed(random).repeat(random.usize(1..3))}),
    }
}

fn message(id: usize, random: &mut Rng, texts: &mut dyn FnMut(u64) -> String) -> Value {
    let known = if random.u8(..3) == 0 { URIS.len() } else { 1 };
    let uri = URIS[random.usize(..known)];
    let about = json!({"uri": uri, "version": id});
    let note = |method: &str, params: Value| json!({"jsonrpc": "2.0", "method": method, "params": params});
    match random.u8(..16) {
        0 => {
            let text = json!({"uri": uri, "languageId": "mlir", "version": id, "text": texts(random.u64(..))});
            note("textDocument/didOpen", json!({"textDocument": text}))
        }
        1..=4 => {
            let changes: Vec<Value> = (0..random.usize(..3)).map(|_| change(random, texts)).collect();
            note("textDocument/didChange", json!({"textDocument": about, "contentChanges": changes}))
        }
        5 => note("$/cancelRequest", json!({"id": random.usize(..id + 1)})),
        6 if random.bool() => note("textDocument/didClose", json!({"textDocument": about})),
        7 if random.u8(..4) == 0 => json!({"jsonrpc": "2.0", "id": id, "method": "shutdown"}),
        8 if random.u8(..4) == 0 => note("exit", Value::Null),
        9 if random.u8(..4) == 0 => json!({"jsonrpc": "2.0", "id": id, "result": word(random)}),
        _ => {
            let params = json!({"textDocument": about, "position": position(random), "range": range(random),
                "context": {"includeDeclaration": random.bool(), "diagnostics": []}, "newName": "%x"});
            let method = one_of(METHODS, random);
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        }
    }
}

/// A message as it is sent, with a header that may be wrong.
fn framed(text: &str, random: &mut Rng, is_damaged: bool) -> Vec<u8> {
    let header = match random.u8(..if is_damaged { 14 } else { 1 }) {
        1 => format!("Content-Length: {}\r\n\r\n", text.len() / 2),
        2 => format!("Content-Length: {}\r\n\r\n", text.len() + random.usize(..300)),
        3 => "Content-Length: -5\r\n\r\n".to_owned(),
        4 => format!("Content-Length: {}\r\n\r\n", u64::MAX),
        5 => "Content-Length: 18446744073709551616\r\n\r\n".to_owned(),
        6 => format!("Content-Length: {}\n\n", text.len()),
        7 => "\r\n".to_owned(),
        8 => format!("content-length: {}\r\nContent-Type: x\r\n\r\n", text.len()),
        9 => format!("Content-Length: {}\r\nContent-Length: 7\r\n\r\n", text.len()),
        10 => format!("Content-Length : {}\r\n\r\n", text.len()),
        11 => format!("Content-Length: {}e1\r\n\r\n", text.len()),
        _ => format!("Content-Length: {}\r\n\r\n", text.len()),
    };
    [header.as_bytes(), text.as_bytes()].concat()
}

/// What an editor sends, from its first message to its last.
fn conversation(seed: u64, corpus: &[Original]) -> Vec<u8> {
    let victims: Vec<&Original> = corpus.iter().filter(|o| o.text.len() <= LARGEST).collect();
    let mut texts = |seed: u64| mutated(&victims, corpus, seed);
    let mut random = Rng::with_seed(seed);
    let (values, headers, bytes) = (random.u8(..3) == 0, random.u8(..4) == 0, random.u8(..8) == 0);
    let uri = URIS[0];
    let text = json!({"uri": uri, "languageId": "mlir", "version": 0, "text": texts(seed)});
    let first = [
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"capabilities": {}}}),
        json!({"jsonrpc": "2.0", "method": "initialized", "params": {}}),
        json!({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": text}}),
    ];
    let more = random.usize(2..14);
    let mut messages: Vec<Value> = first.into_iter().filter(|_| random.u8(..20) > 0).collect();
    messages.extend((1..=more).map(|id| message(id, &mut random, &mut texts)));
    let mut sent = Vec::new();
    for mut message in messages {
        if values && random.u8(..3) == 0 {
            damage(&mut message, &mut random);
        }
        // A position in the middle of nesting that no parser of JSON follows.
        let mut text = message.to_string();
        if values && random.u8(..30) == 0 {
            text = text.replacen(
                "\"params\":",
                &format!("\"deep\":{}1,\"params\":", "[".repeat(random.usize(1..100_000))),
                1,
            );
        }
        sent.extend(framed(&text, &mut random, headers));
    }
    if bytes {
        for _ in 0..random.usize(1..6) {
            let at = random.usize(..sent.len());
            match random.u8(..3) {
                0 => sent[at] = random.u8(..),
                1 => drop(sent.remove(at)),
                _ => sent.truncate(at.max(1)),
            }
        }
    }
    sent
}

/// Why a conversation is a bug, if it is one.
fn fault(sent: &[u8]) -> Option<String> {
    let done = match attempt(&["lsp"], sent) {
        Ok(done) => done,
        Err(why) => return Some(why),
    };
    let said = String::from_utf8_lossy(&done.out);
    if let Some(at) = said.find("a bug in shardc") {
        return Some(said[at.saturating_sub(60)..].chars().take(200).collect());
    }
    // Whatever comes, what it answers is messages.
    let mut rest = &done.out[..];
    while !rest.is_empty() {
        let Some(end) = rest.windows(4).position(|w| w == b"\r\n\r\n") else { return Some("half a header".to_owned()) };
        let length = String::from_utf8_lossy(&rest[..end]).strip_prefix("Content-Length: ").map(str::parse::<usize>);
        let Some(Ok(length)) = length else { return Some("a header without a length".to_owned()) };
        let body = rest.get(end + 4..end + 4 + length)?;
        if serde_json::from_slice::<Value>(body).is_err() {
            return Some("what it says is no JSON".to_owned());
        }
        rest = &rest[end + 4 + length..];
    }
    None
}

#[test]
fn no_conversation_ends_with_a_bug() {
    let corpus = corpus();
    try_all("sessions", COUNT, THREADS, |seed| {
        let sent = conversation(seed, &corpus);
        Some((fault(&sent)?, sent))
    });
}
