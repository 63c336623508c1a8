"""The compiler itself, compiled from Rust."""

from typing import Any, AnyStr, final

__all__ = [
    "__version__",
    "Diagnostic",
    "Summary",
    "compile",
    "is_bytecode",
    "text_of_bytecode",
    "run",
    "parse_bytes",
    "target_fault",
]

__version__: str

@final
class Diagnostic:
    """One message about a program."""

    def __new__(
        cls,
        severity: str,
        code: str,
        message: str,
        notes: list[str],
        place: tuple[int, int] | None,
        source: tuple[str, int, int] | None,
        text: str,
    ) -> Diagnostic: ...
    def __reduce__(self) -> tuple[type[Diagnostic], tuple[Any, ...]]: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    @property
    def severity(self) -> str:
        """`"error"`, `"warning"` or `"remark"`."""
    @property
    def code(self) -> str:
        """The stable name of the kind of error; empty for remarks."""
    @property
    def message(self) -> str:
        """What was expected and found."""
    @property
    def notes(self) -> list[str]:
        """How to fix it."""
    @property
    def place(self) -> tuple[int, int] | None:
        """Line and column in the MLIR text, from 1."""
    @property
    def source(self) -> tuple[str, int, int] | None:
        """File, line and column of the user's program, from 1, where JAX recorded them."""
    @property
    def text(self) -> str:
        """The full text, with the line of MLIR."""

@final
class Summary:
    """A summary of a plan."""

    @property
    def collectives(self) -> list[tuple[str, int]]:
        """The collectives of the per-device program by kind, each with its number."""
    @property
    def step_s(self) -> float:
        """The modelled seconds of one step on the target."""
    @property
    def target(self) -> str:
        """The target's name."""

def compile(
    program: AnyStr,
    *,
    name: str,
    pipeline: str,
    target: str | None = None,
    described: str | None = None,
    memory: int | None = None,
    plan: str = "full",
    locations: bool = False,
    causes: bool = False,
    summary: bool = False,
) -> tuple[AnyStr | None, list[Diagnostic], Summary | None]: ...
def is_bytecode(bytes: bytes) -> bool: ...
def text_of_bytecode(bytecode: bytes, name: str) -> tuple[str | None, list[Diagnostic]]: ...
def run(arguments: list[str], input: str) -> tuple[int, str, str]: ...
def parse_bytes(text: str) -> int | None: ...
def target_fault(name: str, described: str | None = None) -> str | None: ...
