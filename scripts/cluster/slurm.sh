#!/bin/bash
# Slurm on one machine: a controller and four nodes, an array of eight tasks, a node lost mid-run.
. "$(dirname "$0")/begin.sh"
PACKAGES="slurm-wlm munge"
needs setpriv munged slurmctld slurmd sbatch
[ "$(id -u)" = 0 ] || skip "slurmd needs root"
begin

mkdir -p "$DIR"/munge "$DIR"/ctld "$DIR"/log "$DIR"/spool/n{1..4}
head -c 1024 /dev/urandom >"$DIR/munge/key"
chown -R munge "$DIR/munge"
chmod 755 "$DIR/munge"
chmod 400 "$DIR/munge/key"
setpriv --reuid=munge --regid=munge --clear-groups munged --foreground --socket="$DIR/munge/munge.socket" --key-file="$DIR/munge/key" --pid-file="$DIR/munge/pid" \
	--log-file="$DIR/munge/log" --seed-file="$DIR/munge/seed" 2>"$DIR/munge.err" &
PIDS+=($!)

host=$(hostname -s)
cat >"$DIR/slurm.conf" <<X
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$DIR/munge/munge.socket
CredType=cred/munge
SlurmctldPort=16817
StateSaveLocation=$DIR/ctld
SlurmdSpoolDir=$DIR/spool/%n
SlurmctldPidFile=$DIR/ctld.pid
SlurmdPidFile=$DIR/%n.pid
SlurmctldLogFile=$DIR/log/ctld.log
SlurmdLogFile=$DIR/log/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SlurmdTimeout=10
NodeName=n[1-4] NodeHostname=$host NodeAddr=127.0.0.1 Port=[17001-17004] CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
X
export SLURM_CONF=$DIR/slurm.conf
slurmctld -c -D -f "$SLURM_CONF" 2>"$DIR/log/ctld.err" &
PIDS+=($!)
for node in n1 n2 n3 n4; do
	slurmd -D -N $node -f "$SLURM_CONF" 2>"$DIR/log/$node.err" &
	PIDS+=($!)
	eval "$node=$!"
done

# Processes of a node of this cluster, by their environment.
of_node() {
	for environ in /proc/[0-9]*/environ; do
		variables=$(cat "$environ" 2>/dev/null | tr '\0' '\n') || continue
		if grep -qx "SLURMD_NODENAME=$1" <<<"$variables" && grep -qx "SLURM_CONF=$SLURM_CONF" <<<"$variables"; then
			basename "$(dirname "$environ")"
		fi
	done
}

cd "$DIR"
# The first task that starts sizes the parts, as a user would by --part.
throughline sweep job slurm scan.json -o "$DIR/shared" --workers 8 | sed 's/--jobs/--part 0.2 --jobs/' | sbatch
parts "$DIR/shared" 5
echo "n2 is lost: slurmd and the tasks on it"
kill -9 "$n2" $(of_node n2) 2>/dev/null || true
parts "$DIR/shared" all
scancel --name throughline-sweep
compare "$DIR/shared" "an array of 8 tasks on 4 nodes, one of them lost"
