#!/bin/bash
# Kubernetes on one machine: API server, controllers, scheduler and kubelet, built from the module
# proxy (twenty minutes of a processor, once: CACHE keeps them), etcd, containerd and runc of the
# machine. An Indexed Job of twelve indices, one of them killed mid-run.
. "$(dirname "$0")/begin.sh"
PACKAGES="etcd-server containerd runc containernetworking-plugins curl"
needs etcd containerd runc ctr curl openssl
[ -x /usr/lib/cni/loopback ] || skip "/usr/lib/cni/loopback is not installed (Debian: $PACKAGES)"
[ "$(id -u)" = 0 ] || skip "containerd needs root"
CACHE=${CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/throughline-kubernetes}
RELEASE=v1.34.4 STAGING=v0.34.4
commands="kube-apiserver kube-controller-manager kube-scheduler kubelet"

# Every staging module of a release is replaced by its own release, as the proxy has them.
build() {
	mkdir -p "$CACHE/build"
	(
		cd "$CACHE/build"
		from=$(go mod download -json "k8s.io/kubernetes@$RELEASE" | sed -n 's/^\t"GoMod": "\(.*\)",$/\1/p')
		{
			echo "module build"
			echo "go 1.26.0"
			echo "require ("
			echo "k8s.io/kubernetes $RELEASE"
			sed -n '/^require (/,/^)/p' "$from" | grep -v -E '^require|^\)|v0\.0\.0( |$)'
			echo ")"
			echo "replace ("
			sed -n '/^replace (/,/^)/p' "$from" | awk -v to=$STAGING '/=> .\/staging/ {print $1, "=>", $1, to}'
			echo ")"
		} >go.mod
		{
			echo "//go:build tools"
			echo "package tools"
			for c in $commands; do echo "import _ \"k8s.io/kubernetes/cmd/$c/app\""; done
		} >main.go
		go mod tidy
		for c in $commands; do CGO_ENABLED=0 go build -o "$CACHE/$c" "k8s.io/kubernetes/cmd/$c"; done
	) >"$CACHE/build.log" 2>&1
}
for c in $commands; do
	if [ ! -x "$CACHE/$c" ]; then
		[ -n "${BUILD:-}" ] || skip "$c is not in $CACHE; BUILD=1 builds it, in twenty minutes of a processor"
		build || skip "Kubernetes cannot be built: $CACHE/build.log"
	fi
done
begin
export PATH=$CACHE:$PATH
mkdir -p "$DIR"/cni "$DIR"/data "$DIR"/log "$DIR"/rootfs
cp "$DIR/scan.json" "$DIR/data"

etcd --data-dir "$DIR/etcd" --listen-client-urls http://127.0.0.1:16379 --advertise-client-urls http://127.0.0.1:16379 \
	--listen-peer-urls http://127.0.0.1:16380 >"$DIR/log/etcd" 2>&1 &
PIDS+=($!)
openssl genrsa -out "$DIR/key" 2048 2>/dev/null
echo "token,admin,admin,system:masters" >"$DIR/tokens"
kube-apiserver --etcd-servers=http://127.0.0.1:16379 --secure-port=16443 --bind-address=127.0.0.1 --cert-dir="$DIR/cert" --token-auth-file="$DIR/tokens" \
	--authorization-mode=AlwaysAllow --service-account-issuer=https://here --service-account-key-file="$DIR/key" --service-account-signing-key-file="$DIR/key" \
	--service-cluster-ip-range=10.0.0.0/24 --disable-admission-plugins=ServiceAccount >"$DIR/log/apiserver" 2>&1 &
PIDS+=($!)
api() { curl -sfk -H "Authorization: Bearer token" -H "Content-Type: application/yaml" "https://127.0.0.1:16443$1" "${@:2}"; }
for _ in $(seq 120); do
	api /readyz >/dev/null && break
	sleep 0.5
done
cat >"$DIR/kubeconfig" <<X
apiVersion: v1
kind: Config
clusters: [{name: here, cluster: {server: "https://127.0.0.1:16443", insecure-skip-tls-verify: true}}]
users: [{name: admin, user: {token: token}}]
contexts: [{name: here, context: {cluster: here, user: admin}}]
current-context: here
X
kube-controller-manager --kubeconfig="$DIR/kubeconfig" --service-account-private-key-file="$DIR/key" --secure-port=0 --leader-elect=false >"$DIR/log/controllers" 2>&1 &
PIDS+=($!)
kube-scheduler --kubeconfig="$DIR/kubeconfig" --secure-port=0 --leader-elect=false >"$DIR/log/scheduler" 2>&1 &
PIDS+=($!)

echo '{"cniVersion": "0.4.0", "name": "lo", "plugins": [{"type": "loopback"}]}' >"$DIR/cni/10-lo.conflist"
cat >"$DIR/containerd.toml" <<X
version = 2
root = "$DIR/ctd/root"
state = "$DIR/ctd/state"
[grpc]
  address = "$DIR/ctd/c.sock"
[plugins."io.containerd.grpc.v1.cri"]
  restrict_oom_score_adj = true
  sandbox_image = "docker.io/local/pause:1"
  [plugins."io.containerd.grpc.v1.cri".cni]
    conf_dir = "$DIR/cni"
    bin_dir = "/usr/lib/cni"
X
mkdir -p "$DIR/ctd"
containerd -c "$DIR/containerd.toml" >"$DIR/log/containerd" 2>&1 &
PIDS+=($!)
for _ in $(seq 60); do
	[ -S "$DIR/ctd/c.sock" ] && break
	sleep 0.5
done

# An image of the program alone; as the sandbox it sleeps.
cat >"$DIR/pause.go" <<X
package main

import "time"

func main() { time.Sleep(1 << 62) } // select {} ends as a deadlock, and the sandbox with it
X
CGO_ENABLED=0 go build -o "$DIR/rootfs/pause" "$DIR/pause.go"
cp "$DIR/throughline" "$DIR/rootfs/throughline"
tar -C "$DIR/rootfs" -cf "$DIR/layer.tar" pause throughline
sum=$(sha256sum "$DIR/layer.tar" | cut -d' ' -f1)
mkdir -p "$DIR/image"
cp "$DIR/layer.tar" "$DIR/image/layer.tar"
cat >"$DIR/image/config.json" <<X
{"architecture": "$(go env GOARCH)", "os": "linux", "config": {"Entrypoint": ["/throughline"]}, "rootfs": {"type": "layers", "diff_ids": ["sha256:$sum"]}}
X
echo '[{"Config": "config.json", "RepoTags": ["docker.io/local/throughline:1"], "Layers": ["layer.tar"]}]' >"$DIR/image/manifest.json"
tar -C "$DIR/image" -cf "$DIR/program.tar" .
sed 's#"/throughline"#"/pause"#' -i "$DIR/image/config.json"
sed 's#local/throughline:1#local/pause:1#' -i "$DIR/image/manifest.json"
tar -C "$DIR/image" -cf "$DIR/pause.tar" .
for image in program pause; do ctr -a "$DIR/ctd/c.sock" -n k8s.io images import "$DIR/$image.tar"; done

cat >"$DIR/kubelet.yaml" <<X
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix://$DIR/ctd/c.sock
cgroupDriver: cgroupfs
failSwapOn: false
failCgroupV1: false
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
address: 127.0.0.1
port: 16250
healthzPort: 0
readOnlyPort: 0
cgroupsPerQOS: false
enforceNodeAllocatable: []
localStorageCapacityIsolation: false
imageGCHighThresholdPercent: 100
evictionHard: {}
resolvConf: /etc/resolv.conf
maxPods: 50
X
kubelet --kubeconfig="$DIR/kubeconfig" --config="$DIR/kubelet.yaml" --root-dir="$DIR/kubelet" --cert-dir="$DIR/kubelet-cert" --hostname-override=here >"$DIR/log/kubelet" 2>&1 &
PIDS+=($!)

# What a user applies, with a folder of this machine in place of a claim and no networks of pods.
throughline sweep job k8s "$DIR/scan.json" -o /data/shared --workers 12 --image docker.io/local/throughline:1 |
	sed -e 's#persistentVolumeClaim: .*#hostPath: {path: '"$DIR/data"'}#' -e 's#mountPath: "/data/shared"#mountPath: /data#' \
		-e 's#^      restartPolicy: Never#&\n      hostNetwork: true\n      automountServiceAccountToken: false\n      securityContext: {runAsUser: 0}#' \
		-e 's#^        image: .*#&\n        imagePullPolicy: Never#' -e 's#"--jobs", "1"#"--part", "0.2", "--jobs", "1"#' -e 's#cpu: "1"#cpu: 10m#' >"$DIR/job.yaml"
sed '/^---$/,$d' "$DIR/job.yaml" | api /api/v1/namespaces/default/configmaps --data-binary @- >/dev/null
sed '1,/^---$/d' "$DIR/job.yaml" | api /apis/batch/v1/namespaces/default/jobs --data-binary @- >/dev/null
parts "$DIR/data/shared" 5
echo "an index is killed"
task=$(ctr -a "$DIR/ctd/c.sock" -n k8s.io tasks ls | awk '/RUNNING/ {print $1}' | while read -r id; do
	ctr -a "$DIR/ctd/c.sock" -n k8s.io containers info "$id" | grep -q '"/throughline"' && echo "$id" && break
done)
ctr -a "$DIR/ctd/c.sock" -n k8s.io tasks kill -s SIGKILL "$task"
parts "$DIR/data/shared" all
compare "$DIR/data/shared" "an Indexed Job of 12, one index killed"
