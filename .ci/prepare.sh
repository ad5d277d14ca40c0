#!/usr/bin/env bash
# What the tests use beyond Node and git, where it can be installed: bubblewrap for the sandbox, and three real agents. Without them
# those tests are skipped on a desk; here they must run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! command -v bwrap >/dev/null; then
  as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo -n)
  if ! "${as_root[@]}" apt-get install -y -qq --no-install-recommends bubblewrap; then
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" apt-get install -y -qq --no-install-recommends bubblewrap
  fi
fi
bwrap --version
node .ci/agents.mjs
