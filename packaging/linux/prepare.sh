#!/bin/sh
# Makes sure that Python can make a virtual environment and that Qt finds its system libraries.
# On Debian and Ubuntu as root it installs what is missing; elsewhere it says what to install.
# usage: prepare.sh PYTHON
set -eu
python=${1:-python3}
[ "$(uname -s)" = Linux ] || exit 0

# The library that Qt loads, and the Debian package that brings it. The first six serve every
# platform plugin, the offscreen one too; then come those of a window under X11, and last the one
# that llama.cpp needs in the tests.
libraries='libEGL.so.1:libegl1
libGL.so.1:libgl1
libglib-2.0.so.0:libglib2.0-0
libxkbcommon.so.0:libxkbcommon0
libdbus-1.so.3:libdbus-1-3
libfontconfig.so.1:libfontconfig1
libxcb-cursor.so.0:libxcb-cursor0
libxcb-icccm.so.4:libxcb-icccm4
libxcb-image.so.0:libxcb-image0
libxcb-keysyms.so.1:libxcb-keysyms1
libxcb-randr.so.0:libxcb-randr0
libxcb-render-util.so.0:libxcb-render-util0
libxcb-shape.so.0:libxcb-shape0
libxcb-xkb.so.1:libxcb-xkb1
libxkbcommon-x11.so.0:libxkbcommon-x11-0
libgomp.so.1:libgomp1'

ldconfig=$(command -v ldconfig || echo /sbin/ldconfig)
known=$("$ldconfig" -p 2>/dev/null || true)
missing=''
for pair in $libraries; do
    case "$known" in
        *"${pair%%:*}"*) ;;
        *) missing="$missing ${pair#*:}" ;;
    esac
done
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    missing="$missing python3 python3-venv"
fi
[ -n "$missing" ] || exit 0

if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
    echo "Installing system packages:$missing"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    # shellcheck disable=SC2086 # one word a package
    apt-get install -y -qq --no-install-recommends $missing >/dev/null
elif command -v apt-get >/dev/null 2>&1; then
    echo "Some system packages are missing; if the window does not open, run:" >&2
    echo "  sudo apt-get install$missing" >&2
else
    echo "Some system libraries may be missing. Debian calls them:$missing" >&2
    echo "Install what your distribution calls the same (libEGL, libGL, xcb-util-cursor, ...)." >&2
fi
