// Starts `shardc lsp` and connects the editor with it.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = () => {
  const settings = workspace.getConfiguration("shardc");
  const target = settings.get("target", "");
  const server = {
    command: settings.get("path", "shardc"),
    args: ["lsp", ...(target ? ["--target", target] : [])],
  };
  client = new LanguageClient("shardc", "shardc", server, { documentSelector: [{ language: "mlir" }] });
  return client.start();
};

exports.deactivate = () => client?.stop();
