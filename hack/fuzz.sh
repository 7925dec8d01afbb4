#!/usr/bin/env bash
# Runs every fuzz target of the module for the time given as $1.
set -euo pipefail
cd "$(dirname "$0")/.."

found=0
while IFS=: read -r file line; do
	[[ $line =~ ^func\ (Fuzz[A-Za-z0-9_]+)\( ]] || continue
	target=${BASH_REMATCH[1]}
	found=1
	echo "fuzzing $target in $(dirname "$file") for $1"
	go test -run '^$' -fuzz "^$target\$" -fuzztime "$1" "./$(dirname "$file")"
done < <(git grep --untracked '^func Fuzz' -- '*_test.go')
[[ $found == 1 ]] || { echo "fuzz: there is no fuzz target" >&2; exit 1; }
