//! The language server: what an editor shows of a program while it is written.
//!
//! One thread answers one message after the other. What has come already is read before anything is answered, so that
//! requests can be cancelled and several changes cost one look at the text. Everything known of a text is computed when it
//! is asked for, and kept until the text changes.

mod analysis;
mod answers;
mod document;
mod names;

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, ErrorKind, Read, Result, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::{
    CodeActionProviderCapability, DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams,
    FoldingRangeProviderCapability, HoverProviderCapability, InitializeResult, OneOf, PublishDiagnosticsParams,
    ServerCapabilities, ServerInfo, TextDocumentSyncCapability, TextDocumentSyncKind,
};
use serde::de::DeserializeOwned;

use self::document::Document;
use crate::{CompileOptions, Compiler};

/// Serves an editor until it says `exit`, or goes away. Whether it said `shutdown` before.
///
/// # Errors
/// If the streams fail.
pub(super) fn serve(
    compiler: &Compiler,
    options: CompileOptions,
    input: &mut dyn Read,
    output: &mut dyn Write,
) -> Result<bool> {
    let mut server = Server { compiler, options, output, documents: BTreeMap::new(), asked: Asked::Nothing };
    let mut input = BufReader::new(input);
    let mut waiting: VecDeque<Message> = VecDeque::new();
    loop {
        while waiting.is_empty() || !input.buffer().is_empty() {
            match read(&mut input)? {
                Some(message) => server.take(message, &mut waiting)?,
                None if waiting.is_empty() => return Ok(server.asked == Asked::Shutdown),
                None => break,
            }
        }
        match waiting.pop_front() {
            Some(Message::Request(request)) => server.answer(request)?,
            Some(Message::Notification(said)) if said.method == "exit" => return Ok(server.asked == Asked::Shutdown),
            Some(Message::Notification(said)) => server.note(said),
            Some(Message::Response(_)) | None => {}
        }
        if waiting.is_empty() {
            server.publish()?;
        }
    }
}

/// The next message; what is no message is skipped.
fn read(input: &mut impl BufRead) -> Result<Option<Message>> {
    loop {
        match Message::read(input) {
            Err(e) if e.kind() == ErrorKind::InvalidData => {}
            read => return read,
        }
    }
}

/// How far the conversation is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Nothing,
    Initialize,
    Shutdown,
}

/// The server's side of a conversation.
struct Server<'a> {
    compiler: &'a Compiler,
    options: CompileOptions,
    output: &'a mut dyn Write,
    /// The open texts by their addresses.
    documents: BTreeMap<String, Document>,
    asked: Asked,
}

impl Server<'_> {
    /// Puts a message behind those that wait. A request that is cancelled while it waits is answered at once.
    fn take(&mut self, message: Message, waiting: &mut VecDeque<Message>) -> Result<()> {
        if let Message::Notification(said) = &message
            && said.method == "$/cancelRequest"
        {
            let id: Option<RequestId> = serde_json::from_value(said.params["id"].clone()).ok();
            let is = |m: &Message| matches!(m, Message::Request(r) if Some(&r.id) == id.as_ref());
            if let Some(at) = waiting.iter().position(is)
                && let Some(Message::Request(request)) = waiting.remove(at)
            {
                return self.refuse(request.id, ErrorCode::RequestCanceled, "cancelled");
            }
            return Ok(());
        }
        waiting.push_back(message);
        Ok(())
    }

    fn send(&mut self, message: impl Into<Message>) -> Result<()> {
        let message: Message = message.into();
        message.write(&mut self.output)?;
        self.output.flush()
    }

    fn refuse(&mut self, id: RequestId, code: ErrorCode, why: &str) -> Result<()> {
        self.send(Response::new_err(id, code as i32, why.to_owned()))
    }

    /// Answers a request; a bug of ours in one is an answer too.
    fn answer(&mut self, request: Request) -> Result<()> {
        let id = request.id.clone();
        match (self.asked, request.method.as_str()) {
            (_, "initialize") => {
                self.asked = Asked::Initialize;
                return self.send(Response::new_ok(id, initialized()));
            }
            (Asked::Nothing, _) => return self.refuse(id, ErrorCode::ServerNotInitialized, "say 'initialize' first"),
            (Asked::Shutdown, _) => return self.refuse(id, ErrorCode::InvalidRequest, "it was shut down"),
            (_, "shutdown") => {
                self.asked = Asked::Shutdown;
                return self.send(Response::new_ok(id, ()));
            }
            _ => {}
        }
        let answer =
            catch_unwind(AssertUnwindSafe(|| answers::answer(self.compiler, &self.options, &self.documents, &request)));
        match answer {
            Ok(Ok(result)) => self.send(Response { id, result: Some(result), error: None }),
            Ok(Err((code, why))) => self.refuse(id, code, &why),
            Err(_) => self.refuse(id, ErrorCode::InternalError, "a bug in shardc; please report it with the program"),
        }
    }

    /// Takes note of what the editor says of its texts.
    fn note(&mut self, said: Notification) {
        match said.method.as_str() {
            "textDocument/didOpen" => {
                if let Some(opened) = parameters::<DidOpenTextDocumentParams>(said) {
                    let text = opened.text_document;
                    let key = text.uri.as_str().to_owned();
                    self.documents.insert(key, Document::new(text.uri, text.version, text.text));
                }
            }
            "textDocument/didChange" => {
                if let Some(changed) = parameters::<DidChangeTextDocumentParams>(said)
                    && let Some(document) = self.documents.get_mut(changed.text_document.uri.as_str())
                {
                    document.change(changed.text_document.version, &changed.content_changes);
                }
            }
            "textDocument/didClose" => {
                if let Some(closed) = parameters::<DidCloseTextDocumentParams>(said)
                    && let Some(document) = self.documents.get_mut(closed.text_document.uri.as_str())
                {
                    document.closed = true;
                    document.published = false;
                }
            }
            _ => {}
        }
    }

    /// Says what is wrong with the texts that changed; nothing is, of those that were closed.
    fn publish(&mut self) -> Result<()> {
        if self.asked != Asked::Initialize {
            return Ok(());
        }
        let changed: Vec<String> =
            self.documents.iter().filter(|(_, d)| !d.published).map(|(key, _)| key.clone()).collect();
        for key in changed {
            let Some(document) = self.documents.get_mut(&key) else { continue };
            document.published = true;
            let diagnostics = match document.closed {
                true => Vec::new(),
                false => {
                    let look = || answers::diagnostics(document.analysis(self.compiler, &self.options), document);
                    catch_unwind(AssertUnwindSafe(look)).unwrap_or_default()
                }
            };
            let (uri, version) = (document.uri.clone(), Some(document.version));
            if document.closed {
                self.documents.remove(&key);
            }
            let params = PublishDiagnosticsParams { uri, diagnostics, version };
            self.send(Notification::new("textDocument/publishDiagnostics".to_owned(), params))?;
        }
        Ok(())
    }
}

fn parameters<T: DeserializeOwned>(said: Notification) -> Option<T> {
    serde_json::from_value(said.params).ok()
}

/// What the server can do.
fn initialized() -> InitializeResult {
    fn yes<T>() -> Option<OneOf<bool, T>> {
        Some(OneOf::Left(true))
    }
    InitializeResult {
        capabilities: ServerCapabilities {
            text_document_sync: Some(TextDocumentSyncCapability::Kind(TextDocumentSyncKind::INCREMENTAL)),
            hover_provider: Some(HoverProviderCapability::Simple(true)),
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
