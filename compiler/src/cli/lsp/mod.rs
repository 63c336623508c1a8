//! The language server: what an editor shows about a program while the user writes it.
//!
//! One thread reads messages and one sends them, so that the server responds at any time. Three others do the slow
//! work: one analyzes changed texts, one answers requests, and one plans programs to price their ops. A text is
//! analyzed after a pause in typing. The analysis of a text that changed meanwhile is dropped, and requests about it
//! are refused, as the protocol specifies.

mod analysis;
mod answers;
mod names;
mod text;
mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, ErrorKind, Read, Result, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::{
    CodeActionProviderCapability, Diagnostic, DidChangeTextDocumentParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, FoldingRangeProviderCapability, InitializeResult, OneOf, PublishDiagnosticsParams,
    ServerCapabilities, ServerInfo, TextDocumentSyncCapability, TextDocumentSyncKind, Uri,
};
use serde::de::DeserializeOwned;

use self::answers::Analyst;
use self::text::{Snapshot, Text};
use self::work::Worker;
use crate::{CompileOptions, Compiler};

/// The pause in typing after which a text is analyzed.
const PAUSE: Duration = Duration::from_millis(30);

/// Serves an editor until it sends `exit` or disconnects. Returns whether it sent `shutdown` before.
///
/// # Errors
/// If the streams fail.
pub(super) fn serve(
    compiler: &Compiler,
    options: CompileOptions,
    input: &mut (dyn Read + Send),
    output: &mut dyn Write,
) -> Result<bool> {
    let (events, next) = channel();
    let analyst = Analyst { compiler: compiler.clone(), options, pricer: Worker::new("lsp-price")? };
    let mut server = Server {
        analyst: Arc::new(analyst),
        output,
        events: events.clone(),
        looker: Worker::new("lsp-look")?,
        answerer: Worker::new("lsp-answer")?,
        documents: BTreeMap::new(),
        waiting: Vec::new(),
        running: BTreeSet::new(),
        looking: false,
        asked: ConnectionState::Nothing,
        gone: false,
    };
    thread::scope(|scope| {
        scope.spawn(move || read_all(input, &events));
        server.talk(&next)
    })
}

/// Passes on all messages, including the last one.
fn read_all(input: &mut (dyn Read + Send), events: &Sender<Event>) {
    let mut input = BufReader::new(input);
    loop {
        let read = read(&mut input);
        // Stop after the last message: reading on could wait for an editor that is waiting for us to exit.
        let last = match &read {
            Ok(Some(Message::Notification(said))) => said.method == "exit",
            Ok(Some(_)) => false,
            Ok(None) | Err(_) => true,
        };
        if events.send(Event::Said(read)).is_err() || last {
            return;
        }
    }
}

/// Reads the next message; skips invalid ones.
fn read(input: &mut impl BufRead) -> Result<Option<Message>> {
    while let Some(frame) = frame(input)? {
        match Message::read(&mut frame.as_slice()) {
            Err(e) if e.kind() == ErrorKind::InvalidData => {}
            read => return read,
        }
    }
    Ok(None)
}

/// Reads the bytes of the next message with its header; if the header is invalid, the bytes up to the fault. Memory is
/// allocated as bytes arrive, not by the length in the header.
fn frame(input: &mut impl BufRead) -> Result<Option<Vec<u8>>> {
    let (mut frame, mut length) = (Vec::new(), 0);
    loop {
        let start = frame.len();
        if input.read_until(b'\n', &mut frame)? == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&frame[start..]);
        if line == "\r\n" {
            break;
        }
        let Some((name, value)) = line.strip_suffix("\r\n").and_then(|line| line.split_once(": ")) else {
            return Ok(Some(frame));
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.parse().unwrap_or(0);
        }
    }
    match input.take(length).read_to_end(&mut frame)? as u64 {
        read if read < length => Err(ErrorKind::UnexpectedEof.into()),
        _ => Ok(Some(frame)),
    }
}

/// The events that the sending thread handles.
enum Event {
    /// A message of the editor; `None` if it disconnected.
    Said(Result<Option<Message>>),
    /// The analysis of a text; `None` after a panic in shardc.
    Analyzed(String, Option<(Arc<Snapshot>, Vec<Diagnostic>)>),
    /// The answer to a request.
    Answered(Response),
}

/// The state of the connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ConnectionState {
    Nothing,
    Initialize,
    Shutdown,
}

/// An open text.
struct Document {
    text: Text,
    /// The analysis of this version.
    snapshot: Option<Arc<Snapshot>>,
    /// The time since when it waits for analysis; `None` while it is being analyzed, and afterwards.
    due: Option<Instant>,
}

/// The server's state.
struct Server<'a> {
    analyst: Arc<Analyst>,
    output: &'a mut dyn Write,
    events: Sender<Event>,
    looker: Worker,
    answerer: Worker,
    /// The open texts by URI.
    documents: BTreeMap<String, Document>,
    /// Requests about texts that aren't analyzed yet, with the texts' URIs.
    waiting: Vec<(String, Request)>,
    /// The requests in progress.
    running: BTreeSet<RequestId>,
    /// Whether an analysis is in progress.
    looking: bool,
    asked: ConnectionState,
    /// Whether the editor sends nothing more. Earlier requests are still answered.
    gone: bool,
}

impl Server<'_> {
    /// Handles events until the editor ends the connection.
    fn talk(&mut self, next: &Receiver<Event>) -> Result<bool> {
        while !self.gone || self.is_busy() {
            let due = self.documents.values().filter_map(|d| d.due).min().filter(|_| !self.looking);
            let event = match due {
                None => next.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => next.recv_timeout((due + PAUSE).saturating_duration_since(Instant::now())),
            };
            match event {
                Ok(Event::Said(said)) => match said? {
                    Some(Message::Request(request)) => self.take(request)?,
                    Some(Message::Notification(said)) if said.method == "exit" => self.gone = true,
                    Some(Message::Notification(said)) => self.note(said)?,
                    Some(Message::Response(_)) => {}
                    None => self.gone = true,
                },
                Ok(Event::Analyzed(key, snapshot)) => self.analyzed(key, snapshot)?,
                Ok(Event::Answered(response)) => {
                    // A cancelled request was already answered.
                    if self.running.remove(&response.id) {
                        self.send(response)?;
                    }
                }
                Err(RecvTimeoutError::Timeout) => self.look(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        Ok(self.asked == ConnectionState::Shutdown)
    }

    /// Returns whether messages are pending that the editor needn't ask for.
    fn is_busy(&self) -> bool {
        self.looking || !self.running.is_empty() || self.documents.values().any(|d| d.due.is_some())
    }

    fn send(&mut self, message: impl Into<Message>) -> Result<()> {
        let message: Message = message.into();
        message.write(&mut self.output)?;
        self.output.flush()
    }

    fn refuse(&mut self, id: RequestId, code: ErrorCode, why: &str) -> Result<()> {
        self.send(Response::new_err(id, code as i32, why.to_owned()))
    }

    /// Handles a request, whose answer may come later.
    fn take(&mut self, request: Request) -> Result<()> {
        let id = request.id.clone();
        match (self.asked, request.method.as_str()) {
            (_, "initialize") => {
                self.asked = ConnectionState::Initialize;
                return self.send(Response::new_ok(id, initialized()));
            }
            (ConnectionState::Nothing, _) => {
                return self.refuse(id, ErrorCode::ServerNotInitialized, "expected 'initialize' first");
            }
            (ConnectionState::Shutdown, _) => {
                return self.refuse(id, ErrorCode::InvalidRequest, "the server was shut down");
            }
            (_, "shutdown") => {
                self.asked = ConnectionState::Shutdown;
                return self.send(Response::new_ok(id, ()));
            }
            (_, method) if !answers::METHODS.contains(&method) => {
                let why = format!("unknown method {method}");
                return self.refuse(id, ErrorCode::MethodNotFound, &why);
            }
            _ => {}
        }
        let Some(key) = request.params["textDocument"]["uri"].as_str().map(str::to_owned) else {
            return self.refuse(id, ErrorCode::InvalidParams, "the request names no document");
        };
        match self.documents.get(&key) {
            None => self.refuse(id, ErrorCode::InvalidParams, &format!("{key} is not open")),
            Some(Document { snapshot: Some(snapshot), .. }) => {
                let snapshot = Arc::clone(snapshot);
                self.answer(request, snapshot);
                Ok(())
            }
            Some(_) => {
                self.waiting.push((key, request));
                Ok(())
            }
        }
    }

    /// Answers a request on a worker. A panic in shardc becomes an error response.
    fn answer(&mut self, request: Request, snapshot: Arc<Snapshot>) {
        self.running.insert(request.id.clone());
        let (analyst, events) = (Arc::clone(&self.analyst), self.events.clone());
        self.answerer.start(move || {
            let id = request.id.clone();
            let answer = catch_unwind(AssertUnwindSafe(|| analyst.answer(&snapshot, &request)));
            let response = match answer {
                Ok(Ok(result)) => Response { id, result: Some(result), error: None },
                Ok(Err((code, why))) => Response::new_err(id, code as i32, why),
                Err(_) => {
                    let why = "a bug in shardc; please report it with the program";
                    Response::new_err(id, ErrorCode::InternalError as i32, why.to_owned())
                }
            };
            // The server may have ended.
            let _ = events.send(Event::Answered(response));
        });
    }

    /// Handles a notification of the editor about texts and requests.
    fn note(&mut self, said: Notification) -> Result<()> {
        match said.method.as_str() {
            "$/cancelRequest" => {
                let id: Option<RequestId> = serde_json::from_value(said.params["id"].clone()).ok();
                let Some(id) = id else { return Ok(()) };
                let waits = self.waiting.len();
                self.waiting.retain(|(_, request)| request.id != id);
                if self.running.remove(&id) || self.waiting.len() < waits {
                    return self.refuse(id, ErrorCode::RequestCanceled, "cancelled");
                }
            }
            "textDocument/didOpen" => {
                if let Some(opened) = parameters::<DidOpenTextDocumentParams>(said) {
                    let text = opened.text_document;
                    let key = text.uri.as_str().to_owned();
                    let text = Text::new(text.uri, text.version, text.text);
                    self.documents.insert(key, Document { text, snapshot: None, due: Some(Instant::now()) });
                }
            }
            "textDocument/didChange" => {
                if let Some(changed) = parameters::<DidChangeTextDocumentParams>(said)
                    && let Some(document) = self.documents.get_mut(changed.text_document.uri.as_str())
                {
                    document.text.change(changed.text_document.version, &changed.content_changes);
                    document.due = Some(Instant::now());
                    outdated(&mut document.snapshot);
                    return self.give_up(changed.text_document.uri.as_str(), "the document has changed");
                }
            }
            "textDocument/didClose" => {
                if let Some(closed) = parameters::<DidCloseTextDocumentParams>(said)
                    && let Some(mut document) = self.documents.remove(closed.text_document.uri.as_str())
                {
                    outdated(&mut document.snapshot);
                    self.give_up(document.text.uri.as_str(), "the document was closed")?;
                    return self.publish(document.text.uri, document.text.version, Vec::new());
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Refuses the waiting requests about an old version of a text.
    fn give_up(&mut self, key: &str, why: &str) -> Result<()> {
        let (given_up, waiting) = std::mem::take(&mut self.waiting).into_iter().partition(|(about, _)| about == key);
        self.waiting = waiting;
        let given_up: Vec<(String, Request)> = given_up;
        given_up.into_iter().try_for_each(|(_, request)| self.refuse(request.id, ErrorCode::ContentModified, why))
    }

    /// Starts the analysis of a text that hasn't changed for a moment.
    fn look(&mut self) {
        let now = Instant::now();
        let due = |(_, d): &(&String, &mut Document)| d.due.is_some_and(|since| since + PAUSE <= now);
        let Some((key, document)) = self.documents.iter_mut().find(due) else { return };
        (document.due, self.looking) = (None, true);
        let (key, text) = (key.clone(), document.text.clone());
        let (analyst, events) = (Arc::clone(&self.analyst), self.events.clone());
        self.looker.start(move || {
            let look = || {
                let snapshot = Snapshot::new(&analyst.compiler, &analyst.options, text);
                let diagnostics = answers::diagnostics(&snapshot);
                (Arc::new(snapshot), diagnostics)
            };
            let snapshot = catch_unwind(AssertUnwindSafe(look)).ok();
            let _ = events.send(Event::Analyzed(key, snapshot));
        });
    }

    /// Publishes the diagnostics of a text, and starts answering the requests that waited for it.
    fn analyzed(&mut self, key: String, snapshot: Option<(Arc<Snapshot>, Vec<Diagnostic>)>) -> Result<()> {
        self.looking = false;
        // The text was closed, or it changed meanwhile and will be analyzed again.
        let Some(document) = self.documents.get_mut(&key).filter(|d| d.due.is_none()) else { return Ok(()) };
        let (uri, version) = (document.text.uri.clone(), document.text.version);
        let Some((snapshot, diagnostics)) = snapshot else {
            return self.give_up(&key, "a bug in shardc; please report it with the program");
        };
        document.snapshot = Some(Arc::clone(&snapshot));
        let (ready, waiting) = std::mem::take(&mut self.waiting).into_iter().partition(|(about, _)| *about == key);
        self.waiting = waiting;
        let ready: Vec<(String, Request)> = ready;
        ready.into_iter().for_each(|(_, request)| self.answer(request, Arc::clone(&snapshot)));
        match self.asked {
            ConnectionState::Initialize => self.publish(uri, version, diagnostics),
            ConnectionState::Nothing | ConnectionState::Shutdown => Ok(()),
        }
    }

    fn publish(&mut self, uri: Uri, version: i32, diagnostics: Vec<Diagnostic>) -> Result<()> {
        let params = PublishDiagnosticsParams { uri, diagnostics, version: Some(version) };
        self.send(Notification::new("textDocument/publishDiagnostics".to_owned(), params))
    }
}

/// Drops the analysis of an old version of a text.
fn outdated(snapshot: &mut Option<Arc<Snapshot>>) {
    if let Some(snapshot) = snapshot.take() {
        snapshot.outdate();
    }
}

fn parameters<T: DeserializeOwned>(said: Notification) -> Option<T> {
    serde_json::from_value(said.params).ok()
}

/// Returns the server's capabilities.
fn initialized() -> InitializeResult {
    fn yes<T>() -> Option<OneOf<bool, T>> {
        Some(OneOf::Left(true))
    }
    InitializeResult {
        capabilities: ServerCapabilities {
            text_document_sync: Some(TextDocumentSyncCapability::Kind(TextDocumentSyncKind::INCREMENTAL)),
            hover_provider: Some(lsp_types::HoverProviderCapability::Simple(true)),
            definition_provider: yes(),
            references_provider: yes(),
            document_symbol_provider: yes(),
            inlay_hint_provider: yes(),
            folding_range_provider: Some(FoldingRangeProviderCapability::Simple(true)),
            code_action_provider: Some(CodeActionProviderCapability::Simple(true)),
            ..ServerCapabilities::default()
        },
        server_info: Some(ServerInfo {
            name: "shardc".to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        }),
    }
}
