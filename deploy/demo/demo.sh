#!/usr/bin/env bash
# The main job: apply a ManifestWork, wait until the managed cluster reports it Available, print the StatusResult.
# Run by `make demo`, which sets the servers' addresses in the environment.
set -euo pipefail
bin=${1:?the folder of maestro-cli}
here=$(cd "$(dirname "$0")" && pwd)
results=$(mktemp)
trap 'rm -f "$results"' EXIT

"$bin/maestro-cli" apply --manifest-file "$here/manifestwork.yaml" --consumer cluster-a1 \
  --wait=Available --timeout 2m --generation 1 --results-path "$results"

workflow="op/$MAESTRO_SOURCE_ID/cluster-a1/demo"
grep -q '"status": *"success"' "$results"
echo
echo "results file: $(head -c 160 "$results" | tr -d '\n')…"
echo "workflow ID:  $workflow"
echo "Temporal UI:  $TEMPORAL_UI_URL/namespaces/$TEMPORAL_NAMESPACE/workflows/$(printf %s "$workflow" | sed 's|/|%2F|g')"
echo "(the servers of this demo stop now; make up keeps them)"
