#!/usr/bin/env bash
# bundle.sh FOLDER OUT.tar.xz: completes FOLDER, whose bin/ holds the programs, with the shared libraries they need in lib/, and packs it.
# Programs look in $ORIGIN/../lib and the libraries in $ORIGIN, so that the unpacked folder runs from anywhere. Called by the `bundle` target.
set -euo pipefail

folder=${1:?usage: bundle.sh FOLDER OUT.tar.xz}
out=${2:?usage: bundle.sh FOLDER OUT.tar.xz}
command -v patchelf >/dev/null || {
  echo "bundle.sh: needs patchelf (deploy/setup.sh build installs it)" >&2
  exit 1
}

# What stays the host's: glibc and the compiler's runtimes (any newer ones will do), the driver, and the CUDA toolkit.
hosts='^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|nsl|anl|mvec|stdc\+\+|gcc_s)|lib(cuda|nvidia-.*|cudart|cublas|cublasLt|cudnn.*|nvrtc.*|nvJitLink))\.so(\..*)?$'

mkdir -p "$folder/lib"
while read -r name arrow path _; do
  [[ $arrow == "=>" ]] || continue
  [[ $name =~ $hosts ]] && continue
  if [[ $path != /* ]]; then
    echo "bundle.sh: $name is needed but not found on this machine" >&2
    exit 1
  fi
  [[ $path == "$folder"/* || -e $folder/bin/$name || -e $folder/lib/$name ]] && continue
  cp -L "$path" "$folder/lib/$name"
  chmod u+w,+r "$folder/lib/$name"
  strip --strip-unneeded "$folder/lib/$name"
  patchelf --set-rpath "\$ORIGIN" "$folder/lib/$name"
done < <(for file in "$folder"/bin/*; do ldd "$file"; done | sort -u)

ln -sfn kbench-client "$folder/bin/kbench"
cp "$(dirname "${BASH_SOURCE[0]}")/../LICENSE" "$folder/"
rm -f "$out"
XZ_OPT=${XZ_OPT:--T0 -6} tar --sort=name --owner=0 --group=0 --numeric-owner -C "$(dirname "$folder")" -cJf "$out" "$(basename "$folder")"

limit=$((40 * 1024 * 1024))
size=$(stat -c %s "$out")
printf '%s: %.1f MiB\n' "$out" "$(awk -v b="$size" 'BEGIN { print b / 1048576 }')"
if ((size > limit)); then
  echo "bundle.sh: the bundle may be at most 40 MiB; the largest parts are:" >&2
  du -a "$folder" | sort -rn | head -12 >&2
  exit 1
fi
