#!/usr/bin/env bash
# Wheels of l0path-kernels for several versions of Python and of numba, for all levels of this
# machine. UNTRIED beyond one Python and one numba on Linux with x86-64; see docs/startup.md.
#   companion/build.sh "python3.11 python3.12" "0.67.0 0.68.1" dist
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
for python in $1; do
  for numba in $2; do
    environment=$(mktemp -d)
    "$python" -m venv "$environment"
    "$environment/bin/pip" install --quiet "numba==$numba" "$here/.." hatchling
    "$environment/bin/pip" wheel --no-deps --no-build-isolation --wheel-dir "$3/numba-$numba" "$here"
    rm -r "$environment"
  done
done
