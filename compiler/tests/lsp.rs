//! `shardc lsp` and a scripted editor, over standard input and output.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

const URI: &str = "file:///model.mlir";

/// Two layers over two devices; `é` takes two bytes and one unit of UTF-16.
const MODEL: &str = "\
sdy.mesh @mesh = <[\"x\"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>}, %w: tensor<4x6xf32>) -> tensor<8x6xf32> {
  %0 = call @layer(%a) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.dot %0, %w {note = \"é\"} : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  return %1 : tensor<8x6xf32>
}
func.func private @layer(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = stablehlo.tanh %x : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
";

/// An editor.
struct Editor {
    server: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    requests: i64,
}

impl Editor {
    fn new() -> Self {
        let mut server = Command::new(env!("CARGO_BIN_EXE_shardc"))
            .args(["lsp", "--stdio"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let input = server.stdin.take();
        let output = BufReader::new(server.stdout.take().expect("it has a pipe"));
        let mut editor = Self { server, input, output, requests: 0 };
        let can = editor.ask("initialize", json!({"capabilities": {}}));
        assert_eq!(can["serverInfo"]["name"], "shardc");
        assert_eq!(can["capabilities"]["textDocumentSync"], 2);
        editor.say("initialized", json!({}));
        editor
    }

    fn write(&mut self, messages: &[Value]) {
        let text: String =
            messages.iter().map(|m| m.to_string()).map(|m| format!("Content-Length: {}\r\n\r\n{m}", m.len())).collect();
        let input = self.input.as_mut().expect("it is open");
        input.write_all(text.as_bytes()).and_then(|()| input.flush()).expect("the server reads");
    }

    fn read(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).expect("the server writes") > 0, "the server ended");
            match line.trim().strip_prefix("Content-Length: ") {
                Some(n) => length = n.parse().expect("a number"),
                None if line.trim().is_empty() => break,
                None => {}
            }
        }
        let mut bytes = vec![0; length];
        self.output.read_exact(&mut bytes).expect("the whole message");
        serde_json::from_slice(&bytes).expect("JSON")
    }

    fn say(&mut self, method: &str, params: Value) {
        self.write(&[json!({"jsonrpc": "2.0", "method": method, "params": params})]);
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.requests += 1;
        json!({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params})
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let request = self.request(method, params);
        self.write(&[request]);
        let answer = self.read();
        assert_eq!(answer["id"], self.requests, "{answer}");
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    /// Requests something about a place in the text.
    fn ask_at(&mut self, method: &str, line: u32, character: u32) -> Value {
        let place = json!({"textDocument": {"uri": URI}, "position": {"line": line, "character": character},
            "context": {"includeDeclaration": true}});
        self.ask(&format!("textDocument/{method}"), place)
    }

    fn ask_about(&mut self, method: &str) -> Value {
        let all = json!({"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}});
        let about = json!({"textDocument": {"uri": URI}, "range": all, "context": {"diagnostics": []}});
        self.ask(&format!("textDocument/{method}"), about)
    }

    /// Returns the next diagnostics, each as `line:character-character severity code message`.
    fn diagnostics(&mut self) -> Vec<String> {
        let said = self.read();
        assert_eq!((&said["method"], &said["params"]["uri"]), (&json!("textDocument/publishDiagnostics"), &json!(URI)));
        let list = said["params"]["diagnostics"].as_array().expect("a list").clone();
        let show = |d: &Value| {
            let (start, end) = (&d["range"]["start"], &d["range"]["end"]);
            let first = d["message"].as_str().and_then(|m| m.lines().next()).unwrap_or_default();
            let code = d["code"].as_str().unwrap_or_default();
            format!("{}:{}-{} {} {code} {first}", start["line"], start["character"], end["character"], d["severity"])
        };
        list.iter().map(show).collect()
    }

    fn open(&mut self, text: &str) -> Vec<String> {
        let text = json!({"uri": URI, "languageId": "mlir", "version": 1, "text": text});
        self.say("textDocument/didOpen", json!({"textDocument": text}));
        self.diagnostics()
    }

    fn change(version: i32, line: u32, from: u32, to: u32, text: &str) -> Value {
        let range = json!({"start": {"line": line, "character": from}, "end": {"line": line, "character": to}});
        let document = json!({"uri": URI, "version": version});
        let params = json!({"textDocument": document, "contentChanges": [{"range": range, "text": text}]});
        json!({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": params})
    }

    fn end(mut self) {
        assert_eq!(self.ask("shutdown", json!(null)), json!(null));
        self.say("exit", json!(null));
        drop(self.input.take());
        assert!(self.server.wait().expect("it ends").success());
    }
}

/// Returns the starts of a list of locations, as `line:character`.
fn starts(locations: &Value) -> Vec<String> {
    let start = |l: &Value| format!("{}:{}", l["range"]["start"]["line"], l["range"]["start"]["character"]);
    locations.as_array().expect("a list").iter().map(start).collect()
}

#[test]
fn an_editor_sees_types_shardings_origins_and_costs() {
    let mut editor = Editor::new();
    assert_eq!(editor.open(MODEL), [""; 0]);

    let hover = editor.ask_at("hover", 3, 3);
    assert_eq!(hover["range"]["start"], json!({"line": 3, "character": 2}));
    let text = hover["contents"]["value"].as_str().expect("a text").to_owned();
    for part in [
        "%1 : tensor<8x6xf32>",
        "sharding `[{\"x\"}, {}]` over `@mesh`",
        "each device holds `tensor<4x6xf32>`: 96 B",
        "`x` in dimension 0 comes from",
        "through stablehlo.tanh, stablehlo.dot",
        "modelled on flat: ",
        " of computing, 0 s of communication",
    ] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    // The same value at a use, and an op.
    assert_eq!(editor.ask_at("hover", 4, 10)["contents"]["value"], text);
    let op = editor.ask_at("hover", 7, 12)["contents"]["value"].as_str().expect("a text").to_owned();
    assert!(op.contains("stablehlo.tanh : (tensor<8x4xf32>) -> (tensor<8x4xf32>)"), "{op}");
    assert_eq!(editor.ask_at("hover", 0, 0)["contents"]["value"].as_str().map(|t| t.contains("sdy.mesh")), Some(true));
    assert_eq!(editor.ask_at("hover", 99, 0), json!(null));

    // %0 of the first function is not %0 of the second.
    assert_eq!(starts(&editor.ask_at("definition", 3, 21)), ["2:2"]);
    assert_eq!(starts(&editor.ask_at("references", 2, 3)), ["2:2", "3:21"]);
    assert_eq!(starts(&editor.ask_at("references", 7, 3)), ["7:2", "8:9"]);
    assert_eq!(starts(&editor.ask_at("definition", 2, 14)), ["6:18"]);
    assert_eq!(starts(&editor.ask_at("references", 0, 10)), ["0:9", "1:66"]);

    let hints = editor.ask_about("inlayHint");
    let hints: Vec<String> = hints
        .as_array()
        .expect("a list")
        .iter()
        .map(|h| {
            format!("{}:{} {}", h["position"]["line"], h["position"]["character"], h["label"].as_str().unwrap_or(""))
        })
        .collect();
    for hint in ["1:18 [{\"x\"}, {}]", "3:4 [{\"x\"}, {}]", "7:4 [{\"x\"}, {}]"] {
        assert!(hints.iter().any(|h| h == hint), "no `{hint}` in {hints:?}");
    }

    let symbols = editor.ask_about("documentSymbol");
    let names: Vec<&str> = symbols.as_array().expect("a list").iter().filter_map(|s| s["name"].as_str()).collect();
    assert_eq!(names, ["@mesh", "@main", "@layer"]);
    assert_eq!(symbols[1]["range"]["end"], json!({"line": 5, "character": 1}));
    assert_eq!(symbols[2]["selectionRange"]["start"], json!({"line": 6, "character": 18}));
    let folds = editor.ask_about("foldingRange");
    let lines: Vec<(&Value, &Value)> =
        folds.as_array().expect("a list").iter().map(|f| (&f["startLine"], &f["endLine"])).collect();
    assert_eq!(lines, [(&json!(1), &json!(4)), (&json!(6), &json!(8))]);
    editor.end();
}

#[test]
fn errors_appear_while_the_user_types() {
    let mut editor = Editor::new();
    assert_eq!(editor.open(MODEL), [""; 0]);
    // After `é`, whose two bytes are one unit, insert an extra comma and remove it again.
    editor.write(&[Editor::change(2, 3, 40, 40, ",")]);
    let broken = editor.diagnostics();
    assert!(broken.iter().any(|d| d.starts_with("3:")), "{broken:?}");
    // The rest of the text is still analyzed.
    assert_eq!(starts(&editor.ask_at("references", 7, 3)), ["7:2", "8:9"]);
    editor.write(&[Editor::change(3, 3, 40, 41, "")]);
    assert_eq!(editor.diagnostics(), [""; 0]);

    // Two faults at once, each with a replacement.
    editor.write(&[Editor::change(4, 7, 7, 21, "stablehlo.tnh")]);
    assert_eq!(editor.diagnostics(), ["7:7-20 1 unknown-op 'stablehlo.tnh' is not a known op"]);
    editor.write(&[Editor::change(5, 3, 21, 23, "%q")]);
    let both = editor.diagnostics();
    assert_eq!(both.len(), 2, "{both:?}");
    assert_eq!(both[0], "3:21-23 1 undefined-value %q is not defined here");
    let fixes = editor.ask_about("codeAction");
    let edits: Vec<&Value> =
        fixes.as_array().expect("a list").iter().map(|f| &f["edit"]["documentChanges"][0]["edits"][0]).collect();
    let tanh = edits.iter().find(|e| e["newText"] == "stablehlo.tanh").expect("a fix");
    assert_eq!(tanh["range"]["start"], json!({"line": 7, "character": 7}));

    // An empty text, nonsense, and a valid program again. A second document is independent.
    for (version, text) in [(6, ""), (7, "}}}} %%% \"é"), (8, MODEL)] {
        let document = json!({"uri": URI, "version": version});
        let params = json!({"textDocument": document, "contentChanges": [{"text": text}]});
        editor.say("textDocument/didChange", params);
        let found = editor.diagnostics();
        assert_eq!(found.is_empty(), version != 7, "{version}: {found:?}");
    }
    editor.say("textDocument/didClose", json!({"textDocument": {"uri": URI}}));
    assert_eq!(editor.diagnostics(), [""; 0]);
    editor.end();
}

#[test]
fn requests_can_be_cancelled_and_nonsense_is_refused() {
    let mut editor = Editor::new();
    assert_eq!(editor.open(MODEL), [""; 0]);
    let place = json!({"textDocument": {"uri": URI}, "position": {"line": 3, "character": 3}});
    // Requests that arrive before the current text is analyzed.
    let [first, second] = [0; 2].map(|_| editor.request("textDocument/hover", place.clone()));
    let cancel = json!({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": first["id"]}});
    let whole = |version: i32, text: &str| {
        let document = json!({"uri": URI, "version": version});
        let params = json!({"textDocument": document, "contentChanges": [{"text": text}]});
        json!({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": params})
    };
    let (long, again) = (whole(2, &layers(3000)), whole(3, MODEL));
    editor.write(&[long, first.clone(), second.clone(), cancel, again]);
    for (request, code) in [(first, -32800), (second, -32801)] {
        let answer = editor.read();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&request["id"], &json!(code)));
    }
    // The editor gets no diagnostics of the intermediate text.
    assert_eq!(editor.diagnostics(), [""; 0]);

    for (method, params, code) in [
        ("textDocument/nonsense", json!({}), -32601),
        ("textDocument/hover", json!({"nonsense": 1}), -32602),
        (
            "textDocument/hover",
            json!({"textDocument": {"uri": "file:///other"}, "position": {"line": 0, "character": 0}}),
            -32602,
        ),
    ] {
        let request = editor.request(method, params);
        editor.write(&[request]);
        assert_eq!(editor.read()["error"]["code"], code, "{method}");
    }
    // Messages that aren't JSON are skipped.
    editor.input.as_mut().expect("it is open").write_all(b"Content-Length: 3\r\n\r\n{{{").expect("the server reads");
    assert_eq!(starts(&editor.ask_at("definition", 3, 21)), ["2:2"]);
    editor.end();
}

#[test]
fn an_absurd_message_length_is_refused_without_allocating_it() {
    for header in
        ["Content-Length: 99999999999999\r\n\r\n{}", "Content-Length: -1\r\n\r\n", "nonsense\r\n\r\n", "Content-Le"]
    {
        let mut server = Command::new(env!("CARGO_BIN_EXE_shardc"))
            .arg("lsp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        server.stdin.take().expect("it is piped").write_all(header.as_bytes()).expect("the server reads");
        let ended = server.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(matches!(ended.status.code(), Some(1)), "{header:?}: {said}");
        assert!(said.starts_with("shardc: ") && said.lines().count() == 1, "{header:?}: {said}");
    }
}

/// Returns a program of `count` layers over a mesh of two axes, with the weights of adjacent layers sharded
/// differently. No two layers have the same widths, because equal layers are planned as one, which would be too fast.
fn layers(count: usize) -> String {
    let weight = |i: usize| format!("tensor<{}x{}xf32>", 8 * i + 8, 8 * i + 16);
    let value = |i: usize| format!("tensor<64x{}xf32>", 8 * i + 8);
    let mut text = format!("sdy.mesh @mesh = <[\"x\"=2, \"y\"=4]>\nfunc.func @main(%0: {}", value(0));
    for i in 0..count {
        let axes = if i % 2 == 0 { "{\"x\"}, {\"y\"}" } else { "{\"y\"}, {}" };
        text += &format!(", %w{i}: {} {{sdy.sharding = #sdy.sharding<@mesh, [{axes}]>}}", weight(i));
    }
    text += &format!(") -> {} {{\n", value(count));
    for i in 0..count {
        let (from, by, to) = (value(i), weight(i), value(i + 1));
        text += &format!("  %{} = stablehlo.dot %{i}, %w{i} : ({from}, {by}) -> {to}\n", i + 1);
    }
    text + &format!("  return %{count} : {}\n}}\n", value(count))
}

#[test]
fn requests_are_answered_while_a_program_is_planned() {
    let mut editor = Editor::new();
    // Planning takes many times longer than an answer waits.
    assert_eq!(editor.open(&layers(300)), [""; 0]);
    let cost = |editor: &mut Editor| {
        let hover = editor.ask_at("hover", 2, 3)["contents"]["value"].as_str().expect("a text").to_owned();
        assert!(hover.contains("%1 : tensor<64x16xf32>"), "{hover}");
        hover.lines().last().expect("a line").to_owned()
    };
    // No request waits for the plan. Other requests are answered meanwhile, and finally the costs are available.
    assert_eq!(cost(&mut editor), "still planning for flat: the cost is not available yet");
    assert_eq!(starts(&editor.ask_at("definition", 3, 23)), ["2:2"]);
    while !cost(&mut editor).starts_with("modelled on flat: ") {}
    // A changed text is analyzed again.
    editor.write(&[Editor::change(2, 2, 7, 20, "stablehlo.dat")]);
    assert_eq!(editor.diagnostics().len(), 1);
    editor.end();
}

#[test]
fn names_in_the_vs_code_extension_exist() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../editors/vscode");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let parsed = |name: &str| -> Value { serde_json::from_str(&read(name)).unwrap_or_else(|e| panic!("{name}: {e}")) };
    let package = parsed("package.json");
    let client = read(package["main"].as_str().expect("a file").trim_start_matches("./"));
    assert!(client.contains("args: [\"lsp\""), "the client starts another command");
    for setting in package["contributes"]["configuration"]["properties"].as_object().expect("settings").keys() {
        let name = setting.strip_prefix("shardc.").expect("a setting of ours");
        assert!(client.contains(&format!("get(\"{name}\"")), "the client doesn't read {setting}");
    }
    let language = &package["contributes"]["languages"][0];
    parsed(language["configuration"].as_str().expect("a file"));
    let grammar = parsed(package["contributes"]["grammars"][0]["path"].as_str().expect("a file"));
    assert_eq!(grammar["scopeName"], package["contributes"]["grammars"][0]["scopeName"]);
    // Every included rule is defined.
    let rules = grammar["repository"].as_object().expect("rules");
    for include in grammar["patterns"].as_array().expect("a list") {
        let name = include["include"].as_str().and_then(|i| i.strip_prefix('#')).expect("a rule");
        assert!(rules.contains_key(name), "no rule {name}");
    }
}
