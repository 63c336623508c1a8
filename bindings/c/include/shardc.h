/* shardc for C: runs passes on a program (text or MLIR bytecode), and returns a program and diagnostics.
 *
 * Every function may be called from any thread. Strings end with a zero byte. A string in a result is valid until the
 * result is freed, other strings are always valid. No function aborts or throws: a bug in the compiler becomes a
 * diagnostic with the code "bug".
 */
#ifndef SHARDC_H
#define SHARDC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The result of a run of passes: a program, or errors. */
typedef struct ShardcResult ShardcResult;

/* How the result is printed. */
enum {
  /* Every op in MLIR's generic form, which every build of MLIR reads. */
  SHARDC_GENERIC = 1,
  /* With the locations of ops. */
  SHARDC_LOCATIONS = 2,
  /* With the cause of each collective, as the attribute shardc.cause. */
  SHARDC_CAUSES = 4,
  /* With groups of collectives as axes of the mesh where possible, instead of lists of devices. */
  SHARDC_AXES = 8,
  /* As MLIR bytecode instead of text. */
  SHARDC_BYTECODE = 16
};

enum { SHARDC_ERROR = 0, SHARDC_WARNING = 1, SHARDC_REMARK = 2 };

/* An error, warning or remark about a program. */
typedef struct {
  /* SHARDC_ERROR, SHARDC_WARNING or SHARDC_REMARK. */
  int32_t severity;
  /* The name of the kind of error; `shardc help codes` explains it. */
  const char *code;
  /* What was expected and found, and how to fix it. */
  const char *message;
  /* The full text for people, with the line of the program. */
  const char *text;
  /* Line and column in the text, from 1; 0 if the diagnostic has no place. */
  uint32_t line, column;
  /* The file, line and column of the user's source that the op came from; NULL if the op's location names no file. */
  const char *source_file;
  uint32_t source_line, source_column;
} ShardcDiagnostic;

/* A pass, or a pipeline of passes. */
typedef struct {
  const char *name;
  const char *description;
} ShardcPassInfo;

/* Returns the version of the library: "0.1.0". */
const char *shardc_version(void);

/* Return the number of passes and pipelines, and one of them by number; past the end, its name is NULL. */
size_t shardc_pass_count(void);
ShardcPassInfo shardc_pass(size_t number);

/* Runs passes on a program. Returns a result that is never NULL; free it with shardc_free.
 *
 * `text` has `length` bytes: text of StableHLO, Shardy and other dialects, MLIR bytecode (including StableHLO's portable
 * artifacts), or the output of JAX's Exported.serialize(). `name` is the file name for diagnostics. `passes` lists passes
 * and pipelines with options: "compile", "propagate,plan{search=greedy}". `flags` combines SHARDC_GENERIC and the others.
 */
ShardcResult *shardc_run_passes(const char *text, size_t length, const char *name, const char *passes, uint32_t flags);

/* The same for a custom target: `target` is the text of a TOML file, in the format of --target of the command line.
 * `passes` refers to the target by its name: "compile{target=acme}". Errors in the file are diagnostics about its text.
 */
ShardcResult *shardc_run_passes_for(const char *text, size_t length, const char *name, const char *passes,
                                    uint32_t flags, const char *target);

/* Returns the program, `*length` bytes and a zero byte; NULL if there were errors. */
const char *shardc_result_text(const ShardcResult *result, size_t *length);

/* Return the number of diagnostics, including warnings, and one of them by number; past the end, its strings are NULL. */
size_t shardc_result_diagnostic_count(const ShardcResult *result);
ShardcDiagnostic shardc_result_diagnostic(const ShardcResult *result, size_t number);

/* Frees a result; NULL does nothing. */
void shardc_free(ShardcResult *result);

#ifdef __cplusplus
}
#endif

#endif /* SHARDC_H */
