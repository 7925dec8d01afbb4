#!/usr/bin/env bash
# Tidies every module and formats every Go file, then fails when the working tree differs from the commit.
set -euo pipefail
cd "$(dirname "$0")/.."

echo "tidying and formatting"
git ls-files '*go.mod' | while read -r mod; do
	(cd "$(dirname "$mod")" && go mod tidy) || { echo "verify: go mod tidy failed for $mod" >&2; exit 1; }
done
git ls-files -z '*.go' | xargs -0 gofmt -w

dirty=$(git status --porcelain)
if [[ -n $dirty ]]; then
	echo "verify: these files are not as committed; commit what make verify made of them:" >&2
	echo "$dirty" >&2
	git --no-pager diff --stat >&2
	exit 1
fi
echo "verified: generated, tidy, formatted and committed"
