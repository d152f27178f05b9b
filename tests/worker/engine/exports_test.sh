#!/bin/sh
# exports_test.sh LIBRARY HEADER: the library exports exactly the functions that the header marks
# KB_API.
set -eu
declared=$(grep -o '^KB_API [^;(]*(' "$2" | sed 's/.*[ *]\(kb_[a-z_]*\)($/\1/' | sort)
exported=$(nm -D --defined-only "$1" | awk '{print $3}' | sort)
if [ "$declared" != "$exported" ]; then
  echo "declared:" "$(echo "$declared" | tr "\n" " ")"
  echo "exported:" "$(echo "$exported" | tr "\n" " ")"
  exit 1
fi
