/* Compiles a program of which it knows what comes out, then one with two mistakes; says what is wrong otherwise. */
#include <stdio.h>
#include <string.h>

#include "shardc.h"

static int failed = 0;

static void check(int holds, const char *what) {
  if (!holds) {
    printf("failed: %s\n", what);
    failed = 1;
  }
}

int main(void) {
  const char *program =
      "sdy.mesh @mesh = <[\"x\"=2]>\n"
      "func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}) -> tensor<8xf32> {\n"
      "  %0 = stablehlo.negate %a : tensor<8xf32> loc(\"model.py\":7:3)\n"
      "  return %0 : tensor<8xf32>\n"
      "}\n";
  ShardcResult *result = shardc_run_passes(program, strlen(program), "a.mlir", "compile", 0);
  size_t length = 0;
  const char *text = shardc_result_text(result, &length);
  check(text && strlen(text) == length, "a text");
  check(text && strstr(text, "stablehlo.negate %arg0 : tensor<4xf32>"), "half of the vector on each device");
  check(shardc_result_diagnostic_count(result) == 0, "no diagnostics");
  shardc_free(result);

  result = shardc_run_passes(program, strlen(program), "a.mlir", "sharded", SHARDC_GENERIC | SHARDC_LOCATIONS);
  text = shardc_result_text(result, NULL);
  check(text && strstr(text, "\"stablehlo.negate\"(%arg0)"), "the generic form");
  check(text && strstr(text, "\"model.py\":7:3"), "locations");
  shardc_free(result);

  const char *broken = "func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {\n"
                       "  %0 = stablehlo.negate %b : tensor<8xf32>\n"
                       "  %1 = stablehlo.nothing %a : tensor<8xf32>\n"
                       "  return %a : tensor<8xf32>\n"
                       "}\n";
  result = shardc_run_passes(broken, strlen(broken), "b.mlir", "compile", 0);
  check(!shardc_result_text(result, &length) && length == 0, "no text");
  check(shardc_result_diagnostic_count(result) == 2, "two mistakes");
  ShardcDiagnostic first = shardc_result_diagnostic(result, 0);
  check(first.severity == SHARDC_ERROR && first.line == 2 && first.column > 1, "the place of the first");
  check(first.text && strstr(first.text, "b.mlir:2"), "its text");
  check(!shardc_result_diagnostic(result, 9).message, "nothing past the end");
  shardc_free(result);

  result = shardc_run_passes(program, strlen(program), NULL, "propagate,plam", 0);
  check(shardc_result_diagnostic_count(result) == 1, "a pass that isn't there");
  check(strstr(shardc_result_diagnostic(result, 0).message, "plam") != NULL, "its name");
  shardc_free(result);
  shardc_free(shardc_run_passes(NULL, 0, NULL, NULL, 0));
  shardc_free(NULL);

  const char *machine = "name = \"acme\"\n[flat]\nlatency = 5e-6\nbandwidth = 50e9\nflops = 3e14\n"
                        "memory_bandwidth = 2e12\nmemory_bytes = 80e9\n";
  result = shardc_run_passes_for(program, strlen(program), "a.mlir", "compile{target=acme}", SHARDC_BYTECODE, machine);
  text = shardc_result_text(result, &length);
  check(text && length > 4 && memcmp(text, "ML\xefR", 4) == 0, "bytecode for a machine of one's own");
  ShardcResult *again = shardc_run_passes(text, length, "a.mlirbc", "symbol-dce", 0);
  const char *read = shardc_result_text(again, NULL);
  check(read && strstr(read, "stablehlo.negate %arg0 : tensor<4xf32>"), "bytecode that is read again");
  shardc_free(again);
  shardc_free(result);
  result = shardc_run_passes_for(program, strlen(program), "a.mlir", "compile", 0, "name = \"acme\"\n[flat]\nlatency = -1\n");
  check(shardc_result_diagnostic_count(result) == 1, "a wrong machine");
  first = shardc_result_diagnostic(result, 0);
  check(first.code && strcmp(first.code, "target-file") == 0 && first.line > 0, "and what is wrong with it");
  shardc_free(result);

  int known = 0;
  for (size_t i = 0; i < shardc_pass_count(); ++i)
    known += strcmp(shardc_pass(i).name, "propagate") == 0 && shardc_pass(i).description[0];
  check(known == 1 && !shardc_pass(shardc_pass_count()).name, "the list of passes");
  printf("shardc %s: %s\n", shardc_version(), failed ? "failed" : "as expected");
  return failed;
}
