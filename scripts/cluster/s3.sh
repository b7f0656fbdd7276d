#!/bin/bash
# A bucket: versitygw, six workers, one killed and started again.
. "$(dirname "$0")/begin.sh"
VERSITYGW=github.com/versity/versitygw/cmd/versitygw@v1.8.0
GOBIN=$DIR go install "$VERSITYGW" 2>"$DIR/install.log" || skip "$VERSITYGW cannot be built: $(tail -1 "$DIR/install.log")"
begin

mkdir -p "$DIR/disk/bucket"
export ROOT_ACCESS_KEY=key ROOT_SECRET_KEY=a-secret-of-this-run AWS_REGION=us-east-1
export AWS_ACCESS_KEY_ID=$ROOT_ACCESS_KEY AWS_SECRET_ACCESS_KEY=$ROOT_SECRET_KEY AWS_ENDPOINT_URL=http://127.0.0.1:17070
versitygw --port 127.0.0.1:17070 posix "$DIR/disk" >"$DIR/gateway.log" 2>&1 &
PIDS+=($!)
for _ in $(seq 100); do
	(exec 3<>/dev/tcp/127.0.0.1/17070) 2>/dev/null && break
	sleep 0.1
done

place=s3://bucket/scans/one
worker() { throughline sweep run "$DIR/scan.json" -o $place --part 0.2 --jobs 1 --shard "$1/6" 2>>"$DIR/worker.log"; }
waits=()
for shard in 0 1 2 3 4 5; do
	worker $shard &
	waits+=($!)
	PIDS+=($!)
done
parts $place 5
echo "one worker is killed, and started again"
pkill -9 -P "${waits[2]}" || true
wait "${waits[2]}" || true
worker 2 &
waits[2]=$!
PIDS+=($!)
for pid in "${waits[@]}"; do wait "$pid"; done
if grep -rqF "$ROOT_SECRET_KEY" "$DIR/worker.log" "$DIR/disk/bucket"; then
	echo "FAILED: the key is in a log or in the bucket"
	exit 1
fi
grep '^answered twice' "$DIR/worker.log" || true
compare $place "six workers, one killed, the bucket of versitygw"
