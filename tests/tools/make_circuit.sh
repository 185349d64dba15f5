#!/bin/sh
# Compiles one of tests/fixtures/circuits with circom: NAME CURVE FOLDER leaves circuit.r1cs and
# circuit.wasm in FOLDER. Needs npm and a network; nothing in the tests or benches depends on it.
set -eu
[ $# -eq 3 ] || { echo "Usage: $0 NAME bn128|bls12381 FOLDER" >&2; exit 2; }
sources=$(cd "$(dirname "$0")/../fixtures/circuits" && pwd)
mkdir -p "$3"
cd "$3"
[ -d node_modules/circomlib ] ||
    npm install --no-audit --no-fund --ignore-scripts circom2 circomlib >/dev/null
npx circom2 "$sources/$1.circom" --r1cs --wasm --O1 --prime "$2" -l "$sources" \
    -l node_modules/circomlib/circuits
mv "$1.r1cs" circuit.r1cs
mv "$1_js/$1.wasm" circuit.wasm
rm -r "$1_js"
