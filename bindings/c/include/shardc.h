/* shardc for C: a program, as text or MLIR bytecode, and a list of passes in, text and diagnostics out.
 *
 * Every function may be called from any thread. Strings end with a zero byte and belong to what returned them. Nothing
 * here aborts or throws: a mistake of the compiler itself becomes a diagnostic of the code "bug".
 */
#ifndef SHARDC_H
#define SHARDC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a run of passes gave. */
typedef struct ShardcResult ShardcResult;

/* How the result is printed. */
enum {
  /* Every op in MLIR's generic form, which every build of MLIR reads. */
  SHARDC_GENERIC = 1,
  /* With the locations of ops. */
  SHARDC_LOCATIONS = 2,
  /* With the cause of each collective, as the attribute shardc.cause. */
  SHARDC_CAUSES = 4,
  /* Groups of collectives as axes of the mesh where they are along some, not as lists of devices. */
  SHARDC_AXES = 8,
  /* As MLIR bytecode instead of text. */
  SHARDC_BYTECODE = 16
};

enum { SHARDC_ERROR = 0, SHARDC_WARNING = 1, SHARDC_REMARK = 2 };

/* What is wrong with a program. */
typedef struct {
  /* SHARDC_ERROR, SHARDC_WARNING or SHARDC_REMARK. */
  int32_t severity;
  /* The name of the kind of fault. */
  const char *code;
  /* What was expected and found, and how to mend it. */
  const char *message;
  /* All of it for people, with the line of the program. */
  const char *text;
  /* Line and column in the text, from 1; 0 where it is about no place. */
  uint32_t line, column;
  /* The user's own file that the op came from, with line and column; NULL where its location names none. */
  const char *source_file;
  uint32_t source_line, source_column;
} ShardcDiagnostic;

/* A pass, or a pipeline of passes. */
typedef struct {
  const char *name;
  const char *description;
} ShardcPassInfo;

/* The version of the library: "0.1.0". */
const char *shardc_version(void);

/* The number of passes and pipelines, and one of them by number; a name of NULL past the end. */
size_t shardc_pass_count(void);
ShardcPassInfo shardc_pass(size_t number);

/* Runs passes over a program.
 *
 * `text` has `length` bytes: StableHLO and Shardy as text, and may contain other dialects; or MLIR bytecode, StableHLO's
 * portable artifacts among it, or what JAX's Exported.serialize() writes. `name` is the file's name in
 * diagnostics. `passes` are passes and pipelines with options: "compile", "propagate,plan{search=greedy}". `flags` say
 * how the result is printed. Free what is returned with shardc_free; it is never NULL.
 */
ShardcResult *shardc_run_passes(const char *text, size_t length, const char *name, const char *passes, uint32_t flags);

/* The same for a target of one's own: `target` is the text of a TOML file as the command line takes it with --target, and
 * `passes` call it by its name, "compile{target=acme}". What is wrong with it is a diagnostic about that text.
 */
ShardcResult *shardc_run_passes_for(const char *text, size_t length, const char *name, const char *passes,
                                    uint32_t flags, const char *target);

/* The program, `*length` bytes and a zero byte; NULL where there were errors. */
const char *shardc_result_text(const ShardcResult *result, size_t *length);

/* The number of diagnostics, warnings among them, and one of them by number, which must be below it. */
size_t shardc_result_diagnostic_count(const ShardcResult *result);
ShardcDiagnostic shardc_result_diagnostic(const ShardcResult *result, size_t number);

/* Frees a result; NULL does nothing. */
void shardc_free(ShardcResult *result);

#ifdef __cplusplus
}
#endif

#endif /* SHARDC_H */
