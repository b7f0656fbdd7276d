# Read by the other scripts of this folder: a scan, the table that one process makes of it, and how
# to compare with that.
set -euo pipefail
cd "$(dirname "$0")/../.."
DIR=$(mktemp -d)
chmod 755 "$DIR"
PIDS=()
ended() {
	for pid in "${PIDS[@]:-}"; do
		kill -9 "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	# What containers had mounted stays mounted when their daemons are killed.
	grep -s " $DIR/" /proc/mounts | cut -d' ' -f2 | sort -r | xargs -r umount -l
	if [ -n "${KEEP:-}" ]; then echo "kept: $DIR"; else rm -rf "$DIR"; fi
}
trap ended EXIT

skip() {
	echo "SKIPPED $(basename "$0" .sh): $*"
	exit 0
}

needs() {
	for program in "$@"; do
		PATH=$PATH:/usr/sbin:/sbin command -v "$program" >/dev/null || skip "$program is not installed${PACKAGES:+ (Debian: $PACKAGES)}"
	done
}

# 3,000 points in parts of about a fifth of a second.
begin() {
	CGO_ENABLED=0 go build -trimpath -o "$DIR/throughline" ./cmd/throughline
	export PATH=$DIR:/usr/sbin:$PATH
	cat >"$DIR/scan.json" <<-X
		{"command": "estimate", "settings": {"model": "llama_3_8b", "system": "H200", "batch": "1:30"}, "vary": ["sys.mem1.GBps=3000:9000:100"]}
	X
	throughline sweep run "$DIR/scan.json" -o "$DIR/alone"
	throughline sweep merge "$DIR/alone" -o "$DIR/alone.parquet"
}

# Waits for parts: how many, or all.
parts() {
	local place=$1 least=$2 seconds=${3:-300} text= there of
	for _ in $(seq $((seconds * 2))); do
		text=$(throughline sweep status "$place" 2>/dev/null | head -1) || true
		read -r there _ of _ <<<"$text" || true
		[ "$least" != all ] || least=${of:-all}
		[ "$least" != all ] || { sleep 0.5; continue; }
		if [ "${there:-0}" -ge "${least:-1}" ]; then return 0; fi
		sleep 0.5
	done
	echo "FAILED: after $seconds s: $text"
	exit 1
}

# Every point once, right, and byte for byte what one process makes.
compare() {
	throughline sweep verify "$1"
	throughline sweep merge "$1" -o "$DIR/shared.parquet"
	cmp "$DIR/alone.parquet" "$DIR/shared.parquet"
	echo "PASSED $(basename "$0" .sh): $2"
}
